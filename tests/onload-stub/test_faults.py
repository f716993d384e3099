"""What goes wrong on demand."""

import errno
import re
import time

import pytest

from onload_stub import LONG, MODULES, OTHER_KERNEL, UNKNOWN_SYMBOL

pytestmark = LONG


def refused(number):
    return pytest.raises(OSError, match=re.escape(f"[Errno {number}]"))


def test_a_kernel_that_the_release_does_not_know(stub):
    with refused(errno.ENOENT):
        stub.insert("sfc_resource", "9.0.1.86", stub_fail_init=errno.ENOENT)
    assert "[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table\n" in stub.kernel_log()
    # What an operator sees of it names another module and another reason.
    stub.arm("sfc_resource", "9.0.1.86", f"fail_init={errno.ENOENT}")
    said = stub.vm.run(["modprobe", "-d", stub.tree("9.0.1.86"), "onload"], check=False)
    assert said.returncode != 0 and "could not insert 'onload': Unknown symbol in module" in said.stderr
    assert not stub.is_loaded("sfc_resource")


@pytest.mark.parametrize("module", MODULES)
def test_each_module_can_fail_with_any_error(stub, module):
    for before in MODULES[:MODULES.index(module)]:
        stub.insert(before, "9.0.1.86")
    for number in errno.ENOMEM, errno.EBUSY:
        with refused(number):
            stub.insert(module, "9.0.1.86", stub_fail_init=number)
    assert not stub.is_loaded(module)
    stub.insert(module, "9.0.1.86")


def test_a_fault_from_the_file_is_of_one_release(stub):
    stub.arm("onload", "9.1.0", f"fail_init={errno.EIO}")
    with refused(errno.EIO):
        stub.load("9.1.0")
    assert "[onload] onload_module_init: ERROR: failed (-5)" in stub.kernel_log()
    stub.unload()
    stub.load("9.0.1.86")
    stub.await_server()
    stub.unload()
    stub.disarm()
    stub.load("9.1.0")


def test_a_file_that_is_not_understood_is_no_fault_overlooked(stub):
    for words in "fail_inti=5", "fail_init", "fail_init=x", "extra_refs=1000":
        stub.arm("sfc", "9.1.0", words)
        with refused(errno.EINVAL):
            stub.insert("sfc", "9.1.0")


def test_coming_and_going_can_take_time(stub):
    begin = time.monotonic()
    stub.insert("sfc", "9.0.1.86", stub_slow_init_ms=1000)
    assert time.monotonic() - begin > 1
    stub.write_parameter("stub_slow_exit_ms", "1000", "sfc")
    begin = time.monotonic()
    stub.vm.remove("sfc")
    assert time.monotonic() - begin > 1


def test_states_between_can_be_seen(stub):
    going = stub.vm.spawn(["insmod", stub.file("sfc", "9.0.1.86"), "stub_slow_init_ms=2000", "stub_slow_exit_ms=2000"])
    stub.vm.wait_until(lambda: "sfc" in stub.vm.run(["ls", "/sys/module"]).stdout.split())
    assert stub.vm.read("/sys/module/sfc/initstate") == "coming\n"
    assert going.wait() == 0 and stub.vm.read("/sys/module/sfc/initstate") == "live\n"
    going = stub.vm.spawn(["rmmod", "sfc"])
    stub.vm.wait_until(lambda: stub.vm.read("/sys/module/sfc/initstate") == "going\n")
    assert going.wait() == 0


@pytest.mark.parametrize("node, left", [(1, ["onload_epoll"]), (2, ["onload"])])
def test_a_node_can_be_missing(stub, node, left):
    stub.load("9.0.1.86", cplane_spawn_server="N", stub_hide_node=node)
    assert stub.vm.run("cd /dev; ls -d onload*").stdout.split() == left
    assert len(re.findall(r"^ *\d+ onload", stub.vm.read("/proc/devices"), re.M)) == 2


def test_the_version_can_be_wrong(stub):
    stub.load("9.0.1.86", cplane_spawn_server="N", stub_wrong_version="Y")
    assert "onload_version: 0.0.0.0\n" in stub.proc("version")
    assert stub.vm.read("/sys/module/onload/version") == "9.0.1.86\n"


def test_references_can_be_unexplained(stub):
    stub.load("9.0.1.86", cplane_spawn_server="N", stub_extra_refs=1)
    stub.write_parameter("stub_extra_refs", "3")
    assert stub.references("onload") == (3, [])
    with refused(errno.EAGAIN):
        stub.vm.remove("onload")
    stub.write_parameter("stub_extra_refs", "0")
    stub.vm.remove("onload")


def test_a_symbol_can_be_unknown(stub):
    with refused(errno.ENOENT):
        stub.load(UNKNOWN_SYMBOL)
    assert "onload: Unknown symbol efrm_symbol_of_another_release (err -2)" in stub.kernel_log()
    assert stub.is_loaded("sfc_char") and not stub.is_loaded("onload")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_can_be_of_another_kernel(stub, module):
    with refused(errno.ENOEXEC):
        stub.insert(module, OTHER_KERNEL)
    assert f"{module}: version magic '" in stub.kernel_log()


def test_a_pinned_module_stays_until_the_power_goes(stub):
    stub.arm("sfc_char", "9.0.1.86", "pinned=1")
    stub.insert("sfc_resource", "9.0.1.86")
    stub.insert("sfc_char", "9.0.1.86")
    for pinned in "sfc_char", "sfc_resource":
        with refused(errno.EAGAIN):
            stub.vm.remove(pinned)
    assert stub.references("sfc_char") == (1, [])
    stub.vm.power_cut()
    assert not stub.is_loaded("sfc_char")
