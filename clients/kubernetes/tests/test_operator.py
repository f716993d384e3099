"""The operator role, called by the real API server."""

import base64
import json
import os
import time

import pytest

from api import Api, Refused
from cluster import Keys
from operator_role import Operator, await_called, call
from processes import DEADLINE, wait_for
from rights import await_lack, without
from settings import DEPLOY, write

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


def authority(*all_keys):
    return "".join(open(f"{keys.folder}/ca.crt").read() for keys in all_keys)


def install(folder, keys):
    """A certificate of these keys, each file replaced at once."""
    keys.sign("webhook", "/CN=webhook", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth")
    for end in ("crt", "key"):
        os.replace(f"{keys.folder}/webhook.{end}", f"{folder}/tls.{end}")


def trust(cluster, *all_keys):
    """Lets the API server trust these authorities for the webhook, and no others."""
    path = cluster.api.path("MutatingWebhookConfiguration", name="nrd-operator")
    bundle = base64.b64encode(authority(*all_keys).encode()).decode()
    cluster.api.request("PATCH", path, [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}], "application/json-patch+json")


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


def config(labels):
    return {"apiVersion": "intel.com/v1alpha1", "kind": "RmdConfig", "metadata": {"name": "rmdconfig"}, "spec": {"rmdNodeSelector": labels}}


def selector(cluster):
    return cluster.api.get("DaemonSet", "nrd-node", "nrd-system")["spec"]["template"]["spec"].get("nodeSelector", {})


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


def test_a_pod_of_the_new_contract_starts_its_last_process_in_place(cluster, operator):
    main = main_of(dry_run(cluster, pod({"processes": one("shared-common", 2000)}, limits={COMMON: "2k"})))
    assert main["command"][-1] == "--exec-last" and "args" not in main
    assert main["resources"]["limits"] == {COMMON: "2k", "cpu": "2"}
    assert environment(main)["CPU_POOLS"] == "shared"


def test_a_pod_with_cpus_and_without_the_annotation_keeps_its_command(cluster, operator):
    main = main_of(dry_run(cluster, pod(limits={FAST: 2})))
    assert (main["command"], main["args"]) == (["/bin/sh"], ["-c", "true"])
    assert main["resources"]["limits"] == {FAST: "2", "cpu": "2100m"}
    assert environment(main) == {"CPU_POOLS": "exclusive"}


@pytest.mark.parametrize(("body", "refusal"), [
    (pod(text="["), "annotation nokia.k8s.io/cpus: /: not JSON"),
    (pod({"processes": one("exclusive-fast", 1.5)}), "/0/processes/0/cpus: 1.5 is out of range; expected a whole number from 1 to"),
    (pod({"processes": one("exclusive-fast", 0)}), "/0/processes/0/cpus: 0 is out of range"),
    (pod({"processes": one("exclusive-fast", 1), "container": "side"}), '/0/container: the pod has no container "side"; expected one of main'),
    (pod({"processes": one("exclusive-fast", 3)}, limits={FAST: 1}), "3 CPUs of pool exclusive-fast, but the container requests 1; expected at most 2"),
    (pod({"processes": one("shared-common", 3)}, limits={COMMON: "1k"}), "3 thousandths of a CPU of pool shared-common, but the container requests 1000; expected equal numbers"),
    (pod(limits={"nokia.k8s.io/slow": 1}), '/spec/containers/0/resources/limits/nokia.k8s.io~1slow: unknown pool "slow"; expected one of exclusive-fast, shared-common'),
    (pod(limits={"intel.com/l3_cache_ways": 1}, main_cache_min="1.5"), 'annotation main_cache_min: "1.5" is not a whole number'),
], ids=["json", "fraction", "zero", "container", "exclusive", "shared", "resource", "ways"])
def test_bad_input_is_denied_with_the_place_and_what_is_expected(cluster, operator, body, refusal):
    with pytest.raises(Refused) as refused:
        dry_run(cluster, body)
    assert refused.value.status == 403 and refusal in refused.value.text, refused.value.text


