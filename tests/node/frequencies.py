"""Requests for frequencies, and what the simulated node reports of them."""

from harness import refusal

WINDOW = {"min_ratio": 12, "max_ratio": 30}
BOTH = {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}, "pstate": WINDOW}
DEFAULT = {"min": 800_000, "max": 3_500_000}
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
MAX_PERCENT = "/sys/devices/system/cpu/intel_pstate/max_perf_pct"
SCALING_MAX = "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_max_freq"


def window(node, cpu):
    freq = node.sim.freq()[str(cpu)]
    return {key: freq[key] for key in ("min", "max")}


def post(node, pstate, cores=("4-5",), **more):
    return node.call("POST", "/v1/workloads", {"core_ids": list(cores), "pstate": pstate, **more})


def refused_window(node, pstate, cores=("4-5",), **more):
    before = node.sim.freq()
    refused = refusal(post, node, pstate, cores, **more)
    assert node.sim.freq() == before and node.list() == []
    return refused
