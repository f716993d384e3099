"""Cache ways of containers."""

from processes import wait_for

WAYS = "intel.com/l3_cache_ways"


def ways_of(mask):
    return int(mask, 16).bit_count()


def test_a_pod_runs_in_a_class_with_its_ways_and_the_class_goes_with_it(cluster, worker):
    worker.await_allocatable(WAYS, 5)
    before = worker.groups()
    cluster.run_pod("feed", limits={WAYS: 2})
    workload = worker.workload_of("feed")
    group = worker.groups()[workload["cos_name"]]
    assert [ways_of(mask) for mask in group["L3"].values()] == [2, 2]
    assert group["tasks"], group
    cluster.delete_pod("feed")
    wait_for(lambda: worker.workloads() == [], "the workload to be gone")
    assert set(worker.groups()) == set(before)
