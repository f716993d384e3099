"""One cluster with one worker for all tests of a run; each test leaves it as it was."""

import os
import time

import pytest

from cluster import Cluster
from places import InMachine
from processes import wait_for
from settings import RELEASED


@pytest.fixture(scope="session")
def cluster():
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_worker(cluster):
    driver = os.environ.get("NRD_KUBE_VM")  # of cgroups
    worker = cluster.add_worker("node-a", place=InMachine(cluster, "node-a", driver) if driver else None)
    cluster.seconds_until_up = time.monotonic() - cluster.began
    return worker


@pytest.fixture
def worker(cluster, shared_worker):
    yield shared_worker
    for pod in cluster.api.list("Pod"):
        cluster.delete_pod(pod["metadata"]["name"], grace=0)
    wait_for(lambda: not shared_worker.workloads(), "the workloads of the test to go")


@pytest.fixture
def devices(worker):
    worker.await_devices()


@pytest.fixture
def released_client(worker):
    """nrd-kube without the race detector, which needs memory of its own."""
    former = worker.client
    former.kill9()
    worker.make_client(program=RELEASED)
    worker.client.start()
    yield worker.client
    worker.client.kill9()
    worker.client = former
    worker.client.start()


@pytest.fixture(scope="module")
def kinds(cluster, shared_worker):
    cluster.deploy()
    wait_for(lambda: cluster.api.list("RmdWorkload") == [], "the kinds to be served")
    # One that has found no such kind looks again after up to a minute.
    shared_worker.client.kill9()
    shared_worker.client.start()
