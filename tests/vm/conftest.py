import pytest

from machine import Machine


@pytest.fixture(scope="session")
def vm(tmp_path_factory):
    """One machine for all tests: a boot takes seconds. A test that takes its power away gives it back."""
    with Machine(tmp_path_factory.mktemp("share")) as machine:
        yield machine
