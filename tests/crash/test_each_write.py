"""Dying at writes of a scenario, to hardware and to disk. At which, fault_points.py says; tests/long dies at each.

What there is after each step is known from a run without a death; whatever is found after the restart must be one of
the two states around the step that died, whole: workloads with their grants, the store and the hardware.
"""

import contextlib
import functools
import http.client

import pytest
from faulty_disk import Disk
from harness import Node, wait_for
from fault_points import kinds_of_writes, struck, struck_until_past
from fault_scenarios import answered

CONFIG = "[cache_pools]\nshrink = true\n[drift]\ninterval_seconds = 0\n"

# A day in short.
STEPS = [
    lambda node: node.create("4-5", 2, 2),
    lambda node: node.create("0,9", 3, 1),
    lambda node: node.create("1", 3, 1),
    lambda node: node.create("8", 0, 0),
    lambda node: node.call("PATCH", "/v1/workloads/1", {"core_ids": ["5-6"], "cache": {"max": 3, "min": 3}}),
    lambda node: node.call("PATCH", "/v1/workloads/2", {"cache": {"max": 2, "min": 2}}),
    lambda node: node.call("PUT", "/v1/workloads/feed", {"core_ids": ["10"], "cache": {"max": 2, "min": 2}, "name": "feed"}),
    lambda node: node.call("PUT", "/v1/workloads/feed", {"core_ids": ["10-11"], "cache": {"max": 1, "min": 1}, "labels": {"team": "x"}}),
    lambda node: node.delete("2"),
    lambda node: node.delete("4"),
]


@functools.cache
def known_run():
    """Workloads before the first step and after each; the writes to the hardware and calls to the disk of all steps."""
    with Node(config=CONFIG, faulty_disk=True) as node:
        node.sim.control("reset")
        node.disk.set()
        states = [answered(node)]
        for step in STEPS:
            step(node)
            states.append(answered(node))
        assert all(one != other for one, other in zip(states, states[1:]))
        return states, kinds_of_writes(node), node.disk.kinds()


def run_until_death(node):
    """The number of steps that were acknowledged. None: it lived."""
    for done, step in enumerate(STEPS):
        try:
            step(node)
        except (OSError, http.client.HTTPException):
            assert node.wait_dead() == -9, node.journal()
            return done
    return None


def assert_whole(node, done):
    states, _, _ = known_run()
    found = answered(node)
    assert found in states[done:done + 2], (done, found)
    ids = {workload["id"] for workload in found}
    node.assert_consistent(ids)
    return ids


def assert_heals(node, done):
    ids = assert_whole(node, done)
    for id in ids:
        node.delete(id)
    node.assert_consistent(set())


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
@pytest.mark.parametrize("reboot", [False, True], ids=["", "and a power cut"])
def test_dying_at_each_hardware_write(moment, reboot):
    _, writes, _ = known_run()
    assert len(writes) > 25, writes
    for nth in struck(writes, turn=2 * reboot + (moment == "kill-after")):
        with Node(config=CONFIG) as node:
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {moment}")
            done = run_until_death(node)
            assert done is not None, nth
            node.sim.control("wipe" if reboot else "reset")
            node.sim.control("reset")
            node.start()
            assert_heals(node, done)


def test_dying_at_each_disk_call():
    _, _, calls = known_run()
    assert len(calls) > 15, calls
    for nth in struck(calls):
        with Node(config=CONFIG, faulty_disk=True) as node:
            node.disk.set(at=nth, kind=Disk.KILL)
            done = run_until_death(node)
            assert done is not None, nth
            node.disk.set()
            node.start()
            assert_heals(node, done)


def until_it_answers_or_dies(node):
    """Whether it lived. A death must be that of the fault."""
    node.spawn()
    wait_for(lambda: node.answers() or node.daemon.poll() is not None, "the daemon to answer or die")
    if node.daemon.poll() is None:
        return True
    assert node.wait_dead() == -9, node.journal()
    return False


@contextlib.contextmanager
def with_workloads(**options):
    with Node(config=CONFIG, **options) as node:
        for step in STEPS[:4]:
            step(node)
        yield node


@contextlib.contextmanager
def with_stored_workloads(**options):
    with with_workloads(**options) as node:
        node.kill9()
        yield node


@functools.cache
def known_recovery(wiped):
    """Writes to the hardware and calls to the disk of a start with stored workloads."""
    with with_stored_workloads(faulty_disk=True) as node:
        if wiped:
            node.sim.control("wipe")
        node.sim.control("reset")
        node.disk.set()
        node.start()
        return kinds_of_writes(node), node.disk.kinds()


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
def test_dying_at_each_hardware_write_of_a_recovery(moment):
    writes, _ = known_recovery(True)
    for nth in struck_until_past(writes, turn=moment == "kill-after"):
        with with_stored_workloads() as node:
            node.sim.control("wipe")
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {moment}")
            lived = until_it_answers_or_dies(node)
            assert lived == (node.sim.writes() < nth), nth
            if not lived:
                node.sim.control("reset")
                node.start()
            assert_whole(node, 4)
            if lived:
                return


@pytest.mark.parametrize("wiped", [False, True], ids=["after a kill", "after a reboot"])
def test_dying_at_each_disk_call_of_a_recovery(wiped):
    _, calls = known_recovery(wiped)
    for nth in struck_until_past(calls, turn=wiped):
        with with_stored_workloads(faulty_disk=True) as node:
            if wiped:
                node.sim.control("wipe")
            node.disk.set(at=nth, kind=Disk.KILL)
            lived = until_it_answers_or_dies(node)
            node.disk.set()
            if not lived:
                node.start()
            assert_whole(node, 4)
            if lived:
                return


def test_dying_at_each_disk_call_of_the_first_start_ever():
    with Node(config=CONFIG, faulty_disk=True) as node:
        calls = node.disk.kinds()
    for nth in struck_until_past(calls):
        with Node(config=CONFIG, faulty_disk=True, start=False) as node:
            node.disk.set(at=nth, kind=Disk.KILL)
            lived = until_it_answers_or_dies(node)
            node.disk.set()
            if not lived:
                node.start()
            assert_whole(node, 0)
            STEPS[0](node)
            assert_whole(node, 1)
            if lived:
                assert nth > 5, nth
                return


@contextlib.contextmanager
def about_to_stop():
    with with_workloads(faulty_disk=True) as node:
        node.sim.control("reset")
        node.disk.set()
        yield node


@pytest.mark.parametrize("file", ["hardware", "disk"])
def test_dying_at_each_write_of_a_stop(file):
    """SIGTERM takes nothing from the hardware and folds the log into the database."""
    with about_to_stop() as node:
        assert node.terminate() == 0, node.journal()
        known = kinds_of_writes(node) if file == "hardware" else node.disk.kinds()
    for nth in struck_until_past(known):
        with about_to_stop() as node:
            if file == "hardware":
                node.sim.control(f"fault write {nth} kill-before")
            else:
                node.disk.set(at=nth, kind=Disk.KILL)
            status = node.terminate()
            assert status in (0, -9), node.journal()
            node.sim.control("reset")
            node.disk.set()
            node.start()
            assert_whole(node, 4)
            if status == 0:
                return
