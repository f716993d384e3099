"""The kernel's rules for resctrl, as Documentation/filesystems/resctrl.rst has them: one promise a test."""

import errno
import os
import subprocess
import sys
import threading
import time

import pytest

from resctrl import at, last_status, mkdir, read, refused, rmdir, ways, write


def top_bandwidth(node):
    return node.dump()["/"]["MB"]["0"]


# Groups


def test_a_new_group_has_full_masks_and_no_cpus(node):
    mkdir(node, "A")
    group = node.dump()["A"]
    assert (group["L3"], group["cpus"], group["tasks"]) == ({"0": "7ff", "1": "7ff"}, "", [])
    assert group["MB"] == node.dump()["/"]["MB"]


def test_groups_can_be_made_until_the_smallest_resource_has_no_class_left(start):
    node = start(closids=16, mb_closids=3)
    mkdir(node, "A")
    mkdir(node, "B")
    assert refused(mkdir, node, "C") == errno.ENOSPC
    assert last_status(node) == "Out of CLOSIDs\n"


def test_a_removed_group_frees_its_class(start):
    node = start(closids=2)
    mkdir(node, "A")
    rmdir(node, "A")
    mkdir(node, "B")
    assert node.dump()["B"]["closid"] == 1


def test_a_removed_group_gives_cpus_and_tasks_back_to_the_root(node):
    mkdir(node, "A")
    write(node, "A/cpus_list", "2-3")
    write(node, "A/tasks", str(node.pid))
    rmdir(node, "A")
    assert node.dump()["/"]["cpus"] == "0-15"
    assert str(node.pid) in read(node, "tasks").split()


@pytest.mark.parametrize(
    "act, group, error",
    [
        (mkdir, "info", errno.EEXIST),
        (mkdir, "A", errno.EEXIST),
        (mkdir, "A/B", errno.EPERM),
        (mkdir, "info/L3/B", errno.EPERM),
        (rmdir, "info", errno.EPERM),
        (rmdir, "nobody", errno.ENOENT),
    ],
)
def test_folders_that_are_no_groups_can_be_neither_made_nor_removed(node, act, group, error):
    mkdir(node, "A")
    assert refused(act, node, group) == error


# CPUs


def test_a_cpu_written_to_one_group_leaves_all_others(node):
    mkdir(node, "A")
    mkdir(node, "B")
    write(node, "A/cpus_list", "1-4\n")
    write(node, "B/cpus_list", "4-5\n")
    groups = node.dump()
    assert (groups["/"]["cpus"], groups["A"]["cpus"], groups["B"]["cpus"]) == ("0,6-15", "1-3", "4-5")


def test_a_cpu_dropped_from_a_group_falls_back_to_the_root(node):
    mkdir(node, "A")
    write(node, "A/cpus_list", "1-4")
    write(node, "A/cpus_list", "1")
    assert (node.dump()["/"]["cpus"], node.dump()["A"]["cpus"]) == ("0,2-15", "1")


def test_a_group_can_give_up_all_its_cpus(node):
    mkdir(node, "A")
    write(node, "A/cpus_list", "1-4")
    write(node, "A/cpus_list", "\n")
    assert (node.dump()["/"]["cpus"], read(node, "A/cpus_list")) == ("0-15", "\n")


def test_the_root_takes_cpus_back_from_groups(node):
    mkdir(node, "A")
    write(node, "A/cpus_list", "1-4")
    write(node, "cpus_list", "0-15")
    assert (node.dump()["/"]["cpus"], node.dump()["A"]["cpus"]) == ("0-15", "")


def test_the_root_refuses_to_drop_a_cpu(node):
    assert refused(write, node, "cpus_list", "0-14") == errno.EINVAL
    assert last_status(node) == "Can't drop CPUs from default group\n"


@pytest.mark.parametrize(
    "file, text, cpus",
    [
        ("cpus", "3", "0-1"),
        ("cpus", "0003\n", "0-1"),
        ("cpus", "0000000c,", "2-3"),  # as libpqos writes it
        ("cpus", "8001\n", "0,15"),
        ("cpus_list", "0-2,9", "0-2,9"),
        ("cpus_list", "0-7:2/4 N", "0-1,4-5,15"),
        ("cpus_list", "all", "0-15"),
    ],
)
def test_cpus_can_be_written_as_mask_and_as_list(node, file, text, cpus):
    mkdir(node, "A")
    write(node, f"A/{file}", text)
    assert node.dump()["A"]["cpus"] == cpus


@pytest.mark.parametrize("file, text, error", [
    ("cpus", "xyz", errno.EINVAL), ("cpus", "0x3", errno.EINVAL), ("cpus", "10000", errno.EOVERFLOW), ("cpus", "0,00000001", errno.EOVERFLOW),
    ("cpus_list", "3-1", errno.EINVAL), ("cpus_list", "1:2/4", errno.EINVAL), ("cpus_list", "16", errno.ERANGE)])
