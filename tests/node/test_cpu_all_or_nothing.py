"""CPUs, ways and frequencies of one request: if any of the three is unavailable the request fails, names it, and changes
nothing."""

import pytest

from cpu_host import TARGETS, Host, assert_refused
from cpu_pools import post
from frequencies import WINDOW, window


@pytest.fixture
def host(tmp_path):
    with Host(tmp_path, cpufreq="intel_pstate") as host:
        yield host


def everything(target="unit", **pstate):
    return {"cpu": {"pool": "fast", "count": 2}, "cache": {"max": 2, "min": 2}, "pstate": {**WINDOW, **pstate}, **TARGETS[target]}


def image(host):
    return host.traces(), host.sim.freq(), host.node.plain()


def test_all_three_are_granted_and_taken_back_together(host):
    before = image(host)
    workload = post(host.node, everything())
    assert workload["cpu"]["enforced"]["effective"] == "2-3" and window(host.node, 2) == window(host.node, 3) == {"min": 1_200_000, "max": 3_000_000}
    assert workload["granted_ways"]["0"]["ways"] == 2 and host.node.hardware()[workload["cos_name"]]["cpus"] in ("", "2-3")
    host.node.delete(workload["id"])
    assert image(host) == before


@pytest.mark.parametrize("taken, request_, status, member", [
    ({"cpu": {"pool": "fast", "count": 4}}, everything(), 409, "/cpu/count: needs 2"),
    ({"core_ids": ["7"], "cache": {"max": 4, "min": 4}}, everything(), 409, "/cache/max: needs 2"),
    (None, everything(max_ratio=99), 400, "/pstate/max_ratio: "),
])
def test_the_one_that_is_unavailable_is_named_and_nothing_changes(host, taken, request_, status, member):
    if taken:
        taken = post(host.node, taken)
    before = image(host)
    known = [each["id"] for each in host.node.list()]
    answer, text, _ = host.node.request("POST", "/v1/workloads", request_)
    assert answer == status and member in text, text
    assert image(host) == before and [each["id"] for each in host.node.list()] == known
    if taken:
        host.node.delete(taken["id"])
        post(host.node, request_)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", ["errno EIO", "lie"])
def test_a_frequency_that_the_hardware_refuses_takes_cpus_and_ways_back(host, target, fault):
    host.sim.control("reset")
    host.node.delete(post(host.node, everything(target))["id"])
    before = image(host)
    host.sim.control("reset")
    workload = post(host.node, everything(target))
    frequencies = [nth for nth, line in enumerate(host.sim.log(), 1) if "scaling_max_freq" in line]
    assert frequencies and any("COS" in line for line in host.sim.log())
    host.node.delete(workload["id"])
    for nth in frequencies:
        host.sim.control("reset")
        host.sim.control(f"fault write {nth} {fault}")
        assert_refused(host, everything(target), 500, "did not take max ", within=10)
        host.sim.control("reset")
        assert image(host) == before, nth
    post(host.node, everything(target))
