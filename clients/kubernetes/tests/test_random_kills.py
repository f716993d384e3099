"""kill -9 of the node's programs at random moments while pods come and go.

NRD_KUBE_KILLS is their number, and NRD_KUBE_SEED the seed that a failure has named.
"""

import os
import random
import time

import pytest

from processes import wait_for
from test_failures import PROGRAMS, restart
from test_ways import WAYS, await_no_workloads

KILLS = int(os.environ.get("NRD_KUBE_KILLS", "20"))
SEED = int(os.environ.get("NRD_KUBE_SEED", random.SystemRandom().randrange(1_000_000)))
LONGEST_PAUSE = 1.5  # seconds between a request and the kill: kubelet has a container created and started in this time


def grants(worker):
    """Name of the pod and whether all of its processes are in the class, of each workload."""
    return {workload["labels"]["pod"]: worker.processes_of(workload) <= worker.tasks_of(workload) for workload in worker.workloads()}


def running(cluster):
    """Names of the pods whose container runs."""
    pods = [pod for pod in cluster.api.list("Pod") if pod["status"]["phase"] == "Running"]
    return {pod["metadata"]["name"] for pod in pods if all("running" in each["state"] for each in pod["status"].get("containerStatuses", [{"state": {}}]))}


def has_kubelet(worker):
    """It ends by itself if the runtime dies while it starts, and is started again as by a service manager."""
    if not worker.kubelet.runs():
        worker.kubelet.start()
    return True


def assert_level(cluster, worker):
    """Each running container has its grant, and each grant has a running container."""
    wait_for(lambda: has_kubelet(worker) and grants(worker) == dict.fromkeys(running(cluster), True), f"equal grants and containers: {worker.workloads()}", 90)


def await_end_of_start(cluster, worker, name):
    """It runs, or kubelet has failed it for good, as it does with pods that are placed while a plugin is away."""
    def has_ended():
        return has_kubelet(worker) and (name in running(cluster) or cluster.api.get("Pod", name)["status"]["phase"] == "Failed")
    try:
        wait_for(has_ended, f"pod {name} to run or fail", 120)
    except AssertionError as error:
        raise AssertionError(f"{error}; its events: {cluster.api.events(name)}") from None


@pytest.fixture
def steady(cluster, worker):
    """Fails unless a container that has run all the time is as it was."""
    worker.await_devices()
    before = cluster.run_pod("steady", limits={WAYS: 1})["status"]["containerStatuses"][0]
    processes = worker.waiting_processes_of(worker.workload_of("steady"))

    def assert_untouched():
        after = cluster.api.get("Pod", "steady")["status"]["containerStatuses"][0]
        if after["restartCount"] != before["restartCount"]:
            of_it = [line for line in worker.containerd.text().splitlines() if before["containerID"][-64:-52] in line or "shim" in line]
            raise AssertionError("\n".join([f"it was started again: {after}", *of_it[-30:]]))
    yield assert_untouched
    assert_untouched()
    assert worker.processes_of(worker.workload_of("steady")) == processes
    cluster.delete_pod("steady", grace=0)
    await_no_workloads(worker)
    worker.await_devices()


def test_random_kills_leave_grants_and_containers_equal(cluster, worker, steady):
    chance = random.Random(SEED)
    for number in range(KILLS):
        name = f"pod-{number}"
        victims = chance.choice([*([each] for each in PROGRAMS), PROGRAMS])
        is_stop = chance.random() < 0.5
        print(f"seed {SEED}, kill {number}: {victims} while a pod {'ends' if is_stop else 'starts'}", flush=True)
        cluster.create_pod(name, limits={WAYS: chance.randint(1, 4)})
        if is_stop:
            await_end_of_start(cluster, worker, name)
            cluster.api.delete("Pod", name)
        time.sleep(chance.uniform(0, LONGEST_PAUSE))
        restart(worker, *victims)
        if not is_stop:
            await_end_of_start(cluster, worker, name)
            assert_level(cluster, worker)
            cluster.api.delete("Pod", name, grace=0)
        wait_for(lambda name=name: has_kubelet(worker) and cluster.api.find("Pod", name) is None, f"pod {name} to be gone")
        assert_level(cluster, worker)
        steady()
