"""The rights that deploy/ gives a node client: with each one taken away it says which it lacks, and nothing else stops."""

import pytest

from cluster import write_kubeconfig
from processes import wait_for
from rights import await_lack, without
from test_ways import WAYS

STALE = {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "spec": {"nodes": ["node-a"], "container": "gone"},
         "metadata": {"name": "gone-rmd-workload-gone", "labels": {"nrd.internal/automatic": "node-a"}}}
WANTED = {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "wanted"},
          "spec": {"nodes": ["node-a"], "coreIds": ["4"], "cache": {"max": 2, "min": 1}}}
RIGHTS = [  # namespace of the role, resource, verb; lists are streamed as watches
    (None, "nodes", "get"),
    (None, "nodes", "watch"),
    (None, "rmdworkloads", "watch"),
    (None, "rmdworkloads", "create"),
    (None, "rmdworkloads", "delete"),
    (None, "rmdworkloads/status", "patch"),
    (None, "events", "create"),
    ("default", "rmdnodestates", "create"),
    ("default", "rmdnodestates", "patch"),
    ("default", "rmdnodestates/status", "patch"),
]


@pytest.fixture
def limited(cluster, worker):
    """The client of node-a with the rights of deploy/, and no others."""
    cluster.deploy()
    wait_for(lambda: cluster.api.list("RmdWorkload") == [], "the kinds to be served")
    before = worker.kubeconfig
    worker.client.kill9()
    worker.kubeconfig = f"{cluster.folder}/limited.kubeconfig"
    write_kubeconfig(worker.kubeconfig, cluster.pki, {"token": cluster.token("nrd-node", bound=worker.name)})
    worker.make_client()
    worker.client.start()
    worker.await_devices()
    yield worker
    worker.client.kill9()
    for each in cluster.api.list("RmdWorkload"):
        cluster.api.delete("RmdWorkload", each["metadata"]["name"])
    worker.kubeconfig = before
    worker.make_client()
    worker.client.start()


@pytest.mark.parametrize(("namespace", "resource", "verb"), RIGHTS, ids=[f"{row[1]}-{row[2]}" for row in RIGHTS])
def test_each_right_of_the_node_client_is_needed(cluster, limited, namespace, resource, verb):
    cluster.run_pod("feed", limits={WAYS: 2})
    limited.client.kill9()
    cluster.api.delete("RmdWorkload", "feed-rmd-workload-main")
    cluster.api.delete("RmdNodeState", f"rmd-node-state-{limited.name}")
    cluster.api.create(STALE)
    cluster.api.create(WANTED)
    with without(cluster, "nrd-node", namespace, resource, verb):
        known = len(limited.client.text())
        limited.client.start()
        await_lack(limited.client, known, resource, verb)
        assert limited.workload_of("feed")["cache"] == {"max": 2, "min": 2}
