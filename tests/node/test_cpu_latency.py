"""Limits of idle states of granted CPUs: set, restored, and as before after faults and deaths at each write."""

import contextlib
import http.client

import pytest

from harness import Node, refusal

POOLS = """
[drift]
interval_seconds = 0
[[cpu.pools]]
name = "fast"
cpus = "2-7"
kind = "exclusive"
latency_us = 0
"""
REQUEST = {"cpu": {"pool": "fast", "count": 2}}


def file_of(cpu):
    return f"/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us"


def limits(node):
    """Of the CPUs 2 to 7; the workload gets 2 and 3."""
    return " ".join(node.sim.read(file_of(cpu)).strip() for cpu in range(2, 8))


@contextlib.contextmanager
def a_node(**options):
    with Node(config=POOLS, start=False, **options) as node:
        if options.get("power", True):
            node.sim.write(file_of(3), "70\n")  # by other software
        node.sim.control("reset")
        node.start()
        yield node


BEFORE, LIMITED = "0 70 0 0 0 0", "n/a n/a 0 0 0 0"


def post(node):
    return node.call("POST", "/v1/workloads", REQUEST)


def test_granted_cpus_enter_no_idle_state_and_get_their_limits_back():
    with a_node() as node:
        id = post(node)["id"]
        assert limits(node) == LIMITED
        assert node.call("GET", f"/v1/workloads/{id}")["status"] == "Successful"
        assert node.call("GET", "/v1/cpus/pools/fast")["latency_us"] == 0
        node.kill9()
        node.sim.write(file_of(2), "0\n")
        node.start()
        assert limits(node) == LIMITED
        node.delete(id)
        assert limits(node) == BEFORE
        node.assert_consistent(set())


@pytest.mark.parametrize("fault", ["errno EIO", "lie"])
def test_a_refused_write_refuses_the_request_whole(fault):
    with a_node() as node:
        for nth in (1, 2):
            node.sim.control(f"fault write {nth} {fault}")
            refused = refusal(post, node)
            assert refused.status == 500 and f"CPU {nth + 1} did not take the idle latency limit n/a" in refused.text
            assert limits(node) == BEFORE and node.list() == []
        id = post(node)["id"]
        node.sim.control(f"fault write 2 {fault}")
        assert refusal(node.delete, id)
        assert limits(node) == LIMITED
        node.delete(id)
        assert limits(node) == BEFORE


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_dying_at_each_write_of_a_limit(moment, nth):
    """Two writes of the request, then two of its deletion."""
    with a_node() as node:
        node.sim.control(f"fault write {nth} {moment}")
        with pytest.raises((OSError, http.client.HTTPException)):
            node.delete(post(node)["id"])
        assert node.wait_dead() == -9
        node.start()
        granted = nth > 2
        assert len(node.list()) == granted
        assert limits(node) == (LIMITED if granted else BEFORE)
        for workload in node.list():
            node.delete(workload["id"])
        assert limits(node) == BEFORE
        node.assert_consistent(set())


def test_a_reboot_sets_the_limits_again():
    with a_node() as node:
        id = post(node)["id"]
        node.kill9()
        node.sim.control("wipe")
        node.start()
        assert limits(node) == LIMITED
        node.delete(id)
        assert limits(node) == "0 0 0 0 0 0"


def test_a_kernel_without_limits_grants_and_warns():
    with a_node(power=False) as node:
        assert post(node)["status"] == "Successful"
        health = node.call("GET", "/v1/health")
        assert health["status"] == "ok"
        assert "latency_us of CPU pool fast has no effect: CPU 0 has no pm_qos_resume_latency_us" in health["warnings"]