def test_an_author_is_warned_of_what_has_no_effect(cluster, operator):
    body = pod(limits={FAST: 1}, **{"nrd.internal/devices.pool-fast": "7"})
    main_of(body)["env"] = [{"name": "LANG", "value": "C"}, {"name": "EXCLUSIVE_CPUS", "value": "7"}]
    write(f"{cluster.folder}/pod.json", json.dumps(body))
    output = cluster.kubectl("create", "--dry-run=server", "-f", f"{cluster.folder}/pod.json").stderr
    assert output.splitlines() == [
        "Warning: annotation nrd.internal/devices.pool-fast has no effect: kubelet tells the devices of containers",
        "Warning: /spec/containers/0/env/1: the value of EXCLUSIVE_CPUS has no effect: the node sets it"]


def test_the_annotations_of_resources_are_filled(cluster, operator):
    created = dry_run(cluster, pod(limits={COMMON: "1k"}, **{"intel.com/resources": "", "noderesource.dev/resources": ""}))
    texts = created["metadata"]["annotations"]
    assert texts["intel.com/resources"] == texts["noderesource.dev/resources"]
    assert json.loads(texts["intel.com/resources"])["containers"]["main"]["limits"] == {COMMON: "1k", "cpu": "1"}


def test_a_pod_that_is_created_again_stays_as_it_is(cluster, operator):
    first = dry_run(cluster, pod({"processes": one("exclusive-fast", 2)}))
    again = dry_run(cluster, {key: first[key] for key in ("apiVersion", "kind", "spec")} | {
        "metadata": {key: first["metadata"][key] for key in ("name", "annotations")}})
    assert again["spec"] == first["spec"]


def with_a_thousand_containers(body):
    body["spec"]["containers"] += [{**main_of(body), "name": f"c{number}"} for number in range(999)]
    return body


def test_a_pod_with_a_thousand_containers_is_answered(cluster, operator):
    created = dry_run(cluster, with_a_thousand_containers(pod({"processes": one("exclusive-fast", 1)})))
    assert main_of(created)["command"][0] == "/opt/bin/nrdctl" and len(created["spec"]["containers"]) == 1000


def test_metrics_count_the_reviews(cluster, operator):
    with pytest.raises(Refused):
        dry_run(cluster, pod(text="["))
    text = operator.get("/metrics")
    counts = dict(line.split(" ") for line in text.splitlines() if line.startswith("nrd_kube_webhook_reviews_total{"))
    assert float(counts['nrd_kube_webhook_reviews_total{result="denied"}']) >= 1, text
    assert "nrd_kube_ready 1" in text


def test_without_the_webhook_only_pods_that_ask_are_stopped(cluster, operator):
    operator.process.kill9()
    try:
        dry_run(cluster, pod())
        dry_run(cluster, pod(limits={"intel.com/l3_cache_ways": 1}))
        dry_run(cluster, with_a_thousand_containers(pod(limits={"intel.com/l3_cache_ways": 1}, other="x")))  # the conditions' cost is limited
        dry_run(cluster, pod(other_policy="strange", **{"kubernetes.io/config.mirror": "x"}))
        for body in (pod({"processes": one("exclusive-fast", 1)}), pod(limits={FAST: 1}), pod(main_policy="gold"), pod(**{"intel.com/resources": ""})):
            with pytest.raises(Refused, match="failed calling webhook"):
                dry_run(cluster, body)
    finally:
        operator.start()
    await_called(cluster, lambda: dry_run(cluster, pod(limits={FAST: 1})))


def test_the_other_replica_is_trusted_and_leads_when_one_dies(cluster, operator):
    other = Operator(cluster, 9445).start()
    try:
        assert operator.is_trusted() and other.is_trusted()
        operator.process.kill9()
        call(cluster, 9445)
        await_called(cluster, lambda: main_of(dry_run(cluster, pod(limits={FAST: 1})))["resources"]["limits"]["cpu"])
        cluster.api.create(config({"replica": "other"}))
        wait_for(lambda: selector(cluster).get("replica") == "other", "the other replica to lead")
        cluster.api.delete("RmdConfig", "rmdconfig")
        wait_for(lambda: selector(cluster) == {}, "the selector of before")
    finally:
        other.process.terminate()
        operator.start()
        call(cluster, 9443)
    await_called(cluster, lambda: dry_run(cluster, pod(limits={FAST: 1})))


def test_a_lost_authority_is_written_again(cluster, operator):
    path = cluster.api.path("MutatingWebhookConfiguration", name="nrd-operator")
    cluster.api.request("PATCH", path, [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}], "application/json-patch+json")
    wait_for(operator.is_trusted, "the authority to be back")
    await_called(cluster, lambda: dry_run(cluster, pod(limits={FAST: 1})))


