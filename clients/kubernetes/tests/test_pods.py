"""Pods as controllers and people make and end them: each gets its ways, and gives them back."""

import json
import os

import pytest

from processes import wait_for
from test_costs import MOST_RESIDENT, resident
from test_ways import WAYS, await_no_workloads

PODS = int(os.environ.get("NRD_KUBE_PODS", "50"))  # of the Job
AT_ONCE = 5
MOST_GROWTH = 10  # MB resident, from the first fifth of the Job's pods to the last
pytestmark = pytest.mark.usefixtures("devices")


def test_a_pod_deleted_while_it_is_pending_has_taken_nothing(cluster, worker):
    cluster.run_pod("first", limits={WAYS: 5})
    cluster.create_pod("second", limits={WAYS: 1})
    cluster.await_event("second", f"Insufficient {WAYS}")
    cluster.delete_pod("second")
    cluster.run_pod("third")
    assert [each["labels"]["pod"] for each in worker.workloads()] == ["first"]


def test_a_forced_deletion_gives_the_ways_back(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 5}, terminationGracePeriodSeconds=60, script="trap '' TERM; while :; do sleep 1; done")
    cluster.delete_pod("feed", grace=0)
    cluster.run_pod("next", limits={WAYS: 5})
    assert [each["labels"]["pod"] for each in worker.workloads()] == ["next"]


def test_pods_of_one_name_in_two_namespaces_have_a_class_each(cluster, worker):
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    wait_for(lambda: cluster.api.find("ServiceAccount", "default", "other"), "the namespace's service account")
    cluster.run_pod("feed", limits={WAYS: 2})
    cluster.run_pod("feed", limits={WAYS: 3}, namespace="other")
    assert {each["labels"]["namespace"]: each["cache"]["max"] for each in worker.workloads()} == {"default": 2, "other": 3}
    cluster.delete_pod("feed", "other")
    wait_for(lambda: [each["labels"]["namespace"] for each in worker.workloads()] == ["default"], "the other's ways to be free")
    cluster.api.delete("Namespace", "other")


def test_a_static_pod_has_its_ways_while_its_file_is_there(cluster, worker):
    """The API server has only a mirror of it, and never placed it."""
    name, file = f"feed-{worker.name}", f"{worker.folder}/static/feed.json"
    worker.place.write(file, json.dumps(cluster.pod("feed", cluster.container(limits={WAYS: 2}))))
    cluster.await_running(name)
    workload = worker.workload_of(name)
    assert workload["cache"] == {"max": 2, "min": 2} and worker.processes_of(workload) <= worker.tasks_of(workload)
    assert worker.place.run("rm", file).returncode == 0
    cluster.await_gone(name)
    await_no_workloads(worker)


def test_a_drained_node_has_no_grants_and_takes_pods_again(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    cluster.kubectl("drain", worker.name, "--force", "--ignore-daemonsets")
    await_no_workloads(worker)
    cluster.create_pod("next", limits={WAYS: 5})
    cluster.await_event("next", "unschedulable")
    cluster.kubectl("uncordon", worker.name)
    cluster.await_running("next")


def usage(worker):
    """Resident megabytes and open files of nrd and of its client."""
    processes = {"nrd": worker.nrd.pid, "client": worker.client.pid}
    return {name: (resident(pid), len(os.listdir(f"/proc/{pid}/fd"))) for name, pid in processes.items()}


def run_job(cluster, worker, resource=WAYS, pods=PODS, at_once=AT_ONCE):
    """Of many pods, each of which takes what the one before it had. Returns the usage after it."""
    # A Job fails with its first pod, and kubelet refuses pods until it has the devices of a new program or pool.
    cluster.run_pod("first", limits={resource: 1})
    cluster.delete_pod("first")
    await_no_workloads(worker)
    groups = set(worker.groups())
    template = {"metadata": {"labels": {"job": "many"}},
                "spec": {"hostNetwork": True, "restartPolicy": "Never", "containers": [cluster.container(script="exit 0", limits={resource: 1})]}}
    cluster.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "many"},
                        "spec": {"completions": pods, "parallelism": at_once, "backoffLimit": 0, "template": template}})

    def succeeded():
        status = cluster.api.get("Job", "many")["status"]
        if status.get("failed"):
            # Above an Exception, so that no wait goes on: a Job ends with its first failed pod.
            pytest.fail(str([pod["status"] for pod in cluster.api.list("Pod") if pod["status"]["phase"] == "Failed"]))
        return status.get("succeeded", 0)
    wait_for(lambda: succeeded() >= pods // 5, "the first pods", 60 + 4 * pods)
    before = usage(worker)
    wait_for(lambda: succeeded() == pods, "all pods", 60 + 8 * pods)
    await_no_workloads(worker)
    after = usage(worker)
    print(before, after)
    assert set(worker.groups()) == groups
    for name in before:
        assert after[name][0] < before[name][0] + MOST_GROWTH and after[name][1] < before[name][1] + AT_ONCE, (before, after)
    cluster.api.delete("Job", "many")
    wait_for(lambda: cluster.api.find("Job", "many") is None, "the Job to be gone")
    return after


def test_a_job_of_many_pods_leaves_nothing_behind(cluster, worker):
    run_job(cluster, worker)


def test_the_released_program_is_small_after_many_pods(cluster, worker, released_client):
    worker.await_devices()
    assert run_job(cluster, worker)["client"][0] < MOST_RESIDENT