def test_invalid_cpu_sets_are_refused(node, file, text, error):
    mkdir(node, "A")
    assert refused(write, node, f"A/{file}", text) == error
    assert last_status(node) == "Bad CPU list/mask\n"


def test_a_mask_is_shown_in_groups_of_eight_digits(start):
    node = start(cpus=72, sockets=1)
    assert read(node, "cpus") == "ff,ffffffff,ffffffff\n"


def test_an_offline_cpu_is_refused(start):
    node = start(offline="3")
    mkdir(node, "A")
    assert refused(write, node, "A/cpus_list", "2-3") == errno.EINVAL
    assert last_status(node) == "Can only assign online CPUs\n"
    assert node.dump()["/"]["cpus"] == "0-2,4-15"


# Tasks


def test_a_task_lives_in_exactly_one_group(node):
    task = str(node.pid)
    mkdir(node, "A")
    mkdir(node, "B")
    write(node, "A/tasks", task)
    write(node, "B/tasks", task + "\n")
    assert [task in read(node, f"{group}tasks").split() for group in ("", "A/", "B/")] == [False, False, True]
    write(node, "tasks", task)
    assert [task in read(node, f"{group}tasks").split() for group in ("", "A/", "B/")] == [True, False, False]


def test_a_dead_task_is_refused(node):
    dead = subprocess.Popen(["true"])
    dead.wait()
    mkdir(node, "A")
    assert refused(write, node, "A/tasks", str(dead.pid)) == errno.ESRCH
    assert last_status(node) == f"No task {dead.pid}\nError while processing task {dead.pid}\n"


def test_a_task_that_ends_leaves_its_group(node):
    child = subprocess.Popen(["sleep", "60"])
    mkdir(node, "A")
    write(node, "A/tasks", str(child.pid))
    child.kill()
    child.wait()
    assert read(node, "A/tasks") == ""


def test_threads_move_one_by_one(node):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    mkdir(node, "A")
    write(node, "A/tasks", str(thread.native_id))
    tasks = node.dump()["A"]["tasks"]
    done.set()
    thread.join()
    assert tasks == [thread.native_id]


def wait_for_next_tick():
    """The start time of a task has ticks, and the simulated node counts a child started in the tick of a move as an heir."""
    time.sleep(1 / os.sysconf("SC_CLK_TCK"))


def test_children_and_threads_inherit_the_group_of_their_parent(node):
    program = ("import subprocess, sys, threading\n"
               "for line in sys.stdin:\n"
               "    thread = threading.Thread(target=threading.Event().wait, daemon=True)\n"
               "    thread.start()\n"
               "    child = subprocess.Popen(['sleep', '60'])\n"
               "    print(thread.native_id, child.pid, flush=True)\n")
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              start_new_session=True)

    def heirs():
        parent.stdin.write("\n")
        parent.stdin.flush()
        return {int(number) for number in parent.stdout.readline().split()}

    try:
        before = heirs()
        mkdir(node, "A")
        wait_for_next_tick()
        write(node, "A/tasks", str(parent.pid))
        after = heirs()
        assert set(node.dump()["A"]["tasks"]) == {parent.pid} | after
        moved = min(after)
        write(node, "tasks", str(moved))
        assert set(node.dump()["A"]["tasks"]) == {parent.pid} | after - {moved}
        assert not before & set(node.dump()["A"]["tasks"])
    finally:
        os.killpg(parent.pid, 9)
        parent.wait()


def test_task_zero_is_the_writer(node):
    mkdir(node, "A")
    wait_for_next_tick()  # the node itself is a child of the writer
    write(node, "A/tasks", "0")
    assert node.dump()["A"]["tasks"] == [threading.get_native_id()]


@pytest.mark.parametrize("text", ["x", "-1", "1x"])
def test_invalid_task_ids_are_refused(node, text):
    mkdir(node, "A")
    assert refused(write, node, "A/tasks", text) == errno.EINVAL


# Schemata


@pytest.mark.parametrize(
    "text, expected",
    [
        ("L3:0=f\n", {"0": "f", "1": "7ff"}),
        ("L3:1=00f\n", {"0": "7ff", "1": "f"}),
        ("L3:0=1;1=600\n", {"0": "1", "1": "600"}),
        ("    L3:0=0x3;1=7ff\n", {"0": "3", "1": "7ff"}),
        ("  L3 :0= 3 ;1= c \n", {"0": "3", "1": "c"}),
        ("MB:0=50\nL3:1=3\n", {"0": "7ff", "1": "3"}),
        ("L3:\n", None),
    ],
)
def test_schemata_take_whole_and_partial_lines(node, text, expected):
    mkdir(node, "A")
    if expected is None:
        assert refused(write, node, "A/schemata", text) == errno.EINVAL
    else:
        write(node, "A/schemata", text)
        assert ways(node, "A") == expected


