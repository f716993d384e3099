"""RmdWorkloads that show the grants of containers. Nothing reads them."""

import os
import signal
import time

import pytest

from processes import wait_for
from test_ways import WAYS, await_no_workloads

NAME = "feed-rmd-workload-main"


@pytest.fixture(autouse=True)
def no_others(cluster, kinds, worker):
    worker.await_devices()
    yield
    for each in cluster.api.list("RmdWorkload"):
        cluster.api.delete("RmdWorkload", each["metadata"]["name"])


def await_shown(cluster, worker, name=NAME):
    def is_shown():
        found = cluster.api.find("RmdWorkload", name)
        return found and found.get("status", {}).get("workloadStates", {}).get(worker.name) and found
    return wait_for(is_shown, f"RmdWorkload {name} with its status")


def test_the_grant_of_a_container_is_shown_and_goes_with_its_pod(cluster, worker):
    pod = cluster.run_pod("feed", limits={WAYS: 2})
    shown = await_shown(cluster, worker)
    workload = worker.workload_of("feed")
    assert shown["metadata"]["labels"] == {"nrd.internal/automatic": worker.name}
    assert [(each["kind"], each["name"], each["uid"]) for each in shown["metadata"]["ownerReferences"]] == [("Pod", "feed", pod["metadata"]["uid"])]
    assert shown["spec"] == {"container": "main", "nodes": [worker.name], "rdt": {"cache": {"max": 2, "min": 2}}}
    state = shown["status"]["workloadStates"][worker.name]
    assert (state["response"], state["id"], state["cosName"], state["status"]) == ("Success: 200", workload["id"], workload["cos_name"], "Successful")
    assert len(worker.workloads()) == 1
    cluster.delete_pod("feed")
    await_no_workloads(worker)
    wait_for(lambda: cluster.api.find("RmdWorkload", NAME) is None, "the RmdWorkload to go")


def test_one_that_is_deleted_comes_back_and_the_container_keeps_its_ways(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    before = await_shown(cluster, worker)
    cluster.api.delete("RmdWorkload", NAME)
    wait_for(lambda: (cluster.api.find("RmdWorkload", NAME) or before)["metadata"]["uid"] != before["metadata"]["uid"], "another RmdWorkload")
    assert await_shown(cluster, worker)["spec"] == before["spec"]
    assert worker.workload_of("feed")["cache"] == {"max": 2, "min": 2}


def test_what_is_written_into_one_has_no_effect_and_does_not_stay(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    before = await_shown(cluster, worker)
    cluster.api.merge("RmdWorkload", NAME, {"spec": {"coreIds": ["4"], "rdt": {"cache": {"max": 3, "min": 3}}}})
    wait_for(lambda: (cluster.api.find("RmdWorkload", NAME) or {"spec": None})["spec"] == before["spec"], "the content of before")
    assert [each["cache"] for each in worker.workloads()] == [{"max": 2, "min": 2}]


def test_one_of_a_user_with_this_name_is_left_alone(cluster, worker):
    mine = {"nodes": ["elsewhere"], "coreIds": ["4"], "cache": {"max": 1, "min": 1}}
    cluster.api.create({"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": NAME}, "spec": mine})
    cluster.run_pod("feed", limits={WAYS: 2})
    cluster.run_pod("other", limits={WAYS: 2})
    await_shown(cluster, worker, "other-rmd-workload-main")
    found = cluster.api.get("RmdWorkload", NAME)
    assert found["spec"] == mine and "labels" not in found["metadata"]


def test_one_of_a_pod_that_ends_while_the_client_is_down_goes_when_it_is_back(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2}, restartPolicy="Never")
    await_shown(cluster, worker)
    pid = int(worker.workload_of("feed")["labels"]["process"])
    worker.client.kill9()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: cluster.api.get("Pod", "feed")["status"]["phase"] != "Running", "the container to end")
    assert cluster.api.find("RmdWorkload", NAME)
    worker.client.start()
    wait_for(lambda: cluster.api.find("RmdWorkload", NAME) is None, "the RmdWorkload to go")


def test_one_of_a_pod_that_is_deleted_with_force_does_not_come_back(cluster, worker):
    """Its container runs on while kubelet is away, and nrd still has the grant."""
    cluster.run_pod("feed", limits={WAYS: 2})
    await_shown(cluster, worker)
    worker.kubelet.kill9()
    try:
        cluster.delete_pod("feed", grace=0)
        wait_for(lambda: cluster.api.find("RmdWorkload", NAME) is None, "the garbage collector")
        for _ in range(30):
            time.sleep(0.1)
            assert cluster.api.find("RmdWorkload", NAME) is None
        assert worker.workload_of("feed")
    finally:
        worker.kubelet.start()
    await_no_workloads(worker)
