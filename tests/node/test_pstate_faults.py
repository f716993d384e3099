"""Frequencies: whichever write fails or is the last one, cache and frequency stay consistent."""

import pytest

from fault_points import kinds_of_writes, struck
from frequencies import BOTH, window
from harness import Node, refusal, wait_for


# Crashes and faults

@pytest.mark.parametrize("shape", [{"cpufreq": "intel_pstate"}, {"cpufreq": "acpi-cpufreq", "freq_domain": "core"}, {"msr": "hwp"}])
def test_it_survives_kill_9_and_reboot_and_leaves_no_trace(shape):
    with Node(**shape) as node:
        before = node.sim.freq()
        made = node.call("POST", "/v1/workloads", BOTH)
        held = node.sim.freq()
        assert held != before
        node.kill9_and_start()
        assert node.sim.freq() == held and node.list() == [{**made, "status": "Successful"}]
        node.reboot()
        assert node.sim.freq() == held and node.list()[0]["status"] == "Successful"
        node.kill9_and_start()
        node.delete(made["id"])
        assert node.sim.freq() == before and node.stored() == {}


def writes_of(node):
    return int(node.sim.control("count").partition("=")[2])


def count_writes(shape):
    with Node(**shape) as node:
        node.sim.control("reset")
        node.call("POST", "/v1/workloads", BOTH)
        return writes_of(node)


@pytest.mark.parametrize("fault", ["errno EIO", "errno EINVAL", "lie"])
@pytest.mark.parametrize("shape", [{"cpufreq": "intel_pstate"}, {"msr": "hwp"}], ids=["cpufreq", "msr"])
def test_a_failed_write_restores_cache_and_frequency(shape, fault):
    writes = count_writes(shape)
    assert writes >= 5  # two masks, the CPUs at once, and their frequencies
    with Node(**shape) as node:
        frequencies, ways = node.sim.freq(), node.plain()
        for n in range(1, writes + 1):
            node.sim.control("reset")
            node.sim.control(f"fault write {n} {fault}")
            refused = refusal(node.call, "POST", "/v1/workloads", BOTH)
            assert refused.status == 500, (n, refused)
            assert node.sim.freq() == frequencies and node.plain() == ways and node.list() == [] and node.stored() == {}, n
        assert node.call("POST", "/v1/workloads", BOTH)["status"] == "Successful"


def writes_of_a_life(shape):
    with Node(**shape) as node:
        node.sim.control("reset")
        node.delete(node.call("POST", "/v1/workloads", BOTH)["id"])
        return kinds_of_writes(node)


def test_after_dying_at_any_write_the_next_start_reports_the_real_state():
    shape = {"cpufreq": "intel_pstate"}
    writes = writes_of_a_life(shape)
    for turn, moment in enumerate(("kill-before", "kill-after")):
        for n in struck(writes, turn):
            with Node(**shape) as node:
                untouched = (node.sim.freq(), node.plain())
                node.sim.control("reset")
                node.sim.control(f"fault write {n} {moment}")
                try:
                    made = node.call("POST", "/v1/workloads", BOTH)
                    node.delete(made["id"])
                    raise AssertionError(f"write {n} was not reached")
                except OSError:
                    pass
                node.wait_dead()
                node.start()
                stored = node.list()
                if stored:
                    assert stored[0]["status"] == "Successful" and window(node, 4) == {"min": 1_200_000, "max": 3_000_000}
                    node.delete(stored[0]["id"])
                assert (node.sim.freq(), node.plain()) == untouched, (n, moment)


def test_frequencies_come_back_at_a_start_although_resctrl_refuses_a_write():
    with Node("[drift]\ninterval_seconds = 3600\n", cpufreq="intel_pstate") as node:
        node.call("POST", "/v1/workloads", BOTH)
        limits = window(node, 4)
        node.kill9()
        node.sim.control("wipe")
        assert window(node, 4) != limits
        node.sim.control("fault read COS2/schemata errno EIO")
        node.start()
        wait_for(lambda: window(node, 4) == limits, "the frequencies")
        assert node.health()["status"] == "degraded"
