"""Cache ways of containers."""

import os

import pytest

from processes import wait_for
from settings import NRDCTL

WAYS = "intel.com/l3_cache_ways"
pytestmark = pytest.mark.usefixtures("devices")


def ways_of(mask):
    return int(mask, 16).bit_count()


def await_no_workloads(worker):
    wait_for(lambda: worker.workloads() == [], "the workloads to be gone")


def test_a_pod_runs_in_a_class_with_its_ways_and_the_class_goes_with_it(cluster, worker):
    before = worker.groups()
    cluster.run_pod("feed", limits={WAYS: 2})
    workload = worker.workload_of("feed")
    assert (workload["origin"], workload["labels"]["namespace"], workload["cache"]) == ("kubernetes", "default", {"max": 2, "min": 2})
    group = worker.groups()[workload["cos_name"]]
    granted = {cache: ways["mask"] for cache, ways in workload["granted_ways"].items()}
    assert granted and {cache: group["L3"][cache] for cache in granted} == granted
    assert all(ways_of(mask) == 2 for mask in granted.values())
    assert worker.processes_of(workload) and worker.processes_of(workload) <= worker.tasks_of(workload)
    cluster.delete_pod("feed")
    await_no_workloads(worker)
    assert set(worker.groups()) == set(before)


@pytest.mark.skipif("NRD_KUBE_VM" in os.environ, reason="the simulated kernel's log is the witness")
def test_the_class_is_there_before_the_first_instruction(cluster, worker):
    """Each start of the program is one child of runc, which waits in the class: no process of the cgroup was ever outside."""
    worker.sim.control("reset")
    cluster.run_pod("feed", limits={WAYS: 2})
    workload = worker.workload_of("feed")
    first = int(workload["labels"]["process"])
    writes = [each for each in worker.sim.log() if str(first) in str(each)]
    assert writes, worker.sim.log()
    assert first in worker.tasks_of(workload)