def test_the_api_server_is_answered_while_the_files_of_cert_dir_are_renewed(cluster, operator):
    """The API server trusts the authorities of both meanwhile."""
    operator.process.kill9()
    folder = f"{cluster.folder}/certificate"
    os.makedirs(folder)
    former, later = (Keys(f"{folder}/{name}") for name in ("former", "later"))
    install(folder, former)
    trust(cluster, former)
    call(cluster, 9449)
    replica = Operator(cluster, 9449, "--cert-dir", folder)
    ask = lambda: main_of(dry_run(cluster, pod(limits={FAST: 1})))["resources"]["limits"]["cpu"]
    try:
        replica.start()
        await_called(cluster, ask)
        trust(cluster, former, later)
        time.sleep(2)  # the API server learns of it a moment later
        install(folder, later)
        end = time.monotonic() + DEADLINE
        while not replica.is_trusted(authority(later)):
            assert ask() == "1100m" and time.monotonic() < end
        trust(cluster, later)
        for _ in range(20):
            assert ask() == "1100m"
    finally:
        replica.process.kill9()
        operator.start()
        call(cluster, 9443)
    await_called(cluster, ask)


def test_the_selector_of_the_rmd_config_goes_to_the_daemon_set(cluster, operator):
    cluster.api.create(config({"rdt": "true"}))
    wait_for(lambda: selector(cluster) == {"rdt": "true"}, "the selector")
    cluster.kubectl("apply", "--server-side", "-f", f"{DEPLOY}/node.yaml")  # as tools of GitOps do, again and again
    assert selector(cluster) == {"rdt": "true"}
    cluster.api.merge("RmdConfig", "rmdconfig", {"spec": {"rmdNodeSelector": {"rdt": None, "rack": "1"}}})
    wait_for(lambda: selector(cluster) == {"rack": "1"}, "the other selector")
    cluster.api.delete("RmdConfig", "rmdconfig")
    wait_for(lambda: selector(cluster) == {}, "the selector of before")


def test_the_status_of_the_rmd_config_tells_why_its_selector_is_not_applied(cluster, operator):
    """Until it is, after the label of both has gone from one of them."""
    def applied():
        found, = cluster.api.get("RmdConfig", "rmdconfig")["status"]["conditions"]
        assert found["type"] == "Applied"
        return found["status"], found["message"]
    own = {"site": "a"}
    cluster.api.merge("DaemonSet", "nrd-node", {"spec": {"template": {"spec": {"nodeSelector": own}}}}, "nrd-system")
    cluster.api.create(config({"site": "b", "rdt": "true"}))
    wait_for(lambda: applied()[0] == "False", "the condition")
    assert applied()[1] == ('label site is "b" in the RmdConfig and "a" in the DaemonSet\'s own node selector; '
                            "expected it in one of the two")
    assert selector(cluster) == own
    cluster.api.merge("RmdConfig", "rmdconfig", {"spec": {"rmdNodeSelector": {"site": None}}})
    wait_for(lambda: applied() == ("True", ""), "the selector to be applied")
    assert selector(cluster) == own | {"rdt": "true"}
    cluster.api.delete("RmdConfig", "rmdconfig")
    wait_for(lambda: selector(cluster) == own, "the selector of before")
    cluster.api.merge("DaemonSet", "nrd-node", {"spec": {"template": {"spec": {"nodeSelector": None}}}}, "nrd-system")


def test_the_status_of_the_rmd_config_has_the_nodes(cluster, operator):
    """Those that have an RmdNodeState, as long as they do."""
    def nodes():
        return sorted(each["metadata"]["name"].removeprefix("rmd-node-state-") for each in cluster.api.list("RmdNodeState"))

    def shown():
        return cluster.api.get("RmdConfig", "rmdconfig").get("status", {}).get("nodes")
    cluster.api.create({"apiVersion": "intel.com/v1alpha1", "kind": "RmdNodeState", "metadata": {"name": "rmd-node-state-leaves"},
                        "spec": {"node": "leaves", "nodeUid": "1"}})
    cluster.api.create(config({}))
    wait_for(lambda: shown() == nodes(), "the nodes")
    assert {"leaves", "node-p"} <= set(shown())
    cluster.api.delete("RmdNodeState", "rmd-node-state-leaves")
    wait_for(lambda: shown() == nodes() and "leaves" not in shown(), "the node to leave", 90)
    cluster.api.delete("RmdConfig", "rmdconfig")


