"""The kernel's rules for resctrl, as Documentation/filesystems/resctrl.rst has them, where tests/conformance does not compare
the simulated node with a kernel: threads, and machines of other shapes. One promise a test.
"""

import errno
import os
import subprocess
import sys
import threading
import time

from resctrl import at, last_status, mkdir, read, refused, write


def top_bandwidth(node):
    return node.dump()["/"]["MB"]["0"]


def test_a_mask_is_shown_in_groups_of_eight_digits(start):
    node = start(cpus=72, sockets=1)
    assert read(node, "cpus") == "ff,ffffffff,ffffffff\n"


# Tasks


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


# Schemata


def test_without_mb_there_is_no_trace_of_it(start):
    node = start(mb=False)
    assert read(node, "schemata") == "    L3:0=7ff;1=7ff\n"
    assert not os.path.exists(at(node, "info/MB"))
    assert refused(write, node, "schemata", "MB:0=10\n") == errno.EINVAL


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
    assert refused(write, node, "schemata", "L3:0=1\n") == errno.EINVAL
    assert last_status(node) == "Need at least 2 bits in the mask\n"


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
