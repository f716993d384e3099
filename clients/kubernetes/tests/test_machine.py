"""The nrd of another machine behind the socket: the client of this node leaves it alone, and says so."""

import json
import os
import time
import urllib.error
import urllib.request

import pytest

from processes import wait_for
from settings import write
from test_automatic import NAME, await_shown
from test_ways import WAYS

pytestmark = pytest.mark.skipif("NRD_KUBE_VM" in os.environ, reason="another id is mounted where nrd runs beside the simulated hardware")
OTHER = "0123456789abcdef0123456789abcdef"
PORT = 9818
WANTED = {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "wanted"},
          "spec": {"nodes": ["node-a"], "coreIds": ["5"], "cache": {"max": 1, "min": 1}}}
STRAYS = {  # no container and no RmdWorkload has them: the client of their own node deletes both
    "k8s.stray.main": {"cgroup": "/stray", "owner": {"cgroup": True, "within_seconds": 300}, "cache": {"max": 1, "min": 1}},
    "cr.default.stray": {"core_ids": ["4"], "cache": {"max": 1, "min": 1}},
}


def readiness():
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.read().decode()


def become(worker, machine_id):
    """Starts nrd again with its state, as the machine with this id; None: as the one that it is on."""
    worker.nrd.kill9()
    worker.make_nrd()
    if machine_id:
        file = f"{worker.folder}/machine-id"
        write(file, machine_id + "\n")
        nrd = worker.nrd.command
        start = len(worker.place.of_nrd())
        worker.nrd.command = [*nrd[:start], "unshare", "--mount", "sh", "-c", f'mount --bind {file} /etc/machine-id && exec "$@"', "sh", *nrd[start:]]
    worker.nrd.start()
    worker.await_nrd()
    assert machine_id is None or worker.call("GET", "/v1/node")["machine_id"] == machine_id


@pytest.fixture
def foreign(cluster, kinds, worker):
    """A container has ways. Then nrd is another machine's, with workloads that nothing on this node has."""
    worker.await_devices()
    cluster.run_pod("feed", limits={WAYS: 2})
    await_shown(cluster, worker)
    worker.client.kill9()
    become(worker, OTHER)
    for name, body in STRAYS.items():
        status, text = worker.place.request(worker.socket_of_client, "PUT", f"/v1/workloads/{name}", json.dumps(body))
        assert status < 300, text
    cluster.api.delete("RmdWorkload", NAME)
    cluster.api.delete("RmdNodeState", f"rmd-node-state-{worker.name}")
    cluster.api.create(WANTED)
    worker.make_client("--health", f"127.0.0.1:{PORT}")
    worker.client.start()
    yield worker
    cluster.api.delete("RmdWorkload", "wanted")
    worker.client.kill9()
    become(worker, None)
    worker.make_client()
    worker.client.start()


def published(cluster, worker):
    """What the client of this node writes into the API server."""
    state = cluster.api.find("RmdNodeState", f"rmd-node-state-{worker.name}")
    return [bool(state and "status" in state), cluster.api.find("RmdWorkload", NAME) is not None,
            "status" in cluster.api.get("RmdWorkload", "wanted"), worker.allocatable(WAYS) > 0]


def ids(worker):
    return {each["id"] for each in worker.workloads()}


def test_the_client_leaves_the_nrd_of_another_machine_alone(cluster, foreign):
    granted = {foreign.workload_of("feed")["id"]}
    pids = foreign.waiting_processes_of(foreign.workload_of("feed"))
    wait_for(lambda: f"nrd's machine id is {OTHER}, that of node {foreign.name} is " in readiness(), "the client to be unready with both ids")
    wait_for(lambda: foreign.allocatable(WAYS) == 0, "no ways to be offered")
    for _ in range(50):
        time.sleep(0.1)
        assert ids(foreign) == granted | set(STRAYS)
        assert published(cluster, foreign) == [False] * 4
    become(foreign, None)
    wait_for(lambda: readiness() == "ok\n", "the client to be ready with its own nrd")
    wait_for(lambda: ids(foreign) == granted | {"cr.default.wanted"}, "the workloads of this node", 90)
    wait_for(lambda: published(cluster, foreign) == [True] * 4, "what the client of this node publishes", 90)
    assert foreign.processes_of(foreign.workload_of("feed")) == pids