@pytest.mark.parametrize(
    "text, status",
    [
        ("L3:0=f", "ok\n"),  # no newline
        ("L3:0=0\n", "Mask out of range\n"),
        ("L3:0=fff\n", "Mask out of range\n"),
        ("L3:0=5\n", "The mask 5 has non-consecutive 1-bits\n"),
        ("L3:0=1\n", "Need at least 2 bits in the mask\n"),
        ("L3:0=zz\n", "Non-hex character in the mask zz\n"),
        ("L3:0=f;0=3\n", "Duplicate domain 0\n"),
        ("L3:7=f\n", "ok\n"),  # the kernel does not say why
        ("L3:x=f\n", "Missing '=' or non-numeric domain\n"),
        ("L3:0\n", "Missing '=' or non-numeric domain\n"),
        ("L3\n", "Missing ':'\n"),
        ("L9:0=f\n", "Unknown or unsupported resource name 'L9'\n"),
        ("MB:0=many\n", "Invalid MB value many\n"),
    ],
)
def test_wrong_schemata_change_nothing_and_say_why(start, text, status):
    node = start(min_cbm_bits=2)
    before = node.dump()
    assert refused(write, node, "schemata", "MB:1=20\nL3:1=3\n" + text) == errno.EINVAL
    assert last_status(node) == status
    assert node.dump() == before


def test_a_success_clears_the_last_status(node):
    assert refused(write, node, "schemata", "L3:0=0\n") == errno.EINVAL
    write(node, "schemata", "L3:0=1\n")
    assert last_status(node) == "ok\n"


def test_bandwidth_beyond_the_units_of_the_vendor_is_refused(node):
    assert refused(write, node, "schemata", f"MB:0={int(top_bandwidth(node)) + 1}\n") == errno.EINVAL
    assert "out of range" in last_status(node)


def test_schemata_read_as_they_are_written(node):
    write(node, "schemata", "L3:0=3;1=7f0\n")
    top = top_bandwidth(node)
    assert read(node, "schemata") == f"    MB:0={top};1={top}\n    L3:0=003;1=7f0\n"


def test_without_mb_there_is_no_trace_of_it(start):
    node = start(mb=False)
    assert read(node, "schemata") == "    L3:0=7ff;1=7ff\n"
    assert not os.path.exists(at(node, "info/MB"))
    assert refused(write, node, "schemata", "MB:0=10\n") == errno.EINVAL


def test_size_is_the_part_of_the_cache_in_bytes(node):
    write(node, "schemata", "L3:1=3\n")
    assert read(node, "size").splitlines()[-1] == f"    L3:0={11 << 20};1={2 << 20}"


# Files


def test_info_describes_the_machine(start):
    node = start(ways=20, closids=12, mb_closids=8, min_cbm_bits=2, shareable="c0000")
    values = {name: read(node, f"info/L3/{name}").strip() for name in os.listdir(at(node, "info/L3"))}
    assert values == {
        "num_closids": "12",
        "cbm_mask": "fffff",
        "min_cbm_bits": "2",
        "shareable_bits": "c0000",
        "sparse_masks": "0",
        "bit_usage": "0=XX" + "S" * 18 + ";1=XX" + "S" * 18,
    }
    assert read(node, "info/MB/num_closids") == "8\n"


def test_a_file_can_be_read_in_small_pieces(node):
    whole = read(node, "schemata")
    with open(at(node, "schemata"), "rb", buffering=0) as file:
        pieces = [file.read(7) for _ in range(len(whole) // 7 + 1)]
        assert b"".join(pieces).decode() == whole
        file.seek(4)
        assert file.read(2) == b"MB"


def test_a_file_longer_than_a_page_is_read_whole(start):
    node = start(cpus=2048, sockets=1, offline=",".join(map(str, range(1, 2048, 2))))
    assert node.read("/sys/devices/system/cpu/online") == ",".join(map(str, range(0, 2048, 2))) + "\n"


@pytest.mark.parametrize("file", ["info/L3/cbm_mask", "info/last_cmd_status", "size"])
def test_read_only_entries_cannot_be_written(node, file):
    assert refused(write, node, file, "1\n") == errno.EACCES


def test_more_than_a_page_in_one_write_is_refused(node):
    assert refused(write, node, "schemata", "L3:0=3;" * 1000 + "\n") == errno.E2BIG


def test_with_mba_mbps_an_unlimited_group_has_full_bandwidth(start):
    node = start(mb_unit="mbps")
    assert top_bandwidth(node) == "4294967295"
    write(node, "schemata", "MB:0=5001\n")
    assert top_bandwidth(node) == "5001"
    write(node, "schemata", "MB:0=4294967295\n")
    assert top_bandwidth(node) == "4294967295"
    node.control("remount percent")
    assert top_bandwidth(node) == "100"


def test_amd_has_2048_eighths_and_reports_it_in_cpuinfo(start):
    node = start(mb_unit="amd")
    assert top_bandwidth(node) == "2048"
    assert "AuthenticAMD" in node.read("/proc/cpuinfo")
