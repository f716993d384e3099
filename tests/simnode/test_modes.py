"""Modes of groups, and what a kernel keeps from new ones: locked ways, classes of devices, RMIDs in limbo."""

import errno
import os

import pytest

from harness import wait_for
from resctrl import at, last_status, mkdir, read, refused, rmdir, write


@pytest.fixture
def lockable(start):
    """A node with a group "lock" that is set up for a lock, and three ways of cache 0 that no other group has."""
    node = start(pseudo_lock=True, mb=False)
    write(node, "schemata", "L3:0=7f8;1=7ff\n")
    mkdir(node, "lock")
    write(node, "lock/mode", "pseudo-locksetup\n")
    return node


def test_a_lock_begins_without_settings_and_keeps_its_class(lockable):
    assert read(lockable, "lock/mode") == "pseudo-locksetup\n"
    assert read(lockable, "lock/schemata") == "L3:uninitialized\n"
    assert read(lockable, "lock/size") == "    L3:0=0;1=0\n"
    assert refused(read, lockable, "lock/tasks") == refused(write, lockable, "lock/cpus_list", "1\n") == errno.EACCES
    assert lockable.dump()["lock"]["closid"] == 1
    assert refused(mkdir, lockable, "lock/mon_groups/x") == errno.EINVAL
    assert last_status(lockable) == "Pseudo-locking in progress\n"


def test_locked_ways_belong_to_no_other_group(lockable):
    write(lockable, "lock/schemata", "L3:0=3\n")
    assert (read(lockable, "lock/mode"), read(lockable, "lock/schemata")) == ("pseudo-locked\n", "L3:0=3\n")
    assert read(lockable, "lock/size") == f"    L3:0={2 << 20}\n"
    assert read(lockable, "lock/cpus_list") == "0-7\n"
    assert read(lockable, "info/L3/bit_usage") == "0=SSSSSSSS0PP;1=SSSSSSSSSSS\n"
    assert refused(write, lockable, "schemata", "L3:0=7ff\n") == errno.EINVAL
    assert last_status(lockable) == "CBM overlaps with pseudo-locked region\n"
    assert refused(write, lockable, "lock/mode", "shareable\n") == refused(write, lockable, "lock/schemata", "L3:1=3\n") == errno.EINVAL
    mkdir(lockable, "new")
    assert read(lockable, "new/schemata") == "    L3:0=7fc;1=7ff\n"
    assert lockable.dump()["new"]["closid"] == 1  # the lock has given it back
    mkdir(lockable, "second")
    write(lockable, "second/mode", "pseudo-locksetup\n")
    assert refused(write, lockable, "second/schemata", "L3:0=4\n") == errno.EINVAL
    assert last_status(lockable) == "Pseudo-locked region in hierarchy\n"
    rmdir(lockable, "lock")
    write(lockable, "schemata", "L3:0=7ff\n")


@pytest.mark.parametrize("options, before, why", [
    ({}, [], "Pseudo-locking not supported\n"),
    ({"pseudo_lock": True, "cdp": True}, [], "CDP enabled\n"),
    ({"pseudo_lock": True}, [("lock/cpus_list", "3\n")], "CPUs assigned to resource group\n"),
    ({"pseudo_lock": True}, [("lock/tasks", "{pid}\n")], "Tasks assigned to resource group\n"),
])
def test_a_refused_lock_has_its_reason(start, options, before, why):
    node = start(**options)
    mkdir(node, "lock")
    for file, text in before:
        write(node, file, text.format(pid=node.pid))
    assert refused(write, node, "lock/mode", "pseudo-locksetup\n") == errno.EINVAL
    assert (last_status(node), read(node, "lock/mode")) == (why, "shareable\n")


def test_new_groups_get_the_lowest_run_that_is_not_exclusive(start):
    node = start()
    write(node, "schemata", "L3:0=00f;1=7f0\n")
    mkdir(node, "a")
    write(node, "a/schemata", "L3:0=030;1=003\n")
    write(node, "a/mode", "exclusive\n")
    mkdir(node, "b")
    assert read(node, "b/schemata").splitlines()[-1] == "    L3:0=00f;1=7fc"
    assert read(node, "info/L3/bit_usage") == "0=00000EESSSS;1=SSSSSSSSSEE\n"


def test_amd_takes_masks_with_holes_and_without_ways(start):
    node = start(vendor="amd")
    assert (read(node, "info/L3/min_cbm_bits"), read(node, "info/L3/sparse_masks")) == ("0\n", "1\n")
    for mask in ("0000", "0505"):
        write(node, "schemata", f"L3:0={mask}\n")
        assert read(node, "schemata").splitlines()[-1] == f"    L3:0={mask};1=07ff"


