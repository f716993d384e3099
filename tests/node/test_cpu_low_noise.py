"""Interrupts, unbound workqueues and the watchdog stay off CPUs of low-noise pools, and return as before afterwards."""

import os

import pytest

from cpu_pools import reload
from harness import NRD, Node, refusal, wait_for

POOLS = """
[drift]
interval_seconds = {drift}
[[cpu.pools]]
name = "fast"
cpus = "2-7"
kind = "exclusive"
low_noise = {fast}
[[cpu.pools]]
name = "slow"
cpus = "10-15"
kind = "shared"
low_noise = {slow}
"""
INTERRUPTS = {number: f"/proc/irq/{number}/smp_affinity_list" for number in (24, 25, 26, 30, 31)}
DEFAULT = "/proc/irq/default_smp_affinity"
WORKQUEUES = "/sys/devices/virtual/workqueue/cpumask"
WATCHDOG = "/proc/sys/kernel/watchdog_cpumask"
BEFORE = ["0-15", "2-3", "0", "2", "3", "ffff"]


def config(fast="true", slow="false", drift=0):
    return POOLS.format(fast=fast, slow=slow, drift=drift)


def places(node):
    """Of the interrupts: three of a network card, two that the kernel manages; and of those to come."""
    found = [node.sim.read(path).strip() for path in [*INTERRUPTS.values(), DEFAULT]]
    for path in (WORKQUEUES, WATCHDOG):
        if os.path.exists(path):  # on this host, so that it is simulated
            follows = {"ffff": "0-15", "ff03": "0-1,8-15", "0303": "0-1,8-9"} if path == WATCHDOG else {}
            mask = node.sim.read(path).strip()
            assert mask == follows.get(found[5], found[5]), (path, mask, found)
    return found


QUIET = ["0-1,8-15", "0-1,8-15", "0", "2", "3", "ff03"]
QUIETER = ["0-1,8-9", "0-1,8-9", "0", "2", "3", "0303"]


def test_movable_interrupts_and_other_work_leave_the_pool_and_return():
    with Node(config=config()) as node:
        assert places(node) == QUIET
        assert node.call("GET", "/v1/cpus/pools/fast")["low_noise"] is True
        assert node.call("GET", "/v1/health")["status"] == "ok"  # managed interrupts are no problem
        reload(node, config(slow="true"))
        assert places(node) == QUIETER
        reload(node, config())
        assert places(node) == QUIET
        node.kill9_and_start()
        assert places(node) == QUIET
        reload(node, config(fast="false"))
        assert places(node) == BEFORE


def test_without_the_key_nothing_is_written():
    with Node(config=config(fast="false"), start=False) as node:
        node.sim.control("reset")
        node.start()
        assert places(node) == BEFORE
        assert not [line for line in node.sim.log() if "irq" in line or "cpumask" in line]


def test_an_interrupt_that_others_move_elsewhere_stays_there():
    with Node(config=config(drift=1)) as node:
        node.sim.write(INTERRUPTS[24], "8\n")  # irqbalance, off the pool
        node.sim.write(INTERRUPTS[25], "4-5\n")  # and onto it
        wait_for(lambda: places(node) == ["8", "0-1,8-15", "0", "2", "3", "ff03"], "the repair")
        reload(node, config(fast="false", drift=1))
        assert places(node) == ["8", "4-5", "0", "2", "3", "ffff"]


def test_reset_restores():
    with Node(config=config()) as node:
        assert places(node) == QUIET
        node.terminate()
        assert places(node) == QUIET
        node.sim.run_inside([NRD, "--config", node.config, "--state-dir", node.state, "--reset"])
        assert places(node) == BEFORE


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
def test_dying_at_each_write(moment):
    with Node(config=config(fast="false")) as node:
        node.sim.control("reset")
        reload(node, config())
        writes = node.sim.writes()
        assert 4 <= writes <= 8
        for nth in range(1, writes + 1):
            node.kill9()
            node.configure(config(fast="false"))
            node.start()
            assert places(node) == BEFORE, nth
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {moment}")
            with pytest.raises(Exception):
                reload(node, config())
            assert node.wait_dead() == -9
            node.start()
            assert places(node) == QUIET, nth


@pytest.mark.parametrize("fault", ["errno EIO", "errno ENOSPC", "lie"])
def test_an_interrupt_that_does_not_move_stays_until_the_next_start(fault):
    for nth in (1, 2):
        with Node(config=config(fast="false")) as node:
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {fault}")
            reload(node, config())
            moved = places(node)
            assert [here != there for here, there in zip(moved, QUIET)] == [position == nth - 1 for position in range(6)]
            assert node.health()["hardware_problem"] == ""
            node.kill9_and_start()
            assert places(node) == QUIET
            reload(node, config(fast="false"))
            assert places(node) == BEFORE


@pytest.mark.parametrize("fault", ["errno EIO", "errno ENOSPC", "lie"])
@pytest.mark.parametrize("old, new", [("false", "true"), ("true", "false")])
def test_other_work_that_does_not_move_fails_the_reload_and_leaves_nothing_behind(old, new, fault):
    with Node(config=config(fast=old)) as node:
        before = places(node)
        node.sim.control("reset")
        reload(node, config(fast=new))
        after, log = places(node), node.sim.log()
        reload(node, config(fast=old))
        for nth in (nth for nth, line in enumerate(log, 1) if "/smp_affinity_list" not in line):
            node.kill9()  # forgets which interrupts cannot be moved
            node.configure(config(fast=old))
            node.start()
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {fault}")
            refused = refusal(reload, node, config(fast=new))
            assert refused.status == 500 and "did not take CPUs" in refused.text
            assert places(node) == before and node.health()["hardware_problem"] == "", nth
        reload(node, config(fast=new))
        assert places(node) == after != before
