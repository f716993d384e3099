import pytest

from machine import Machine


@pytest.fixture(scope="session")
def vm(tmp_path_factory):
    """One machine for all tests: a boot takes seconds. A test that takes its power away gives it back."""
    with Machine(tmp_path_factory.mktemp("share")) as machine:
        yield machine


@pytest.fixture
def node(vm):
    """No module is loaded, two releases are installed, and the daemon runs."""
    from onload_node import NEW, OLD, OnloadNode  # not of the suites that are about the machine alone

    node = OnloadNode(vm)
    node.start()
    node.install(OLD, NEW)
    yield node
    said = node.daemon.output() if node.daemon else ""
    print(said)
    assert "Sanitizer" not in said and "runtime error" not in said
    node.forget()
