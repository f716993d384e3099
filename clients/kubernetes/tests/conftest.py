"""One cluster with one worker for all tests of a run; each test leaves it as it was."""

import pytest

from cluster import Cluster


@pytest.fixture(scope="session")
def cluster():
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_worker(cluster):
    return cluster.add_worker("node-a")


@pytest.fixture
def worker(cluster, shared_worker):
    yield shared_worker
    for pod in cluster.api.list("Pod"):
        cluster.api.delete("Pod", pod["metadata"]["name"], grace=0)
