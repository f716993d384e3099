"""Interrupts, workqueues, the watchdog and idle states of a pool's CPUs on a real kernel, and what the check finds."""

import re
from collections import Counter

import pytest

from pool_node import LONG, PoolNode, pooled
from rdt_node import started
from masks import cpus_of
from shape import Shape

pytestmark = LONG

CONFIG = pooled("0-1", "2-7", drift=1)
QUIET = CONFIG + "low_noise = true\nlatency_us = 0\n"
OS, POOL, ALL = {0, 1}, set(range(2, 8)), set(range(8))
WATCHDOG = "/proc/sys/kernel/watchdog_cpumask"
TRACING = "/sys/kernel/tracing"


class NoiseNode(PoolNode):
    def places(self):
        """What may run where, by file: CPUs, or the limit of idle states."""
        script = ("for f in /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity /sys/devices/virtual/workqueue/cpumask"
                  f" {WATCHDOG} /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us; do echo $f $(cat $f); done")
        lines = (line.split() for line in self.vm.run(script).stdout.splitlines())
        return {path: self.value_of(path, value) for path, value in lines}

    @staticmethod
    def value_of(path, text):
        if path.endswith("latency_us"):
            return text
        if path.endswith(("affinity_list", "watchdog_cpumask")):
            return cpus_of(text)
        mask = int(text.replace(",", ""), 16)
        return {cpu for cpu in ALL if mask >> cpu & 1}

    def restart(self, config):
        self.config = config
        self.start()


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(NoiseNode, tmp_path_factory, CONFIG, start=False, cpu=Shape()) as node:
        yield node


def latency(places):
    return {path: value for path, value in places.items() if path.endswith("latency_us")}


def movable(places):
    return {path: value for path, value in places.items() if not path.endswith("latency_us")}


def limits_of(granted, before):
    return {path: "n/a" if int(path.split("/cpu")[2].split("/")[0]) in granted else value for path, value in before.items()}


def test_noise_leaves_the_pool_stays_away_through_kill_9_and_returns_with_the_key(node):
    before = node.places()
    immovable = {path for path, value in movable(before).items() if not value & POOL}
    node.restart(QUIET)
    during = node.places()
    assert latency(during) == latency(before)  # nothing is granted yet
    stayed = {path: value for path, value in movable(during).items() if value & POOL}
    # What is left refuses: the kernel says so again.
    for path in stayed:
        assert path.endswith("smp_affinity_list"), (path, stayed)
        with pytest.raises(OSError):
            node.vm.write(path, "0-1\n")
    moved = {path for path, value in movable(during).items() if before[path] != value}
    assert {"/proc/irq/default_smp_affinity", "/sys/devices/virtual/workqueue/cpumask", WATCHDOG} <= moved, moved
    assert any(path.endswith("smp_affinity_list") for path in moved), (before, during)
    assert all(during[path] == before[path] for path in immovable)

    process, workload = node.launch("--pool", "fast", "--count", "2")
    granted = cpus_of(workload["cpu"]["exclusive"])
    assert latency(node.places()) == limits_of(granted, latency(before))
    node.kill9()
    assert movable(node.places()) == movable(during) and latency(node.places()) == limits_of(granted, latency(before))
    node.start()
    assert movable(node.places()) == movable(during) and latency(node.places()) == limits_of(granted, latency(before))
    # Others change it: drift.
    node.vm.write("/proc/irq/default_smp_affinity", "ff\n")
    node.vm.wait_until(lambda: movable(node.places()) == movable(during), timeout=60, what="the repair")

    node.kill9()
    node.restart(CONFIG)  # without the keys
    assert node.places() == before
    process.kill()
    process.wait()
    node.wait_for_none()
    assert node.places() == before
    node.kill9()


def test_the_limit_of_idle_states_ends_with_the_workload(node):
    node.restart(QUIET)
    before = latency(node.places())
    process, workload = node.launch("--pool", "fast", "--count", "1")
    assert latency(node.places()) == limits_of(cpus_of(workload["cpu"]["exclusive"]), before) != before
    process.kill()
    process.wait()
    node.wait_for_none()
    assert latency(node.places()) == before
    node.kill9()


def test_the_check_finds_bound_threads_and_the_tick(node):
    node.restart(QUIET)
    places = node.places()
    found = {each["source"]: each for each in node.get("/v1/cpus/pools/fast/check")["disturbances"]}
    assert cpus_of(found["tick"]["cpus"]) == POOL and "nohz_full=2-7" in found["tick"]["remedy"], found
    bound = [each for each in node.get("/v1/cpus/pools/fast/check")["disturbances"] if each["source"] == "bound_threads"]
    assert cpus_of(*(each["cpus"] for each in bound)) == POOL and "migration" in str(bound), bound
    assert not {"new_interrupts", "workqueues", "watchdog"} & set(found), found
    assert node.places() == places
    node.kill9()


def test_drift_checks_interrupt_no_cpu_without_a_frequency(node):
    """intel_pstate reads IA32_HWP_CAPABILITIES for base_frequency and IA32_HWP_REQUEST for the preference, on the CPU itself."""
    node.restart(CONFIG)
    workload = node.post("2-3", pstate={"min_ratio": 10, "max_ratio": 20})
    node.vm.run(f"mountpoint -q {TRACING} || mount -t tracefs tracefs {TRACING}; echo 1 > {TRACING}/events/msr/read_msr/enable")

    def reads():
        return Counter(int(cpu) for cpu in re.findall(r"\[(\d+)\].*: read_msr: 77[14],", node.vm.run(["cat", f"{TRACING}/trace"]).stdout))

    node.vm.wait_until(lambda: min(reads()[2], reads()[3]) >= 3, timeout=60, what="three checks")
    node.vm.write(f"{TRACING}/events/msr/read_msr/enable", "0\n")
    assert set(reads()) == {2, 3}, reads()
    node.delete(workload)
    node.kill9()
