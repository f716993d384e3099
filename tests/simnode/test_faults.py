"""Faults and the control socket: what a test plants happens once, at the write it names, and nowhere else."""

import errno
import os
import signal
import time

import pytest

from resctrl import RESCTRL, at, mkdir, read, rmdir, write
from simnode import SimNodeError


def set_ways(node, ways):
    write(node, "schemata", f"L3:0={ways}\n")


def ways(node):
    return node.dump()["/"]["L3"]["0"]


def test_each_write_mkdir_and_rmdir_counts_one(node):
    mkdir(node, "A")
    set_ways(node, "3")
    write(node, "A/cpus_list", "1")
    read(node, "schemata")
    rmdir(node, "A")
    assert node.writes() == 4
    assert node.log() == ["mkdir A", "write schemata L3:0=3\n", "write A/cpus_list 1", "rmdir A"]


def test_a_refused_write_counts_too(node):
    with pytest.raises(OSError):
        set_ways(node, "0")
    assert node.writes() == 1


def test_reset_forgets_counts_and_faults(node):
    set_ways(node, "3")
    node.control("fault write 1 errno EIO")
    node.control("reset")
    set_ways(node, "7")
    assert (node.writes(), ways(node)) == (1, "7")


@pytest.mark.parametrize("name", ["EIO", "EINVAL", "ENOSPC", "EBUSY"])
def test_the_nth_write_from_now_fails_once_and_is_not_applied(node, name):
    set_ways(node, "1")
    node.control(f"fault write 2 errno {name}")
    set_ways(node, "3")
    with pytest.raises(OSError) as failure:
        set_ways(node, "7")
    assert (failure.value.errno, ways(node)) == (getattr(errno, name), "3")
    set_ways(node, "f")
    assert ways(node) == "f"


def test_several_faults_wait_for_their_own_writes(node):
    node.control("fault write 1 lie")
    node.control("fault write 3 lie")
    seen = []
    for mask in ("1", "3", "7", "f"):
        set_ways(node, mask)
        seen.append(ways(node))
    assert seen == ["7ff", "3", "3", "f"]


@pytest.mark.parametrize(
    "before, act, group_exists",
    [((), os.mkdir, False), ((os.mkdir,), os.rmdir, True)],
    ids=["mkdir", "rmdir"],
)
def test_folders_lie_as_well(node, before, act, group_exists):
    for earlier in before:
        earlier(at(node, "A"))
    node.control("fault write 1 lie")
    act(at(node, "A"))
    assert os.path.exists(at(node, "A")) == group_exists
    assert ("A" in node.dump()) == group_exists


@pytest.mark.parametrize("kind, left", [("kill-before", "7ff"), ("kill-after", "3")])
def test_the_writer_is_killed_before_or_after_its_write(node, kind, left):
    node.control(f"fault write 1 {kind}")
    writer = node.run_inside(["sh", "-c", f"echo L3:0=3 > {RESCTRL}/schemata; echo alive"], check=False)
    assert (writer.returncode, writer.stdout) == (-signal.SIGKILL, "")
    assert ways(node) == left


@pytest.mark.parametrize("kind, made", [("kill-before", False), ("kill-after", True)])
def test_the_maker_of_a_group_is_killed_too(node, kind, made):
    node.control(f"fault write 1 {kind}")
    maker = node.run_inside(["mkdir", f"{RESCTRL}/A"], check=False)
    assert (maker.returncode, "A" in node.dump()) == (-signal.SIGKILL, made)


def test_all_threads_of_a_killed_writer_die(node):
    script = f"""
import threading, time
threading.Thread(target=lambda: open("{RESCTRL}/schemata", "w").write("L3:0=3\\n")).start()
time.sleep(60)
"""
    node.control("fault write 1 kill-after")
    assert node.run_inside(["/usr/bin/python3", "-c", script], check=False, timeout=30).returncode == -signal.SIGKILL


def test_a_delayed_write_is_late_and_applied(node):
    node.control("fault write 1 delay 200")
    began = time.monotonic()
    set_ways(node, "3")
    assert time.monotonic() - began >= 0.2
    assert ways(node) == "3"


def test_a_read_fails_once(node):
    node.control("fault read schemata errno EIO")
    with pytest.raises(OSError) as failure:
        read(node, "schemata")
    assert failure.value.errno == errno.EIO
    assert "L3" in read(node, "schemata")


def test_wipe_is_a_reboot(node):
    boot_id = node.read("/proc/sys/kernel/random/boot_id")
    fresh = node.dump()
    mkdir(node, "A")
    write(node, "A/cpus_list", "1-3")
    set_ways(node, "3")
    assert node.read("/proc/sys/kernel/random/boot_id") == boot_id
    node.control("wipe")
    assert node.dump() == fresh
    assert node.read("/proc/sys/kernel/random/boot_id") != boot_id
    assert not os.path.exists(at(node, "A"))


def test_a_vanished_group_is_gone_and_was_no_write(node):
    mkdir(node, "A")
    write(node, "A/cpus_list", "1-3")
    node.control("vanish A")
    assert not os.path.exists(at(node, "A"))
    assert (node.dump()["/"]["cpus"], node.writes()) == ("0-15", 2)


@pytest.mark.parametrize(
    "line",
    ["", "frobnicate", "fault", "fault write x lie", "fault write 0 lie", "fault write 1 errno EWHAT", "vanish nobody",
     "fault write 1 delay", "offline 0", "offline 99", "count 3"],
)
def test_a_request_that_makes_no_sense_is_an_error(node, line):
    with pytest.raises(SimNodeError, match="error"):
        node.control(line)


def test_a_thousand_writes_take_less_than_five_seconds(node):
    began = time.monotonic()
    for number in range(1000):
        set_ways(node, "3" if number % 2 else "7")
    assert node.writes() == 1000
    assert time.monotonic() - began < 5