@pytest.mark.parametrize("limbo, error", [(60_000, errno.EBUSY), (0, None)])
def test_a_freed_rmid_is_in_limbo(start, limbo, error):
    node = start(rmids=3, rmid_limbo=limbo)
    mkdir(node, "a")
    mkdir(node, "b")
    assert refused(mkdir, node, "c") == errno.ENOSPC
    rmdir(node, "a")
    if error is None:
        mkdir(node, "c")
        return
    assert refused(mkdir, node, "c") == refused(mkdir, node, "mon_groups/m") == error
    assert last_status(node) == "Out of RMIDs\n" * 3  # this kernel's mkdir does not clear it


def test_limbo_ends(start):
    node = start(rmids=2, rmid_limbo=2000)
    mkdir(node, "a")
    rmdir(node, "a")
    assert refused(mkdir, node, "a") == errno.EBUSY

    def is_made():
        try:
            mkdir(node, "a")
        except OSError as failure:
            assert failure.errno == errno.EBUSY
        return os.path.exists(at(node, "a"))

    wait_for(is_made, "the RMID")


def test_devices_have_the_highest_class(start):
    node = start(vendor="amd", kernel="6.19", io_alloc="off", closids=4)
    assert read(node, "info/L3/io_alloc") == "disabled\n"
    assert refused(read, node, "info/L3/io_alloc_cbm") == errno.EINVAL
    for name in "abc":
        mkdir(node, name)
    assert refused(write, node, "info/L3/io_alloc", "1\n") == errno.ENOSPC
    rmdir(node, "c")
    write(node, "info/L3/io_alloc", "1\n")
    assert (read(node, "info/L3/io_alloc"), read(node, "info/L3/io_alloc_cbm")) == ("enabled\n", "0=7ff;1=7ff\n")
    assert refused(mkdir, node, "c") == errno.ENOSPC
    write(node, "info/L3/io_alloc_cbm", "1=600\n")
    assert read(node, "info/L3/io_alloc_cbm") == "0=7ff;1=600\n"
    for group in ("schemata", "a/schemata", "b/schemata"):
        write(node, group, "L3:1=1ff\n")
    assert read(node, "info/L3/bit_usage") == "0=XXXXXXXXXXX;1=HHSSSSSSSSS\n"
    assert read(node, "schemata").splitlines()[-1] == "    L3:0=7ff;1=1ff"
    write(node, "info/L3/io_alloc", "0\n")
    mkdir(node, "c")


def test_counters_are_assigned_while_there_are_some(start):
    node = start(kernel="6.18", mbm_counters=4)
    assert read(node, "info/L3_MON/mbm_assign_mode") == "[mbm_event]\ndefault\n"
    mkdir(node, "a")
    assert read(node, "a/mbm_L3_assignments") == "mbm_total_bytes:0=e;1=e\nmbm_local_bytes:0=e;1=e\n"
    assert (read(node, "info/L3_MON/num_mbm_cntrs"), read(node, "info/L3_MON/available_mbm_cntrs")) == ("0=4;1=4\n", "0=0;1=0\n")
    mkdir(node, "b")
    assert read(node, "b/mbm_L3_assignments") == "mbm_total_bytes:0=_;1=_\nmbm_local_bytes:0=_;1=_\n"
    assert read(node, "b/mon_data/mon_L3_00/mbm_total_bytes") == "Unassigned\n"
    assert refused(write, node, "b/mbm_L3_assignments", "mbm_total_bytes:0=e\n") == errno.ENOSPC
    write(node, "mbm_L3_assignments", "mbm_local_bytes:*=_\n")
    write(node, "b/mbm_L3_assignments", "mbm_total_bytes:0=e\n")
    assert read(node, "b/mon_data/mon_L3_00/mbm_total_bytes") == "0\n"
    rmdir(node, "a")
    assert read(node, "info/L3_MON/available_mbm_cntrs") == "0=2;1=3\n"


def test_refusals_of_assignments_are_the_kernels(start):
    node = start(kernel="6.18", mbm_counters=2)
    mkdir(node, "a")  # the root group has all
    failed = "Failed to allocate counter for mbm_%s_bytes in domain %d\n"
    assert last_status(node) == failed % ("total", 0) + failed % ("local", 0)
    for text, error, said in [
            ("mbm_total_bytes:1=e\n", errno.ENOSPC, failed % ("total", 1) + "Assign operation 'mbm_total_bytes:1=e' failed\n"),
            ("mbm_total_bytes:*=e\n", errno.ENOSPC, failed % ("total", 0) + "Assign operation 'mbm_total_bytes:*=e' failed\n"),
            ("mbm_total_bytes:0=x\n", errno.EINVAL, "Assign operation 'mbm_total_bytes:0=x' failed\n"),
            ("mbm_total_bytes:7=e\n", errno.EINVAL, "Invalid domain id 7\n"),
            ("mbm_total_bytes:e\n", errno.EINVAL, "Missing domain id\n"),
            ("llc_occupancy:0=e\n", errno.ENOENT, "Invalid event llc_occupancy\n")]:
        assert (refused(write, node, "a/mbm_L3_assignments", text), last_status(node)) == (error, said)


