"""Adaptive frequencies: the real daemon on scripted counters of branches (tests/perf), and on the machine's own."""

import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from harness import DRIFT, Node, refusal, use_all_cpus, wait_for
from shared_node import emptied

use_all_cpus()
SAMPLE = {"core_ids": ["4", "5", "6", "7"], "cache": {"max": 2, "min": 2}, "pstate": {"ratio": 3.0, "monitoring": "on"}}
FASTEST, SLOWEST = 3_500_000, 800_000


class Branches:
    """What each CPU runs, as a percentage of branch misses to hits; None: it is idle."""

    def __init__(self, cpus):
        self.folder = tempfile.mkdtemp(prefix="nrd-counters-")
        self.percent = dict.fromkeys(cpus, 8.0)
        self.counts = {cpu: [2, 0, 0] for cpu in cpus}
        self.end = threading.Event()
        for cpu in cpus:
            self.write(cpu)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def write(self, cpu):
        fd = os.open(os.path.join(self.folder, str(cpu)), os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(fd, struct.pack("3Q", *[value % 2**64 for value in self.counts[cpu]]), 0)
        os.close(fd)

    def run(self):
        while not self.end.wait(0.02):
            for cpu, percent in self.percent.items():
                if percent is not None:
                    self.counts[cpu][1] += 10_000_000
                    self.counts[cpu][2] += int(10_000_000 * percent / (100 + percent))
                    self.write(cpu)

    def stop(self):
        self.end.set()
        self.thread.join()
        shutil.rmtree(self.folder)


@contextlib.contextmanager
def monitored(config="", **shape):
    branches = Branches(range(16))
    try:
        with Node(config, counters=branches.folder, **{"cpufreq": "intel_pstate", **shape}) as node:
            yield node, branches
    finally:
        branches.stop()


@pytest.fixture(scope="module")
def shared():
    with monitored(DRIFT) as (node, branches):
        node.branches = branches
        yield node


@pytest.fixture
def node(shared):
    """Its CPUs miss often when a test begins."""
    shared.branches.percent.update(dict.fromkeys(range(16), 8.0))
    yield from emptied(shared)


def pinned(node, cpu):
    freq = node.sim.freq()[str(cpu)]
    if "min" not in freq:
        return (freq["msr"]["0x199"] >> 8 & 0xff) * 100_000
    return freq["min"] if freq["min"] == freq["max"] else (freq["min"], freq["max"])


def test_the_operators_sample_gets_ways_and_frequencies_and_cpus_are_governed_separately(node):
    before = node.sim.freq()
    made = node.call("POST", "/v1/workloads", SAMPLE)
    assert made["pstate"] == {"ratio": 3, "monitoring": "on"} == made["plugins"]["pstate"]
    assert made["status"] == "Successful" and made["cos_name"] == "COS2"
    assert all(pinned(node, cpu) == FASTEST for cpu in range(4, 8))
    node.branches.percent[5] = 0.5
    wait_for(lambda: pinned(node, 5) == SLOWEST, "CPU 5 to go slow")
    assert pinned(node, 4) == pinned(node, 6) == FASTEST
    wait_for(lambda: node.call("GET", "/v1/pstate/5")["monitoring"]["decision"] == "minimum", "it to be published")
    shown = node.call("GET", "/v1/pstate/5")["monitoring"]
    assert shown["ratio_threshold"] == 3 and shown["decision"] == "minimum" and shown["transitions"] == 1
    assert 0.4 < shown["last_ratio"] < 0.6
    node.branches.percent[5] = 9.0
    wait_for(lambda: pinned(node, 5) == FASTEST, "CPU 5 to go fast")
    assert node.list()[0]["status"] == "Successful" and node.health()["drift_repairs"] == 0
    node.delete(made["id"])
    assert node.sim.freq() == before
    assert node.call("GET", "/v1/pstate/5")["monitoring"] is None


def test_it_moves_within_the_window_that_was_asked_for(node):
    node.call("POST", "/v1/workloads", {**SAMPLE, "pstate": {"ratio": 3, "min_ratio": 12, "max_ratio": 30}})
    assert pinned(node, 4) == 3_000_000
    node.branches.percent[4] = 1.0
    wait_for(lambda: pinned(node, 4) == 1_200_000, "CPU 4 to go slow")


def test_noise_and_idle_cpus_move_nothing(node):
    node.call("POST", "/v1/workloads", SAMPLE)
    node.branches.percent[4], node.branches.percent[5] = 2.9, None
    time.sleep(2)
    assert pinned(node, 4) == pinned(node, 5) == FASTEST
    assert node.call("GET", "/v1/pstate/4")["monitoring"]["transitions"] == 0


def test_it_goes_on_after_kill_9_and_ends_with_monitoring_off(node):
    id = node.call("POST", "/v1/workloads", SAMPLE)["id"]
    node.kill9()
    node.branches.percent[4] = 1.0
    node.start()
    wait_for(lambda: pinned(node, 4) == SLOWEST, "CPU 4 to go slow")
    patched = node.call("PATCH", f"/v1/workloads/{id}", {"pstate": {"ratio": 3.0, "monitoring": "off"}})
    assert patched["status"] == "Successful" and all(pinned(node, cpu) == (SLOWEST, FASTEST) for cpu in range(4, 8))
    again = node.call("GET", f"/v1/workloads/{id}")
    assert node.call("PATCH", f"/v1/workloads/{id}", again) == again


def test_a_cpu_that_goes_offline_and_returns_is_monitored_again(node):
    node.call("POST", "/v1/workloads", SAMPLE)
    node.sim.control("offline 5")
    wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a check")
    node.branches.percent[5] = 1.0
    node.sim.control("online 5")
    wait_for(lambda: pinned(node, 5) == SLOWEST, "CPU 5 to go slow")


def test_a_failed_write_grants_neither_cache_nor_frequency(node):
    node.sim.control("reset")
    created = node.call("POST", "/v1/workloads", SAMPLE)
    writes = node.sim.writes()
    assert writes >= 5
    node.delete(created["id"])
    frequencies, ways = node.sim.freq(), node.plain()
    for n in range(1, writes + 1):
        node.sim.control("reset")
        node.sim.control(f"fault write {n} errno EIO")
        assert refusal(node.call, "POST", "/v1/workloads", SAMPLE).status == 500
        assert node.sim.freq() == frequencies and node.plain() == ways and node.list() == [], n


def test_one_ratio_at_a_time_is_enough_for_it():
    with monitored(cpufreq="none", msr="perf") as (node, branches):
        node.call("POST", "/v1/workloads", {"core_ids": ["4"], "pstate": {"ratio": 3}})
        assert pinned(node, 4) == FASTEST
        branches.percent[4] = 1.0
        wait_for(lambda: pinned(node, 4) == SLOWEST, "CPU 4 to go slow")


def test_with_the_counters_of_this_machine():
    counted = subprocess.run(["/usr/bin/perf", "stat", "-e", "branches,branch-misses", "true"], capture_output=True, text=True) \
        if os.path.exists("/usr/bin/perf") else None
    if counted is None or counted.returncode != 0 or "not supported" in counted.stderr:
        pytest.skip("this machine's perf has no hardware counters of branches: the real run is SKIPPED")
    loops = {"branchy": "import random\nwhile True: random.random() < 0.5 and abs(1)", "straight": "while True: pass"}
    with Node(cpufreq="intel_pstate", cpus=len(os.sched_getaffinity(0))) as node:
        node.call("POST", "/v1/workloads", {"core_ids": ["0"], "pstate": {"ratio": 1.0}})
        ratios = {}
        for name, code in loops.items():
            with subprocess.Popen([sys.executable, "-c", code], preexec_fn=lambda: os.sched_setaffinity(0, {0})) as loop:
                try:
                    time.sleep(2)
                    ratios[name] = node.call("GET", "/v1/pstate/0")["monitoring"]["last_ratio"]
                finally:
                    loop.kill()
        assert ratios["branchy"] > ratios["straight"], ratios


# What must not be lost, left behind or said wrongly

ON = {"ratio": 3.0, "monitoring": "on"}
NEVER = "[drift]\ninterval_seconds = 3600\n"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"


def monitor(node, cpus, **more):
    return node.call("POST", "/v1/workloads", {"core_ids": [cpus], "pstate": {**ON, **more}})


def test_cpus_of_one_domain_share_the_highest_requested_frequency():
    with monitored(DRIFT, cpufreq="acpi-cpufreq", freq_domain="core") as (node, branches):
        before = node.sim.freq()
        made = monitor(node, "4-5")
        branches.percent[4] = 0.5
        wait_for(lambda: node.call("GET", "/v1/pstate/4")["monitoring"]["transitions"] == 1, "CPU 4 to ask for slow")
        shown = node.call("GET", "/v1/pstate/4")["monitoring"]
        assert shown["decision"] == "maximum" and pinned(node, 4) == pinned(node, 5) == FASTEST
        branches.percent[5] = 0.5
        wait_for(lambda: pinned(node, 4) == pinned(node, 5) == SLOWEST, "both to go slow")
        wait_for(lambda: node.health()["status"] == "ok" and node.list()[0]["status"] == "Successful", "a check")
        assert node.health()["drift_repairs"] == 0
        node.delete(made["id"])
        assert node.sim.freq() == before


def test_nothing_is_moved_before_it_is_claimed():
    with monitored("[drift]\ninterval_seconds = 3\n") as (node, branches):
        before = node.sim.freq()
        id = monitor(node, "4")["id"]
        branches.percent[4] = 0.5
        node.kill9()
        node.sim.control("wipe")
        node.sim.control("fault read /sys/devices/system/cpu/cpufreq/policy4/scaling_max_freq errno EIO")
        node.start()
        wait_for(lambda: pinned(node, 4) == SLOWEST, "a move")
        node.delete(id)
        assert node.sim.freq() == before


def test_where_turbo_is_off_fast_is_the_base_frequency():
    with monitored(DRIFT) as (node, branches):
        monitor(node, "5")
        node.sim.write(NO_TURBO, "1\n")
        wait_for(lambda: node.call("GET", "/v1/pstate")["turbo"] is False, "a check")
        assert monitor(node, "4")["status"] == "Successful" and pinned(node, 4) == 2_200_000
        wait_for(lambda: node.health()["status"] == "ok" and pinned(node, 5) == 2_200_000, "the other to follow")


def test_a_cpu_that_goes_while_it_moves_does_not_count():
    with monitored(DRIFT) as (node, branches):
        monitor(node, "4-5")
        node.sim.control("offline 5")
        branches.percent[5] = branches.percent[4] = 0.5
        wait_for(lambda: pinned(node, 4) == SLOWEST, "a move")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a check")
        assert node.list()[0]["status"] == "Successful"


def test_a_new_workload_begins_fast_where_another_was_slow():
    with monitored(NEVER) as (node, branches):
        id = monitor(node, "4")["id"]
        branches.percent[4] = 0.5
        wait_for(lambda: pinned(node, 4) == SLOWEST, "the first to go slow")
        node.delete(id)
        id = monitor(node, "4", ratio=0.01)["id"]
        assert pinned(node, 4) == FASTEST
        wait_for(lambda: node.call("GET", "/v1/pstate/4")["monitoring"]["decision"] == "maximum", "a sample")
        assert node.call("GET", "/v1/pstate/4")["monitoring"]["transitions"] == 0


def test_a_cpu_without_counters_is_refused_and_reported_when_it_appears_later():
    with monitored(DRIFT) as (node, branches):
        branches.percent.pop(5)
        os.unlink(os.path.join(branches.folder, "5"))
        refused = refusal(monitor, node, "5")
        assert refused.status == 422 and "the branches of CPU 5 cannot be counted now" in refused.text
        monitor(node, "6")
        node.kill9()
        node.counters = None
        node.start()
        wait_for(lambda: node.list()[0]["status"] == "Failed", "it to be told")
        assert "BRANCHES_NOT_COUNTED" in node.journal()


def test_one_bound_bounds_one_side(node):
    monitor(node, "4", max_ratio=20)
    assert pinned(node, 4) == 2_000_000
    node.branches.percent[4] = 0.5
    wait_for(lambda: pinned(node, 4) == SLOWEST, "it to go slow")


def test_a_threshold_that_is_only_kept_is_shown_and_must_make_sense():
    with monitored(NEVER) as (node, branches):
        before = node.sim.freq()
        off = {"ratio": 3, "monitoring": "off"}
        assert refusal(node.call, "POST", "/v1/workloads", {"core_ids": ["4"], "pstate": {**off, "governor": "nonsense"}})
        node.call("POST", "/v1/workloads", {"core_ids": ["4"], "pstate": off})
        assert node.call("GET", "/v1/pstate/4")["monitoring"] == {
            "monitoring": "off", "ratio_threshold": 3, "last_ratio": None, "decision": None, "transitions": 0}
        assert node.sim.freq() == before
        assert "/pstate/monitoring: requires ratio" in refusal(node.call, "PATCH", "/v1/workloads/1", {"pstate": {"monitoring": "on"}}).text


@pytest.mark.parametrize("fault", ["errno EIO", "lie"])
def test_a_failed_frequency_change_is_retried_and_not_counted_as_drift(node, fault):
    before = node.sim.freq()
    id = monitor(node, "4-5")["id"]
    node.sim.control("reset")
    node.sim.control(f"fault write 2 {fault}")
    node.branches.percent[4] = node.branches.percent[5] = 0.5
    wait_for(lambda: pinned(node, 4) == pinned(node, 5) == SLOWEST, "both to go slow")
    wait_for(lambda: node.health()["status"] == "ok", "a check")
    assert node.health()["drift_repairs"] == 0
    node.delete(id)
    assert node.sim.freq() == before


@pytest.mark.parametrize("shape", [{"cpufreq": "none", "msr": "amd"}, {"cpufreq": "none", "msr": "hwp"},
                                   {"cpufreq": "acpi-cpufreq", "freq_step": 700},
                                   {"cpufreq": "amd-pstate", "freq_min": 550, "freq_max": 3675}],
                         ids=["amd", "hwp", "table", "odd"])
def test_it_moves_in_whatever_way_the_cpu_is_set(shape):
    with monitored(DRIFT, **shape) as (node, branches):
        before = node.sim.freq()
        id = monitor(node, "4")["id"]
        branches.percent[4] = 0.5
        wait_for(lambda: node.call("GET", "/v1/pstate/4")["monitoring"]["decision"] == "minimum", "a move")
        branches.percent[4] = 9
        wait_for(lambda: node.call("GET", "/v1/pstate/4")["monitoring"]["transitions"] == 2, "the move back")
        wait_for(lambda: node.health()["status"] == "ok", "a check")
        node.delete(id)
        assert node.sim.freq() == before
