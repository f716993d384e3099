"""Dying at each write of a scenario, to hardware and to disk. No sampling."""

import http.client

import pytest
from harness import Disk, Node, wait_for

CONFIG = "[cache_pools]\nshrink = true\n[drift]\ninterval_seconds = 0\n"

# A day in short: each step is (what it does, which workloads there are once it is acknowledged).
STEPS = [
    (lambda node: node.create("4-5", 2, 2), {"1"}),
    (lambda node: node.create("0,9", 3, 1), {"1", "2"}),
    (lambda node: node.create("1", 3, 1), {"1", "2", "3"}),
    (lambda node: node.create("8", 0, 0), {"1", "2", "3", "4"}),
    (lambda node: node.call("PATCH", "/v1/workloads/1", {"core_ids": ["5-6"], "cache": {"max": 3, "min": 3}}),
     {"1", "2", "3", "4"}),
    (lambda node: node.delete("2"), {"1", "3", "4"}),
    (lambda node: node.delete("4"), {"1", "3"}),
]


def run_until_death(node):
    """(what was acknowledged, what may be besides). None: it lived."""
    before = set()
    for step, after in STEPS:
        try:
            step(node)
        except (OSError, http.client.HTTPException):
            node.wait_dead()
            return before, after
        before = after
    return None


def restart_and_check(node, before, after):
    node.start()
    ids = {workload["id"] for workload in node.list()}
    assert ids in (before, after), (ids, before, after)
    node.assert_consistent(ids)
    for id in ids:
        node.delete(id)
    node.assert_consistent(set())


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
def test_dying_at_each_hardware_write(moment):
    deaths = 0
    for nth in range(1, 1000):
        with Node(config=CONFIG) as node:
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {moment}")
            states = run_until_death(node)
            if states is None:
                break
            deaths += 1
            node.sim.control("reset")
            restart_and_check(node, *states)
    assert deaths > 25, deaths


def test_dying_at_each_disk_call():
    deaths = 0
    for nth in range(1, 1000):
        with Node(config=CONFIG, faulty_disk=True) as node:
            node.disk.set(at=nth, kind=Disk.KILL)
            states = run_until_death(node)
            if states is None:
                break
            deaths += 1
            node.disk.set()
            restart_and_check(node, *states)
    assert deaths > 15, deaths


def test_dying_at_each_write_of_a_recovery():
    for nth in range(1, 1000):
        with Node(config=CONFIG, start=False) as node:
            node.start()
            for step, _ in STEPS[:4]:
                step(node)
            node.kill9()
            node.sim.control("wipe")
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} kill-after")
            node.spawn()
            wait_for(lambda: node.answers() or node.daemon.poll() is not None, "the daemon to answer or die")
            died = node.daemon.poll() is not None
            if died:
                node.wait_dead()
                node.sim.control("reset")
                node.start()
            node.assert_consistent({"1", "2", "3", "4"})
            if not died:
                return
    raise AssertionError("the recovery never ended")
