import pytest

from machine import Machine


@pytest.fixture(scope="session")
def vm(tmp_path_factory):
    """One machine for all tests: a boot takes seconds. A test that takes its power away gives it back."""
    with Machine(tmp_path_factory.mktemp("share")) as machine:
        yield machine


@pytest.fixture
def config():
    """Of the daemon; a module may have its own."""
    from onload_node import CONFIG  # not of the suites that are about the machine alone

    return CONFIG


@pytest.fixture
def node(vm, config):
    """No module is loaded, two releases are installed, and the daemon runs."""
    from onload_node import NEW, OLD, OnloadNode

    node = OnloadNode(vm, config)
    node.start()
    node.install(OLD, NEW)
    yield node
    node.forget()