def test_a_process_of_kubectl_exec_is_in_the_class_after_the_next_scan(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    workload = worker.workload_of("feed")
    before = worker.waiting_processes_of(workload)
    inside = worker.ctr("tasks", "exec", "--exec-id", "more", "--detach", worker.container_of(workload), "sleep", "1000")
    assert inside.returncode == 0, inside.stderr
    wait_for(lambda: worker.processes_of(workload) - before, "the process")
    wait_for(lambda: worker.processes_of(workload) <= worker.tasks_of(workload), "the process to be in the class")


def test_more_than_the_node_has_stays_pending(cluster, worker):
    cluster.create_pod("big", limits={WAYS: 6})
    cluster.await_event("big", f"Insufficient {WAYS}")
    assert worker.workloads() == []


def test_two_containers_of_a_pod_have_a_class_each(cluster, worker):
    cluster.api.create(cluster.pod("two", cluster.container("a", limits={WAYS: 1}), cluster.container("ab", limits={WAYS: 2}),
                                   annotations={"ab_cache_min": "1"}))
    cluster.await_running("two")
    assert worker.workload_of("two", "a")["cache"] == {"max": 1, "min": 1}
    assert worker.workload_of("two", "ab")["cache"] == {"max": 2, "min": 1}


def test_nrdctl_ways_names_the_pod(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    drawn = worker.place.run(NRDCTL, "--socket", worker.socket, "ways").stdout
    assert "container=main,namespace=default,pod=feed" in drawn, drawn


def test_a_sidecar_has_a_class_beside_that_of_the_container(cluster, worker):
    sidecar = cluster.container("side", limits={WAYS: 1}, restartPolicy="Always")
    cluster.api.create(cluster.pod("both", cluster.container(limits={WAYS: 2}), initContainers=[sidecar]))
    cluster.await_running("both")
    assert {each["labels"]["container"]: each["cache"]["max"] for each in worker.workloads()} == {"main": 2, "side": 1}


def test_the_other_container_of_a_pod_runs_when_one_is_refused(cluster, worker):
    cluster.api.create(cluster.pod("two", cluster.container("good", limits={WAYS: 1}), cluster.container("bad", limits={WAYS: 1}),
                                   annotations={"bad_cache_min": "1.5"}))
    cluster.await_event("two", "annotation bad_cache_min")
    workload = wait_for(lambda: worker.workload_of("two", "good"), "the other's grant")
    wait_for(lambda: worker.processes_of(workload) and worker.processes_of(workload) <= worker.tasks_of(workload), "its process in the class")
    assert worker.workload_of("two", "bad") is None


def test_an_annotation_that_cannot_be_read_keeps_the_container_from_starting(cluster, worker):
    cluster.create_pod("bad", limits={WAYS: 1}, annotations={"main_cache_min": "1.5"})
    cluster.await_event("bad", 'annotation main_cache_min: "1.5" is not a whole number')
    assert worker.workloads() == []


def test_a_container_that_crashes_gets_its_ways_again(cluster, worker):
    cluster.create_pod("crash", limits={WAYS: 2}, script="sleep 1; exit 1")
    wait_for(lambda: cluster.api.get("Pod", "crash")["status"].get("containerStatuses", [{}])[0].get("restartCount", 0) >= 2, "two restarts")
    assert len(worker.workloads()) <= 1
    cluster.delete_pod("crash")
    await_no_workloads(worker)


def test_an_init_container_gives_its_ways_to_the_next(cluster, worker):
    cluster.api.create(cluster.pod("init", cluster.container(limits={WAYS: 5}), initContainers=[cluster.container("first", script="sleep 1", limits={WAYS: 5})]))
    cluster.await_running("init")
    assert {each["labels"]["container"] for each in worker.workloads()} == {"main"}


def test_ways_that_others_hold_are_not_offered(cluster, worker):
    worker.call("POST", "/v1/workloads", {"core_ids": ["4"], "cache": {"max": 2, "min": 1}})  # best effort, not of the reserve
    cluster.run_pod("feed", limits={WAYS: 5})
    for each in worker.workloads():
        if each["origin"] != "kubernetes":
            worker.call("DELETE", f"/v1/workloads/{each['id']}")


def test_ways_of_an_rmd_workload_are_not_offered(cluster, kinds, worker):
    worker.await_devices()
    cluster.api.create({"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "held"},
                        "spec": {"nodes": [worker.name], "coreIds": ["4"], "cache": {"max": 2, "min": 2}}})
    try:
        worker.await_allocatable(WAYS, 3)
        cluster.create_pod("big", limits={WAYS: 4})
        cluster.await_event("big", f"Insufficient {WAYS}")
    finally:
        cluster.api.delete("RmdWorkload", "held")
    cluster.await_running("big")


def test_ways_that_go_before_the_container_is_created_are_awaited(cluster, kinds, worker):
    """Its pod is placed by then: an init container without ways runs first."""
    worker.await_devices()
    cluster.api.create(cluster.pod("late", cluster.container(limits={WAYS: 3}), initContainers=[cluster.container("first", script="sleep 10")]))
    wait_for(lambda: cluster.api.get("Pod", "late")["status"].get("initContainerStatuses", [{"state": {}}])[0]["state"].get("running"), "the init container")
    cluster.api.create({"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "held"},
                        "spec": {"nodes": [worker.name], "coreIds": ["4"], "cache": {"max": 4, "min": 4}}})
    try:
        wait_for(worker.workloads, "the workload that has the ways")
        cluster.await_event("late", "needs 3 contiguous ways on cache")
        assert worker.workload_of("late") is None
    finally:
        cluster.api.delete("RmdWorkload", "held")
    cluster.await_running("late")
    assert worker.workload_of("late")["cache"] == {"max": 3, "min": 3}


def test_without_a_free_class_no_ways_are_offered(cluster, worker):
    """Other programs have the classes. The container that runs keeps its own."""
    cluster.run_pod("feed", limits={WAYS: 2})
    made = []
    while worker.place.run(*worker.place.of_nrd("mkdir", f"/sys/fs/resctrl/other-{len(made)}")).returncode == 0:
        made.append(f"/sys/fs/resctrl/other-{len(made)}")
    try:
        worker.await_allocatable(WAYS, 2)
        cluster.create_pod("next", limits={WAYS: 1})
        cluster.await_event("next", f"Insufficient {WAYS}")
        assert [each["labels"]["pod"] for each in worker.workloads()] == ["feed"]
    finally:
        for group in made:
            worker.place.run(*worker.place.of_nrd("rmdir", group))
    cluster.await_running("next")


def test_a_pod_that_asks_for_nothing_needs_none_of_this(cluster, worker):
    worker.client.kill9()
    try:
        cluster.run_pod("plain")
    finally:
        worker.client.start()
    assert worker.workloads() == []