def test_an_event_is_unassigned_only_if_no_group_below_has_a_counter(start):
    node = start(kernel="6.18", mbm_counters=8)
    mkdir(node, "a")
    mkdir(node, "a/mon_groups/m")
    node.use("a", 0, "mbm_total_bytes", 5)
    node.use("a/mon_groups/m", 0, "mbm_total_bytes", 7)
    assert read(node, "a/mon_data/mon_L3_00/mbm_total_bytes") == "12\n"
    write(node, "a/mbm_L3_assignments", "mbm_total_bytes:*=_\n")
    assert read(node, "a/mon_data/mon_L3_00/mbm_total_bytes") == "7\n"
    write(node, "a/mon_groups/m/mbm_L3_assignments", "mbm_total_bytes:0=_\n")
    assert read(node, "a/mon_data/mon_L3_00/mbm_total_bytes") == "Unassigned\n"
    write(node, "a/mbm_L3_assignments", "mbm_total_bytes:0=e\n")
    assert read(node, "a/mon_data/mon_L3_00/mbm_total_bytes") == "0\n"


def test_in_the_default_mode_each_group_has_its_counters(start):
    node = start(kernel="6.18", mbm_counters=2)
    mkdir(node, "a")
    write(node, "info/L3_MON/mbm_assign_mode", "default\n")
    assert read(node, "info/L3_MON/mbm_assign_mode") == "mbm_event\n[default]\n"
    assert read(node, "a/mon_data/mon_L3_00/mbm_total_bytes") == "0\n"
    assert refused(read, node, "info/L3_MON/available_mbm_cntrs") == errno.EINVAL
    assert refused(read, node, "a/mbm_L3_assignments") == errno.EINVAL
    assert refused(write, node, "a/mbm_L3_assignments", "mbm_total_bytes:0=_\n") == errno.EINVAL
    write(node, "info/L3_MON/mbm_assign_mode", "mbm_event\n")
    assert read(node, "info/L3_MON/available_mbm_cntrs") == "0=2;1=2\n"
    assert read(node, "a/mon_data/mon_L3_00/mbm_total_bytes") == "Unassigned\n"


def test_new_groups_have_no_counters_where_they_are_not_assigned_on_mkdir(start):
    node = start(kernel="6.18", mbm_counters=8)
    write(node, "info/L3_MON/mbm_assign_on_mkdir", "0\n")
    mkdir(node, "a")
    assert read(node, "info/L3_MON/mbm_assign_on_mkdir") == "0\n"
    assert read(node, "a/mbm_L3_assignments") == "mbm_total_bytes:0=_;1=_\nmbm_local_bytes:0=_;1=_\n"


def test_sub_numa_clusters_are_counted_apart(start):
    node = start(nodes_per_socket=2, snc=True)
    assert sorted(os.listdir(at(node, "mon_data/mon_L3_01"))) == [
        "llc_occupancy", "mbm_local_bytes", "mbm_total_bytes", "mon_sub_L3_02", "mon_sub_L3_03"]
    node.use("/", 2, "llc_occupancy", "3")
    node.use("/", 3, "llc_occupancy", "4")
    assert [read(node, f"mon_data/mon_L3_01/{name}llc_occupancy") for name in ("", "mon_sub_L3_02/", "mon_sub_L3_03/")] == [
        "7\n", "3\n", "4\n"]


def test_readdir_may_omit_types(start):
    kinds = "import os; print(sorted({entry.is_dir() for entry in os.scandir('/sys/fs/resctrl')}))"
    node = start(d_types=False)
    assert node.run_inside(["/usr/bin/python3", "-c", kinds]).stdout == "[False, True]\n"
    assert "DT_UNKNOWN" in node.run_inside(["/usr/bin/python3", "-c", _RAW]).stdout
    assert "DT_UNKNOWN" not in start().run_inside(["/usr/bin/python3", "-c", _RAW]).stdout


# d_type as libc hands it on, which Python's scandir hides.
_RAW = """
import ctypes
libc = ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.readdir.argtypes = [ctypes.c_void_p]
folder = libc.opendir(b"/sys/fs/resctrl")
while entry := libc.readdir(folder):
    kind, name = ctypes.string_at(entry + 18, 1)[0], ctypes.string_at(entry + 19)
    if name not in (b".", b".."):
        print(name, "DT_UNKNOWN" if kind == 0 else kind)
"""
