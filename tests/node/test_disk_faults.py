"""A call to the disk failing: the request fails with a clear error, and all is as before.

Which calls, fault_points.py says.
"""

import contextlib
import errno
import functools

import pytest
from fault_scenarios import SCENARIOS, answered, assert_one_line, image, image_after, prepared
from faulty_disk import Disk
from harness import Refused, refusal, wait_for
from fault_points import struck_until_past

# What happens to the disk: from the n-th call on, or once; counted in all calls, or in syncs only.
DISK = {
    "I/O error once": dict(kind=Disk.FAIL_ONCE, errno=errno.EIO),
    "I/O error at sync once": dict(kind=Disk.FAIL_ONCE, errno=errno.EIO, only_sync=True),
    "broken from then on": dict(kind=Disk.FAIL_ON, errno=errno.EIO),
    "full from then on": dict(kind=Disk.FAIL_ON, errno=errno.ENOSPC),
}


def positions(calls, fault):
    """For one of DISK, among calls that a run without it made."""
    counted = [call for call in calls if call.startswith("sync ")] if DISK[fault].get("only_sync") else calls
    return struck_until_past(counted, turn=list(DISK).index(fault))


def is_unchanged(text):
    """The refusal says that the change was not applied."""
    return "was rolled back" in text or "change rejected" in text


def assert_settled(node, start, after, refused):
    """The answer holds: now, and after the next start."""
    def settled():
        if refused is None:
            return image(node) == after
        if is_unchanged(refused.text):
            return image(node) == start
        return image(node) in (start, after)
    assert settled(), refused
    node.assert_consistent()
    held = image(node)
    node.kill9_and_start()
    assert image(node) == held
    node.assert_consistent()


@pytest.mark.parametrize("fault", DISK)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_failed_disk_call_is_answered_with_the_real_outcome(name, fault):
    before, request = SCENARIOS[name]
    after, _, calls = image_after(name)
    refusals = 0
    for nth in positions(calls, fault):
        with prepared(before, faulty_disk=True) as node:
            start = image(node)
            node.disk.set(at=nth, **DISK[fault])
            refused = None
            try:
                request(node)
            except Refused as answer:
                refused = answer
                refusals += 1
                assert refused.status == 503
                assert_one_line(refused.text)
                assert is_unchanged(refused.text) or "outcome is unknown" in refused.text, refused.text
                assert answered(node) == start[2]  # readers see the acknowledged state
            struck = node.disk.calls() >= nth
            node.disk.set()
            # Any next write finds out what became of this one, and asks for nothing itself.
            node.call("PATCH", f"/v1/workloads/{start[2][-1]['id']}", {})
            assert node.health()["status"] == "ok" and not node.health()["writes_frozen"]
            assert_settled(node, start, after, refused)
            if not struck:
                assert refused is None
                break
    assert refusals >= 1, refusals


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_full_disk_refuses_the_change_and_serves_again_with_room(name):
    before, request = SCENARIOS[name]
    after, _, _ = image_after(name)
    with prepared(before, faulty_disk=True) as node:
        start = image(node)
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.ENOSPC)
        refused = refusal(request, node)
        assert refused.status == 503 and is_unchanged(refused.text)
        assert_one_line(refused.text)
        assert image(node) == start
        node.disk.set()
        request(node)
        assert image(node) == after
        node.assert_consistent()


def test_a_disk_that_stays_broken_freezes_writes_and_not_reads():
    with prepared([("0", 2, 2)], faulty_disk=True) as node:
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.EIO)
        for _ in range(3):
            assert refusal(node.create, "1", 1, 1).status == 503
        assert node.journal().count("WRITES_FROZEN") == 1
        assert [workload["id"] for workload in node.list()] == ["1"]
        node.disk.set()
        assert node.create("1", 1, 1)
        node.assert_consistent()


@contextlib.contextmanager
def stopped(state):
    """A node whose daemon does not run, and the workloads that it has stored."""
    with prepared([], faulty_disk=True, start=False) as node:
        known = set()
        if state != "new":
            node.start()
            known = {node.create("4-5", 2, 2)["id"], node.create("0,9", 3, 1)["id"]}
            node.kill9()
        if state == "after a reboot":
            node.sim.control("wipe")
        yield node, known


@functools.cache
def calls_of_start(state):
    with stopped(state) as (node, _):
        node.disk.set()
        node.start()
        return node.disk.kinds()


# Starting on a bad disk: the daemon serves the truth or says in one line why it does not, and spoils nothing.
@pytest.mark.parametrize("fault", DISK)
@pytest.mark.parametrize("state", ["new", "after a kill", "after a reboot"])
def test_a_failed_disk_call_at_start_loses_nothing(state, fault):
    for nth in positions(calls_of_start(state), fault):
        with stopped(state) as (node, known):
            node.disk.set(at=nth, **DISK[fault])
            node.spawn()
            wait_for(lambda: node.answers() or node.daemon.poll() is not None, "the daemon to answer or end")
            if node.daemon.poll() is None:
                assert {workload["id"] for workload in node.list()} == known
                node.kill9()
            else:
                assert node.wait_dead() == 1, node.journal()
                said = [line for line in node.journal().splitlines() if line.startswith("nrd: ")]
                assert len(said) == 1, said
            struck = node.disk.calls() >= nth
            node.disk.set()
            node.start()
            node.assert_consistent(known)
            if not struck:
                return
