"""The rights that deploy/ gives a node client: with each one taken away it says which it lacks, and nothing else stops."""

import pytest

from cluster import write_kubeconfig
from processes import wait_for
from test_ways import WAYS

STALE = {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "spec": {"nodes": ["node-a"], "container": "gone"},
         "metadata": {"name": "gone-rmd-workload-gone", "labels": {"nrd.internal/automatic": "node-a"}}}
WANTED = {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "wanted"},
          "spec": {"nodes": ["node-a"], "coreIds": ["4"], "cache": {"max": 2, "min": 1}}}
RIGHTS = [  # kind of the role, resource, verb; lists are streamed as watches
    ("clusterroles", "nodes", "get"),
    ("clusterroles", "nodes", "watch"),
    ("clusterroles", "rmdworkloads", "watch"),
    ("clusterroles", "rmdworkloads", "create"),
    ("clusterroles", "rmdworkloads", "delete"),
    ("clusterroles", "rmdworkloads/status", "patch"),
    ("roles", "rmdnodestates", "create"),
    ("roles", "rmdnodestates", "patch"),
    ("roles", "rmdnodestates/status", "patch"),
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


def may(cluster, resource, verb):
    resource, _, sub = resource.partition("/")
    attributes = {"group": "" if resource == "nodes" else "intel.com", "resource": resource, "subresource": sub, "verb": verb, "namespace": "default"}
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": "system:serviceaccount:nrd-system:nrd-node", "resourceAttributes": attributes}}
    return cluster.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", asked)["status"]["allowed"]


@pytest.mark.parametrize(("kind", "resource", "verb"), RIGHTS, ids=[f"{row[1]}-{row[2]}" for row in RIGHTS])
def test_each_right_of_the_node_client_is_needed(cluster, limited, kind, resource, verb):
    cluster.run_pod("feed", limits={WAYS: 2})
    limited.client.kill9()
    path = "/apis/rbac.authorization.k8s.io/v1/" + ("namespaces/default/" if kind == "roles" else "") + f"{kind}/nrd-node"
    role = cluster.api.request("GET", path)
    less = [{**rule, "verbs": [each for each in rule["verbs"] if each != verb]} if resource in rule["resources"] else rule for rule in role["rules"]]
    cluster.api.delete("RmdWorkload", "feed-rmd-workload-main")
    cluster.api.delete("RmdNodeState", f"rmd-node-state-{limited.name}")
    cluster.api.create(STALE)
    cluster.api.create(WANTED)
    cluster.api.request("PATCH", path, {"rules": [rule for rule in less if rule["verbs"]]}, "application/merge-patch+json")
    try:
        wait_for(lambda: not may(cluster, resource, verb), "the right to be gone")
        known = len(limited.client.text())
        limited.client.start()
        part = f'cannot {verb} resource "{resource}"'
        wait_for(lambda: part in limited.client.text()[known:].replace('\\"', '"'), f"the client to lack {verb} of {resource}")
        assert limited.workload_of("feed")["cache"] == {"max": 2, "min": 2}
    finally:
        cluster.api.request("PATCH", path, {"rules": role["rules"]}, "application/merge-patch+json")
        wait_for(lambda: may(cluster, resource, verb), "the right to be back")
