"""The heartbeat for systemd's watchdog: there while the engine and the thread that serves clients are alive, and only then."""

import concurrent.futures
import contextlib
import ctypes
import errno
import os
import re
import select
import socket
import time

import pytest
from cpu_host import POOLS, ask, host  # noqa: F401
from cpu_pools import reload
from faulty_disk import Disk
from frequencies import MAX_PERCENT, post
from harness import DRIFT, Node, refusal

INTERVAL = 1.0  # seconds, WatchdogSec of the unit
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # ptrace(2)
LIBC = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def beats(monkeypatch):
    """The socket that NOTIFY_SOCKET names, in the place of systemd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(f"\0nrd-watchdog-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@nrd-watchdog-{os.getpid()}")
        monkeypatch.setenv("WATCHDOG_USEC", str(int(INTERVAL * 1e6)))
        yield notified


def threads_of(pid):
    threads = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm") as name:
            threads.setdefault(name.read().strip(), []).append(int(tid))
    return threads  # by name


def ptrace(request, tid):
    if LIBC.ptrace(request, tid, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


@contextlib.contextmanager
def stopped(tid):
    """Only this thread of the daemon is stopped."""
    ptrace(SEIZE, tid)
    ptrace(INTERRUPT, tid)
    os.waitpid(tid, 0x40000000)  # __WALL
    try:
        yield
    finally:
        ptrace(DETACH, tid)


def is_beating(beats):
    """Whether a heartbeat comes in time; earlier ones do not count."""
    while select.select([beats], [], [], 0)[0]:
        beats.recv(4096)
    end = time.monotonic() + 2 * INTERVAL
    while (left := end - time.monotonic()) > 0 and select.select([beats], [], [], left)[0]:
        if b"WATCHDOG=1" in beats.recv(4096):
            return True
    return False


def test_the_heartbeat_ends_while_the_engine_hangs_in_the_kernel(beats):
    with Node() as node, concurrent.futures.ThreadPoolExecutor(1) as client:
        assert is_beating(beats)
        node.sim.control("fault write 1 delay 6000")
        change = client.submit(node.create, "4", 2, 2)
        time.sleep(2 * INTERVAL)  # longer than a sign of life counts
        assert not is_beating(beats)
        assert change.result()["status"] == "Successful" and is_beating(beats)


def test_the_heartbeat_ends_while_the_thread_that_serves_clients_hangs(beats):
    with Node() as node:
        assert is_beating(beats)
        with stopped(max(threads_of(node.daemon.pid)["nrd"])):  # of the two with the program's name the later one
            time.sleep(2 * INTERVAL)
            assert not is_beating(beats)
        assert is_beating(beats)


def test_the_heartbeat_goes_on_while_many_requests_wait_for_systemd_one_after_the_other(beats, host):
    reload(host.node, "[cpu]\nsystemd_timeout_ms = 300\n" + POOLS)
    host.systemd.mode = "deaf"
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        requests = [clients.submit(host.node.request, "POST", "/v1/workloads", ask("unit")) for _ in range(16)]
        while not all(request.done() for request in requests):
            assert is_beating(beats)
    assert [request.result()[0] for request in requests] == [503] * 16


def await_line(beats, line):
    beats.settimeout(30)
    while not re.fullmatch(line, beats.recv(4096).decode()):
        pass


def test_the_line_of_systemctl_status_follows_workloads_and_problems(beats):
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        await_line(beats, "STATUS=workloads: 0")
        post(node, {"max_ratio": 30})
        await_line(beats, "STATUS=workloads: 1")
        node.sim.write(MAX_PERCENT, "60\n")
        await_line(beats, "STATUS=workloads: 1; CPU 4 of workload 1 cannot reach its maximum.*")
        node.sim.write(MAX_PERCENT, "100\n")
        await_line(beats, "STATUS=workloads: 1")


def test_the_line_of_systemctl_status_says_that_changes_are_frozen(beats):
    with Node(faulty_disk=True) as node:
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.EIO)
        assert refusal(node.create, "4", 1, 1).status == 503
        await_line(beats, "STATUS=workloads: 0; changes are rejected until the store can be read")
