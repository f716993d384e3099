"""What the node role costs: memory, and time until a pod runs."""

import os
import time

import pytest

from settings import RELEASED
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
