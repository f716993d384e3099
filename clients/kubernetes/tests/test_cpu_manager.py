"""Kubelet's own CPU manager with its policy "static": nrd's default pool leaves the containers alone whose CPUs it chooses, and it
changes none that have CPUs of another pool."""

import json
import time

import pytest

from processes import wait_for
from test_processes import DEFAULT_POOL, EXCLUSIVE, SHARED, allowed, process_of
from test_ways import WAYS, await_no_workloads

GUARANTEED = {"cpu": 1, "memory": "64Mi"}  # of this kind of pods alone a container gets a CPU of its own
EXCLUSIVE_CPU, SHARED_CPU = "1", "0"  # kubelet's, of the host's two first; nrd's default pool is CPU 0


def restart_kubelet(worker, **config):
    """It refuses its own notes after a change of the policy."""
    worker.kubelet.kill9()
    assert worker.place.run("rm", "-f", f"{worker.folder}/kubelet/cpu_manager_state").returncode == 0
    worker.place.kubelet = config
    worker.make_kubelet()
    worker.kubelet.start()
    worker.await_devices()


@pytest.fixture
def placing(cluster, worker):
    before = worker.place.kubelet
    worker.reconfigure(DEFAULT_POOL)
    restart_kubelet(worker, **before, cpuManagerPolicy="static", reservedSystemCPUs=SHARED_CPU, cpuManagerReconcilePeriod="1s")
    yield worker
    cluster.delete_pod("own", grace=0)
    await_no_workloads(worker)
    restart_kubelet(worker, **before)
    worker.reconfigure("")


def restart_client(worker):
    """Its first comparison deletes a grant without a container before it looks at CPUs."""
    worker.client.kill9()
    stray = {"cgroup": "/stray", "owner": {"cgroup": True, "within_seconds": 300}, "cpu": {"pool": "common", "enforce": "runtime"}}
    status, text = worker.place.request(worker.socket_of_client, "PUT", "/v1/workloads/k8s.stray.main", json.dumps(stray))
    assert status < 300, text
    worker.client.start()
    wait_for(lambda: "k8s.stray.main" not in [each["id"] for each in worker.workloads()], "the comparison")


@pytest.mark.parametrize("limits", [GUARANTEED, {**GUARANTEED, WAYS: 2}], ids=["plain", "ways"])
def test_a_container_keeps_the_cpu_of_kubelets_cpu_manager(cluster, placing, limits):
    """As it starts, and when nrd-kube finds it running."""
    process = process_of(cluster.run_pod("own", limits=limits))
    assert allowed(process) == EXCLUSIVE_CPU
    restart_client(placing)
    for _ in range(20):
        time.sleep(0.1)
        assert allowed(process) == EXCLUSIVE_CPU
    if WAYS in limits:
        workload = placing.workload_of("own")
        assert workload["cache"] == {"max": 2, "min": 2} and placing.processes_of(workload) <= placing.tasks_of(workload)


@pytest.mark.parametrize(("resource", "amount", "cpus"), [(EXCLUSIVE, 1, "1"), (SHARED, 500, "0")], ids=["exclusive", "shared"])
def test_a_container_keeps_the_cpus_of_its_pool(cluster, placing, resource, amount, cpus):
    """Kubelet's CPU manager gives it all of the host soon after it has started, as it does with each container of its kind."""
    placing.await_allocatable(resource, amount if resource == EXCLUSIVE else 1000)
    process = process_of(cluster.run_pod("own", limits={resource: amount}))
    for _ in range(50):
        time.sleep(0.1)
        assert allowed(process) == cpus
