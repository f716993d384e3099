"""What the node role costs: memory, and time until a pod runs."""

import os
import re
import time

import pytest

from processes import wait_for
from settings import DEPLOY, RELEASED
from test_ways import WAYS

MOST_PROGRAM = 32  # MB, the file: one import can bring all kinds of the API server (docs/dependencies.md)
MOST_RESIDENT = 40  # MB, of the program without the race detector
MOST_DELAY = 2.0  # seconds
MOST_START = 30  # seconds


@pytest.mark.skipif("NRD_KUBE_VM" in os.environ, reason="a virtual machine starts as well")
def test_a_cluster_with_a_node_is_up_within_half_a_minute(cluster, worker):
    print(cluster.seconds_until_up)
    assert cluster.seconds_until_up < MOST_START


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Rss:")) / 1024


def test_a_pod_with_ways_runs_within_two_seconds_of_one_without(cluster, worker, record_property):
    worker.await_devices()
    times = {}
    for name, limits in (("warm", {}), ("without", {}), ("with", {WAYS: 2})):
        began = time.monotonic()
        cluster.run_pod(name, limits=limits)
        times[name] = time.monotonic() - began
        cluster.delete_pod(name, grace=0)
    record_property("seconds", times)
    print(times)
    assert times["with"] < times["without"] + MOST_DELAY, times


def test_the_program_is_small():
    assert os.path.getsize(RELEASED) < MOST_PROGRAM * 2**20


def test_the_node_role_is_small(worker, released_client):
    worker.await_devices()
    size = resident(released_client.pid)
    print(size)
    assert size < MOST_RESIDENT, size


def test_the_node_role_connects_within_its_memory_where_containers_have_large_environments(cluster, worker, released_client, monkeypatch):
    """Such as of a namespace with thousands of services, whose addresses kubelet adds."""
    with open(f"{DEPLOY}/node.yaml") as file:
        text = file.read()
    monkeypatch.setenv("GOMEMLIMIT", re.search(r"GOMEMLIMIT, value: (\w+)", text)[1])
    environment = [{"name": f"VARIABLE_{number}", "value": "x" * 120_000} for number in range(7)]
    pods = [f"large-{number}" for number in range(36)]
    for name in pods:
        cluster.api.create(cluster.pod(name, cluster.container(env=environment)))
    for name in pods:
        cluster.await_running(name)
    released_client.kill9()
    released_client.start()
    wait_for(lambda: f"connected to the container runtime containers={len(pods)}" in released_client.text_since_start(), "the connection")
    with open(f"/proc/{released_client.pid}/status") as file:
        most = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024
    for name in pods:
        cluster.api.delete("Pod", name, grace=0)
    print(most)
    assert most < int(re.search(r"limits: {memory: (\d+)Mi}", text)[1]), most
