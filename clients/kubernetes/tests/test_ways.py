"""Cache ways of containers."""

import contextlib
import os

from processes import wait_for

WAYS = "intel.com/l3_cache_ways"


def ways_of(mask):
    return int(mask, 16).bit_count()


def processes_of(name):
    """Processes of a container, which has its name in its environment."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ") as file:
            if f"HOSTNAME={name}" in file.read().split("\0") or f"POD={name}" in file.read().split("\0"):
                found.add(int(pid))
    return found


def test_a_pod_runs_in_a_class_with_its_ways_and_the_class_goes_with_it(cluster, worker):
    worker.await_allocatable(WAYS, 5)
    before = worker.groups()
    cluster.run_pod("feed", limits={WAYS: 2})
    workload = worker.workload_of("feed")
    group = worker.groups()[workload["cos_name"]]
    granted = {cache: ways["mask"] for cache, ways in workload["granted_ways"].items()}
    assert granted and {cache: group["L3"][cache] for cache in granted} == granted
    assert all(ways_of(mask) == 2 for mask in granted.values())
    assert processes_of("feed") & {int(task) for task in group["tasks"]}, group
    cluster.delete_pod("feed")
    wait_for(lambda: worker.workloads() == [], "the workload to be gone")
    assert set(worker.groups()) == set(before)
