"""The operator role, called by the real API server."""

import json

import pytest

from api import Refused
from operator_role import Operator, await_called, call
from processes import wait_for

POOLS = """
[os]
cpus = "0-1"
[[cpu.pools]]
name = "exclusive-fast"
cpus = "2-7"
kind = "exclusive"
threads = "any"
[[cpu.pools]]
name = "shared-common"
cpus = "8-9"
kind = "shared"
"""
ANNOTATION = "nokia.k8s.io/cpus"
FAST, COMMON = "nokia.k8s.io/exclusive-fast", "nokia.k8s.io/shared-common"


@pytest.fixture(scope="module")
def node(cluster):
    """A node without a kubelet: nrd with pools, and the node role, which tells of them in the RmdNodeState."""
    cluster.deploy("daemonset", "webhook")
    cluster.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-p"}})
    wait_for(lambda: cluster.api.list("RmdNodeState") is not None, "the kinds to be served")
    worker = cluster.add_worker("node-p", kubelet=False, config=POOLS)
    wait_for(lambda: "pools" in cluster.api.get("RmdNodeState", "rmd-node-state-node-p")["status"], "the pools of the node")
    yield worker
    cluster.workers.remove(worker)
    worker.end()
    cluster.undeploy("daemonset", "webhook")
    wait_for(lambda: not cluster.api.list("Pod", "nrd-system"), "the DaemonSet's pods to go")


@pytest.fixture(scope="module")
def operator(cluster, node):
    call(cluster, 9443)
    replica = Operator(cluster, 9443).start()
    await_called(cluster, lambda: dry_run(cluster, pod({"processes": one("exclusive-fast", 1)})))
    yield replica
    replica.process.kill9()


def one(pool, cpus):
    return [{"process": "/bin/feed", "args": ["-v"], "pool": pool, "cpus": cpus}]


def pod(*listed, limits=None, name="feed", text=None, **annotations):
    """A pod with the container main, which the annotation lists unless there is nothing listed."""
    if listed:
        annotations[ANNOTATION] = json.dumps([{"container": "main", **each} for each in listed])
    if text is not None:
        annotations[ANNOTATION] = text
    container = {"name": "main", "image": "registry.test/busybox:1", "command": ["/bin/sh"], "args": ["-c", "true"],
                 "resources": {"limits": {key: str(value) for key, value in (limits or {}).items()}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
            "spec": {"containers": [container], "nodeName": "nowhere"}}


def dry_run(cluster, body):
    return cluster.api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", body)


def main_of(created):
    return created["spec"]["containers"][0]


def environment(container):
    return {each["name"]: each.get("value") for each in container["env"]}


def test_a_pod_of_the_old_contract_gets_request_and_command(cluster, operator):
    main = main_of(dry_run(cluster, pod({"processes": one("exclusive-fast", 2) + one("shared-common", 500)})))
    assert main["command"] == ["/opt/bin/nrdctl", "run", "--processes", "/etc/podinfo/cpus"] and "args" not in main
    assert main["resources"]["limits"] == {FAST: "2", COMMON: "500", "cpu": "4"}
    assert main["resources"]["requests"] == {FAST: "2", COMMON: "500", "cpu": "0"}
    assert environment(main) == {"CONTAINER_NAME": "main", "CPU_POOLS": "exclusive&shared"}
    assert {each["mountPath"]: each["readOnly"] for each in main["volumeMounts"]}.items() >= {"/etc/podinfo": True, "/opt/bin": True}.items()


def test_a_pod_that_asks_for_what_is_not_there_is_denied(cluster, operator):
    with pytest.raises(Refused, match='annotation nokia.k8s.io/cpus: /0/processes/0/pool: unknown pool "slow"; expected one of exclusive-fast, shared-common'):
        dry_run(cluster, pod({"processes": one("slow", 2)}))