@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/api/v1/namespaces/nrd-system/secrets"),
    ("GET", "/api/v1/pods"),
    ("GET", "/api/v1/nodes"),
    ("GET", "/apis/intel.com/v1alpha1/namespaces/default/rmdworkloads/one"),
    ("PATCH", "/apis/intel.com/v1alpha1/namespaces/default/rmdworkloads/one"),
    ("PATCH", "/apis/intel.com/v1alpha1/namespaces/default/rmdconfigs/rmdconfig"),
    ("PATCH", "/apis/intel.com/v1alpha1/namespaces/default/rmdnodestates/rmd-node-state-node-p"),
    ("PATCH", "/apis/apps/v1/namespaces/nrd-system/deployments/nrd-operator"),
    ("PATCH", "/apis/apps/v1/namespaces/kube-system/daemonsets/other"),
    ("PATCH", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/other"),
    ("GET", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"),
    ("GET", "/apis/coordination.k8s.io/v1/namespaces/nrd-system/leases/other"),
])
def test_the_operator_has_no_other_right(cluster, operator, method, path):
    client = Api(cluster.api.port, cluster.pki, cluster.token("nrd-operator"))
    with pytest.raises(Refused, match="forbidden"):
        client.request(method, path, {} if method == "PATCH" else None, "application/merge-patch+json")


def test_the_operator_changes_the_selector_of_the_daemon_set_alone(cluster, operator):
    client = Api(cluster.api.port, cluster.pki, cluster.token("nrd-operator"))
    found = cluster.api.get("DaemonSet", "nrd-node", "nrd-system")["spec"]["template"]["spec"]
    root = [{**volume, "hostPath": {"path": "/"}} for volume in found["volumes"]]
    image = [{**found["containers"][0], "image": "other"}]
    for change in ({"containers": image}, {"volumes": root}, {"hostPID": True}, {"serviceAccountName": "default"}, {"shareProcessNamespace": True},
                   {"dnsPolicy": "Default"}, {"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["registry.test"]}]}, {"terminationGracePeriodSeconds": 0}):
        with pytest.raises(Refused, match="the operator changes the nodeSelector alone"):
            client.merge("DaemonSet", "nrd-node", {"spec": {"template": {"spec": change}}}, "nrd-system")


FORMER = {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "former"}, "spec": {"nodes": ["gone"], "coreIds": ["4"]}}
RIGHTS = [  # namespace of the role, resource, verb
    (None, "mutatingwebhookconfigurations", "watch"),
    (None, "mutatingwebhookconfigurations", "patch"),
    (None, "rmdworkloads", "list"),
    (None, "rmdworkloads/status", "patch"),
    ("default", "rmdnodestates", "watch"),
    ("default", "rmdconfigs", "watch"),
    ("default", "rmdconfigs/status", "patch"),
    ("nrd-system", "daemonsets", "get"),
    ("nrd-system", "daemonsets", "patch"),
    ("nrd-system", "leases", "create"),
    ("nrd-system", "leases", "get"),
    ("nrd-system", "leases", "update"),
]


@pytest.mark.parametrize(("namespace", "resource", "verb"), RIGHTS, ids=[f"{row[1]}-{row[2]}" for row in RIGHTS])
def test_each_right_of_the_operator_is_needed(cluster, operator, namespace, resource, verb):
    """Without it the operator says which it lacks. (It lists only where the API server cannot stream the first list.)"""
    operator.process.kill9()
    cluster.api.create(config({"rdt": "true"}))
    cluster.api.create(FORMER)
    cluster.api.request("PATCH", cluster.api.path("RmdWorkload", name="former") + "/status",
                        {"status": {"workloadStates": {"gone": {"response": "Success: 200"}}}}, "application/merge-patch+json")
    if verb == "create":
        cluster.api.delete("Lease", "nrd-operator", "nrd-system")
    replica = Operator(cluster, 9447)
    try:
        with without(cluster, "nrd-operator", namespace, resource, verb):
            replica.process.start()
            await_lack(replica.process, 0, resource, verb)
    finally:
        replica.process.kill9()
        operator.start()
        cluster.api.delete("RmdConfig", "rmdconfig")
        cluster.api.delete("RmdWorkload", "former")
        wait_for(lambda: selector(cluster) == {}, "the selector of before")
