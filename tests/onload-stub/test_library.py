"""The library that programs are preloaded with."""

import subprocess

import pytest

from onload_stub import LONG, RELEASES

pytestmark = LONG


@pytest.fixture
def program(stub):
    """Starts a program with the library; what it prints comes after the library's constructor."""
    def start(release="9.0.1.86", **env):
        process = stub.vm.spawn(["python3", "-I", "-S", "-c", "import time; print('runs', flush=True); time.sleep(600)"],
                                env={"LD_PRELOAD": stub.library(release), **env})
        stub.vm.wait_until(lambda: process.output().endswith("runs\n"))
        started.append(process)
        return process

    started = []
    yield start
    for process in started:
        process.kill()
        process.wait()


def links(stub, process):
    return stub.vm.run(f"readlink /proc/{process.pid}/fd/* | grep onload", check=False).stdout.split("\n")[:-1]


@pytest.mark.parametrize("release", RELEASES)
def test_run_as_a_program_it_prints_its_release(stub, release):
    said = subprocess.run([stub.library(release)], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith(f"OpenOnload {release}") and len(said) == 4
    stub.load(release, cplane_spawn_server="N")
    assert stub.proc("version").splitlines()[2].split()[1] == said[3].split()[-1]


def test_preloaded_it_holds_the_module(stub, program):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    assert links(stub, program()) == ["/dev/onload"]
    with pytest.raises(BlockingIOError):
        stub.vm.remove("onload")


def test_preloaded_only_it_is_mapped_and_nothing_else(stub, program):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    process = program(ONLOAD_STUB_PRELOAD_ONLY="1")
    assert links(stub, process) == [] and "/libonload.so\n" in stub.vm.read(f"/proc/{process.pid}/maps")
    stub.vm.remove("onload")


def test_files_of_stacks_have_their_name_and_hold_the_module(stub, program):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    holder = program(ONLOAD_STUB_STACK="3")
    assert sorted(links(stub, holder)) == ["/dev/onload", "onload:[stack:3]"]
    # Their device is the one that the module tells, and no other file's.
    output = stub.vm.run(["python3", "-I", "-S", "-c", f"""
import fcntl, os, struct, sys
with open("/dev/onload") as device:
    number, = struct.unpack("Q", fcntl.ioctl(device, 2 << 30 | 8 << 16 | ord("o") << 8 | 2, bytes(8)))
for fd in os.scandir("/proc/{holder.pid}/fd"):
    print(os.readlink(fd.path) if os.stat(fd.path).st_dev == number else "")"""]).stdout
    assert output.split() == ["onload:[stack:3]"]
    with pytest.raises(BlockingIOError):
        stub.vm.remove("onload")
    before = stub.references("onload")[0]
    holder.kill()
    holder.wait()
    assert before == 3 and stub.references("onload")[0] == 0


def test_the_library_of_another_release_is_refused(stub, program):
    stub.load("9.1.0", cplane_spawn_server="N")
    process = program(release="8.1.2.26")
    assert "user/driver version mismatch" in process.output() and links(stub, process) == []
    assert "[onload] user/driver version mismatch: user 8.1.2.26" in stub.kernel_log()


def test_without_the_module_the_program_runs_all_the_same(stub, program):
    assert links(stub, program()) == []
