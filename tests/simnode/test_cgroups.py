"""Cgroups of version 2 as a kernel has them (Documentation/admin-guide/cgroup-v2.rst)."""

import errno
import os
import subprocess

import pytest

from harness import wait_for
from resctrl import refused

CGROUPS = "/sys/fs/cgroup"


@pytest.fixture
def cgroups(start):
    return Cgroups(start(cgroups=True))


class Cgroups:
    """16 CPUs, controllers cpu and cpuset enabled below the root."""

    def __init__(self, node):
        self.node = node
        self.write("", "cgroup.subtree_control", "+cpuset +cpu")

    def path(self, cgroup, file=""):
        return os.path.join(CGROUPS, cgroup, file)

    def write(self, cgroup, file, text):
        self.node.write(self.path(cgroup, file), text)

    def read(self, cgroup, file):
        return self.node.read(self.path(cgroup, file)).strip()

    def make(self, *names):
        for name in names:
            os.mkdir(self.node.path(self.path(name)))

    def files(self, cgroup):
        return set(os.listdir(self.node.path(self.path(cgroup))))

    def effective(self, cgroup):
        return self.read(cgroup, "cpuset.cpus.effective")


@pytest.fixture
def process():
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        yield sleeper
        sleeper.kill()


def test_a_cgroup_has_the_files_of_controllers_enabled_above(cgroups):
    cgroups.make("a", "a/b")
    assert {"cpuset.cpus", "cpu.weight", "cgroup.events"} <= cgroups.files("a")
    assert not {"cpuset.cpus", "cpu.weight"} & cgroups.files("a/b")
    cgroups.write("a", "cgroup.subtree_control", "+cpuset")
    assert {"cpuset.cpus", "cpuset.cpus.effective"} <= cgroups.files("a/b")
    assert not {"cpuset.cpus", "cgroup.events"} & cgroups.files("")


def test_a_cgroup_passes_on_what_it_has(cgroups):
    cgroups.make("a", "a/b")
    assert refused(cgroups.write, "a", "cgroup.subtree_control", "+memory") == errno.ENOENT
    assert refused(cgroups.write, "a", "cgroup.subtree_control", "+nothing") == errno.EINVAL
    cgroups.write("a", "cgroup.subtree_control", "+cpuset")
    assert refused(cgroups.write, "", "cgroup.subtree_control", "-cpuset") == errno.EBUSY


def test_a_cgroup_with_processes_passes_on_nothing(cgroups, process):
    cgroups.make("a", "a/b")
    cgroups.write("a", "cgroup.procs", str(process.pid))
    assert refused(cgroups.write, "a", "cgroup.subtree_control", "+cpuset") == errno.EBUSY
    cgroups.write("", "cgroup.procs", str(process.pid))
    cgroups.write("a", "cgroup.subtree_control", "+cpuset")
    assert refused(cgroups.write, "a", "cgroup.procs", str(process.pid)) == errno.EBUSY


@pytest.mark.parametrize("above, own, effective", [
    ("", "", "0-15"), ("", "3,5", "3,5"), ("4-7", "", "4-7"), ("4-7", "6-9", "6-7"), ("4-7", "8-9", "4-7"),
])
def test_effective_cpus_are_those_of_the_parent_as_well(cgroups, above, own, effective):
    cgroups.make("a", "a/b")
    cgroups.write("a", "cgroup.subtree_control", "+cpuset")
    cgroups.write("a", "cpuset.cpus", above)
    cgroups.write("a/b", "cpuset.cpus", own)
    assert (cgroups.read("a/b", "cpuset.cpus"), cgroups.effective("a/b")) == (own, effective)


def test_an_offline_cpu_is_not_effective(cgroups):
    cgroups.make("a")
    cgroups.write("a", "cpuset.cpus", "3-4")
    cgroups.node.control("offline 3")
    assert (cgroups.effective("a"), cgroups.effective("")) == ("4", "0-2,4-15")
    cgroups.node.control("online 3")
    assert cgroups.effective("a") == "3-4"


def test_a_populated_cgroup_keeps_some_cpus(cgroups, process):
    cgroups.make("a")
    cgroups.write("a", "cpuset.cpus", "3")
    cgroups.write("a", "cgroup.procs", str(process.pid))
    assert refused(cgroups.write, "a", "cpuset.cpus", "\n") == errno.ENOSPC
    cgroups.write("", "cgroup.procs", str(process.pid))
    cgroups.write("a", "cpuset.cpus", "\n")
    assert cgroups.effective("a") == "0-15"


def test_an_open_file_of_a_removed_cgroup_is_gone(cgroups):
    cgroups.make("a")
    file = os.open(cgroups.node.path(cgroups.path("a", "cgroup.procs")), os.O_RDWR)
    try:
        os.rmdir(cgroups.node.path(cgroups.path("a")))
        assert refused(os.read, file, 1) == errno.ENODEV
        assert refused(os.write, file, b"1") == errno.ENODEV
    finally:
        os.close(file)


