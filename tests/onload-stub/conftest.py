import pytest

from machine import Machine
from onload_stub import OnloadStub


@pytest.fixture(scope="session")
def vm(tmp_path_factory):
    with Machine(tmp_path_factory.mktemp("share")) as machine:
        yield machine


@pytest.fixture
def stub(vm):
    """No module is loaded and no fault armed, before and after. The kernel's log begins with the test."""
    vm.run(["dmesg", "--clear"])
    stub = OnloadStub(vm)
    yield stub
    stub.disarm()
    stub.unload()
