"""deploy/ as it stands: the roles as containers, without any privilege.

Changed are only the folders of nrd and NRI, which are the worker's, and the network: the test cluster has no pod network
and no proxy for services.
"""

import json
import subprocess
import urllib.request

import pytest

from api import Refused
from operator_role import call
from processes import wait_for
from settings import DEPLOY, PORT, RELEASED
from test_ways import WAYS, await_no_workloads


SERVER = [{"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"}, {"name": "KUBERNETES_SERVICE_PORT", "value": str(PORT)}]


@pytest.fixture
def image(worker, tmp_path):
    archive = str(tmp_path / "nrd-kube.tar")
    subprocess.run([RELEASED, "image", archive], check=True, capture_output=True)
    assert worker.ctr("images", "import", "--local", archive).returncode == 0


@pytest.fixture
def deployed(cluster, worker, image):
    worker.client.kill9()
    cluster.deploy("daemonset")
    cluster.kubectl("patch", "-n", "nrd-system", "daemonset", "nrd-node", "--patch", json.dumps({"spec": {"template": {"spec": {
        "hostNetwork": True, "nodeSelector": {"kubernetes.io/hostname": worker.name},
        "volumes": [{"name": "nrd", "hostPath": {"path": f"{worker.folder}/kube"}}, {"name": "nri", "hostPath": {"path": f"{worker.folder}/nri"}}],
        "containers": [{"name": "node", "env": SERVER}]}}}}))
    yield worker
    cluster.undeploy("daemonset")
    wait_for(lambda: not cluster.api.list("Pod", "nrd-system"), "the node role to end")
    worker.client.start()


@pytest.fixture
def deployed_operator(cluster, worker, image):
    """One replica: on the network of the host the two would have one port."""
    cluster.deploy("deployment", "webhook")
    cluster.kubectl("patch", "-n", "nrd-system", "deployment", "nrd-operator", "--patch", json.dumps({"spec": {"replicas": 1, "template": {"spec": {
        "hostNetwork": True, "nodeSelector": {"kubernetes.io/hostname": worker.name}, "containers": [{"name": "operator", "env": SERVER}]}}}}))
    call(cluster, 9443)
    yield worker
    cluster.undeploy("deployment", "webhook")
    wait_for(lambda: not cluster.api.list("Pod", "nrd-system"), "the operator to end")


def present(cluster):
    return [pod for pod in cluster.api.list("Pod", "nrd-system") if not pod["metadata"].get("deletionTimestamp")]


def await_ready(cluster, part):
    def is_ready():
        pods = present(cluster)
        return pods and all(any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", [])) for pod in pods)
    try:
        wait_for(is_ready, f"{part} to be ready")
    except AssertionError as error:
        described = cluster.kubectl("describe", "-n", "nrd-system", "pod").stdout[-3000:]
        raise AssertionError(f"{error}\n{described}") from None


def test_the_deployed_operator_answers_the_api_server(cluster, deployed_operator):
    await_ready(cluster, "the operator")
    probe = cluster.pod("probe", cluster.container(limits={"nokia.k8s.io/fast": 1}))

    def is_called():
        with pytest.raises(Refused) as refused:
            cluster.api.create(probe)
        return "failed calling" not in refused.value.text and refused.value.text
    text = wait_for(is_called, "the operator to be called")
    assert '/spec/containers/0/resources/limits/nokia.k8s.io~1fast: unknown pool "fast"' in text, text


def metrics():
    """Of the node role, on the network of the host."""
    with urllib.request.urlopen("http://127.0.0.1:9808/metrics", timeout=10) as answer:
        return answer.read().decode()


def test_a_container_gets_its_ways_from_the_deployed_node_role(cluster, deployed):
    await_ready(cluster, "the node role")
    deployed.await_allocatable(WAYS, 5)
    assert "\nnrd_kube_ready 1\n" in metrics()
    cluster.run_pod("feed", limits={WAYS: 2})
    assert '\nnrd_kube_containers_total{result="granted"} 1\n' in metrics()
    workload = deployed.workload_of("feed")
    assert deployed.processes_of(workload) and deployed.processes_of(workload) <= deployed.tasks_of(workload)
    wait_for(lambda: cluster.api.find("RmdNodeState", f"rmd-node-state-{deployed.name}"), "the node's state")
    wait_for(lambda: cluster.api.find("RmdWorkload", "feed-rmd-workload-main"), "the RmdWorkload of the container")
    cluster.delete_pod("feed")
    await_no_workloads(deployed)


def test_a_container_keeps_its_ways_while_another_version_of_the_node_role_is_rolled_out(cluster, deployed):
    await_ready(cluster, "the node role")
    deployed.await_allocatable(WAYS, 5)
    cluster.run_pod("feed", limits={WAYS: 2})
    before, former = deployed.workload_of("feed"), {pod["metadata"]["uid"] for pod in present(cluster)}
    pids = deployed.waiting_processes_of(before)
    cluster.kubectl("rollout", "restart", "-n", "nrd-system", "daemonset", "nrd-node")
    wait_for(lambda: present(cluster) and not former & {pod["metadata"]["uid"] for pod in present(cluster)}, "another pod of the node role")
    await_ready(cluster, "the other pod of the node role")
    deployed.await_allocatable(WAYS, 5)
    after = deployed.workload_of("feed")
    assert (after["cos_name"], after["granted_ways"]) == (before["cos_name"], before["granted_ways"])
    assert pids == deployed.processes_of(after) and pids <= deployed.tasks_of(after)
    cluster.run_pod("next", limits={WAYS: 3})


def objects(cluster):
    kinds = cluster.kubectl("api-resources", "--verbs", "list,delete", "--output", "name").stdout.split()
    return set(cluster.kubectl("get", "--all-namespaces", "--output", "name", ",".join(each for each in kinds if not each.startswith("events"))).stdout.split())


def test_removal_leaves_nothing_but_the_grants_of_running_containers(cluster, deployed):
    await_ready(cluster, "the node role")
    deployed.await_allocatable(WAYS, 5)
    cluster.run_pod("feed", limits={WAYS: 2})
    cluster.kubectl("delete", "--ignore-not-found", "-k", DEPLOY)
    assert [name for name in objects(cluster) if "nrd" in name or "rmd" in name] == []
    assert not deployed.place.listens(f"{deployed.folder}/kubelet/device-plugins/nrd-*")
    wait_for(lambda: deployed.allocatable(WAYS) == 0, "no ways to be offered")
    assert deployed.processes_of(deployed.workload_of("feed")) <= deployed.tasks_of(deployed.workload_of("feed"))
    cluster.delete_pod("feed")
    await_no_workloads(deployed)