def test_processes_start_where_their_parent_is(cgroups):
    with subprocess.Popen(["sh", "-c", "read line; sleep 1000 & wait"], stdin=subprocess.PIPE, text=True) as shell:
        try:
            cgroups.make("a")
            cgroups.write("a", "cgroup.procs", str(shell.pid))
            assert cgroups.read("a", "cgroup.procs") == str(shell.pid)
            shell.stdin.write("go\n")
            shell.stdin.flush()
            wait_for(lambda: len(cgroups.read("a", "cgroup.procs").split()) == 2, "the child")
            found = cgroups.read("a", "cgroup.procs").split()
        finally:
            shell.kill()
    assert "populated 1" in cgroups.read("a", "cgroup.events")
    assert refused(os.rmdir, cgroups.node.path(cgroups.path("a"))) == errno.EBUSY
    child = next(int(pid) for pid in found if int(pid) != shell.pid)
    os.kill(child, 9)
    wait_for(lambda: not os.path.exists(f"/proc/{child}"), "the end of the child")
    assert "populated 0" in cgroups.read("a", "cgroup.events")
    os.rmdir(cgroups.node.path(cgroups.path("a")))
    assert "a" not in cgroups.files("")


def test_memory_comes_from_nodes_of_the_parent(cgroups, process):
    cgroups.make("a")
    assert cgroups.read("a", "cpuset.mems.effective") == "0-1"
    cgroups.write("a", "cpuset.mems", "1")
    cgroups.write("a", "cgroup.procs", str(process.pid))
    assert (cgroups.read("a", "cpuset.mems"), cgroups.read("a", "cpuset.mems.effective")) == ("1", "1")
    assert refused(cgroups.write, "a", "cpuset.mems", "\n") == errno.ENOSPC
    assert refused(cgroups.write, "a", "cpuset.mems", "2") == errno.ERANGE


def test_a_partition_takes_its_cpus_from_everything_else(cgroups):
    cgroups.make("a", "b")
    cgroups.write("a", "cpuset.cpus", "4-7")
    cgroups.write("a", "cpuset.cpus.partition", "root")
    assert (cgroups.read("a", "cpuset.cpus.partition"), cgroups.effective("a"), cgroups.effective("")) == ("root", "4-7", "0-3,8-15")
    assert cgroups.effective("b") == "0-3,8-15"
    cgroups.write("b", "cpuset.cpus", "7-8")
    assert cgroups.read("a", "cpuset.cpus.partition") == "root invalid (Cpu list in cpuset.cpus not exclusive)"
    assert cgroups.effective("") == "0-15"
    cgroups.write("b", "cpuset.cpus", "8")
    assert cgroups.read("a", "cpuset.cpus.partition") == "root"
    cgroups.write("a", "cpuset.cpus.partition", "member")
    assert cgroups.effective("b") == "8" and cgroups.effective("") == "0-15"


@pytest.mark.parametrize("file, text, error", [
    ("cpuset.cpus", "16", errno.ERANGE), ("cpuset.cpus", "3-", errno.EINVAL), ("cpuset.cpus.partition", "yes", errno.EINVAL),
    ("cpu.weight", "0", errno.ERANGE), ("cpu.weight", "10001", errno.ERANGE), ("cpu.weight", "x", errno.EINVAL),
    ("cpu.max", "999", errno.EINVAL), ("cpu.max", "1000 999", errno.EINVAL), ("cpu.max", "1000 1000001", errno.EINVAL),
    ("cgroup.procs", "x", errno.EINVAL), ("cgroup.procs", "4194304", errno.ESRCH), ("cpuset.cpus.effective", "1", errno.EACCES),
])
def test_a_value_that_a_kernel_refuses_is_refused(cgroups, file, text, error):
    cgroups.make("a")
    before = cgroups.read("a", file)
    assert refused(cgroups.write, "a", file, text) == error
    assert cgroups.read("a", file) == before


@pytest.mark.parametrize("written, read", [("max", "max 100000"), ("5000", "5000 100000"), ("5000 20000", "5000 20000")])
def test_a_quota_has_a_period(cgroups, written, read):
    cgroups.make("a")
    cgroups.write("a", "cpu.max", written)
    assert cgroups.read("a", "cpu.max") == read


def test_faults_and_reboots_reach_cgroups(cgroups):
    cgroups.make("a")
    cgroups.node.control("reset")
    cgroups.node.control("fault write 1 lie")
    cgroups.write("a", "cpuset.cpus", "3")
    assert cgroups.read("a", "cpuset.cpus") == "" and cgroups.node.log() == ["write /sys/fs/cgroup/a/cpuset.cpus 3"]
    cgroups.node.control(f"fault read {CGROUPS}/a/cpuset.cpus errno EIO")
    assert refused(cgroups.read, "a", "cpuset.cpus") == errno.EIO
    cgroups.node.control("wipe")
    assert "a" not in cgroups.files("")


def test_a_node_without_the_option_has_the_hosts_cgroups(start):
    assert os.listdir(start().path(CGROUPS)) == os.listdir(CGROUPS)
