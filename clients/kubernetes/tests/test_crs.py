"""RmdWorkload and RmdNodeState on a real API server, with two nodes that have no kubelet."""

import time

import pytest

from api import Api, Refused
from cluster import write_kubeconfig
from processes import wait_for
from settings import write


def token_of(cluster, node):
    return cluster.token("nrd-node", bound=node)


@pytest.fixture(scope="module")
def nodes(cluster):
    """Two nodes whose clients have the rights of deploy/, and no others."""
    cluster.deploy()  # the clients run outside of pods here
    for name in ("node-x", "node-y"):
        cluster.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rack": name[-1]}}})
    wait_for(lambda: cluster.api.list("RmdWorkload") == [], "the kinds to be served")
    write(f"{cluster.folder}/policy.toml", "[default.gold.cache]\nmax = 3\nmin = 3\n")
    found = [cluster.add_worker(name, kubelet=False, client=False, config=f'[policy]\nfile = "{cluster.folder}/policy.toml"\n', cpufreq="intel_pstate")
             for name in ("node-x", "node-y")]
    for worker in found:
        worker.kubeconfig = f"{worker.folder}/client.kubeconfig"
        write_kubeconfig(worker.kubeconfig, cluster.pki, {"token": token_of(cluster, worker.name)})
        worker.make_client()
        worker.client.start()
    yield found
    for worker in found:
        cluster.workers.remove(worker)
        worker.end()


@pytest.fixture
def x(cluster, nodes):
    yield nodes[0]
    for each in cluster.api.list("RmdWorkload"):
        cluster.api.delete("RmdWorkload", each["metadata"]["name"])
    for worker in nodes:
        if not worker.client.runs():
            worker.client.start()
        wait_for(lambda worker=worker: not worker.workloads(), "the workloads to go")


@pytest.fixture
def y(x, nodes):
    return nodes[1]


def cr(name, **spec):
    return {"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": name}, "spec": {"nodes": ["node-x"], **spec}}


def state_of(cluster, name, node="node-x"):
    return cluster.api.get("RmdWorkload", name).get("status", {}).get("workloadStates", {}).get(node)


def await_state(cluster, name, node="node-x", response="Success: 200"):
    def is_there():
        state = state_of(cluster, name, node)
        return state and response in state["response"] and state
    return wait_for(is_there, f"{response} of {name} on {node}; it has {cluster.api.get('RmdWorkload', name).get('status')}")


GUARANTEE = {"max": 2, "min": 2}
MOST_DELAY = 5.0  # seconds


@pytest.mark.parametrize("fields", [{"cache": GUARANTEE}, {"rdt": {"cache": GUARANTEE}}], ids=["0.1", "0.2"])
def test_a_workload_of_either_generation_is_granted_and_goes_with_its_cr(cluster, x, fields):
    cluster.api.create(cr("one", coreIds=["4", "5-6"], **fields))
    state = await_state(cluster, "one")
    assert (state["id"], state["status"], state["coreIds"], state["rdt"]["cache"]) == ("cr.default.one", "Successful", ["4", "5-6"], GUARANTEE)
    assert x.groups()[state["cosName"]]["cpus"] == "4-6"
    cluster.api.delete("RmdWorkload", "one")
    wait_for(lambda: x.workloads() == [], "the workload to go")


def test_a_policy_is_granted_by_name(cluster, x):
    cluster.api.create(cr("one", coreIds=["4"], policy="gold"))
    state = await_state(cluster, "one")
    assert (state["policy"], state["rdt"]["cache"]) == ("gold", {"max": 3, "min": 3})
    assert x.groups()[state["cosName"]]["cpus"] == "4"
    heading, row = cluster.kubectl("get", "rmdworkloads").stdout.splitlines()
    assert heading.split() == ["NAME", "CPUS", "POLICY", "CONTAINER", "AGE"] and row.split()[:3] == ["one", '["4"]', "gold"]


def test_a_node_that_leaves_the_list_gives_the_workload_back(cluster, x, y):
    cluster.api.create(cr("both", nodes=["node-x", "node-y"], coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "both", "node-x")
    await_state(cluster, "both", "node-y")
    cluster.api.merge("RmdWorkload", "both", {"spec": {"nodes": ["node-y"]}})
    wait_for(lambda: x.workloads() == [] and state_of(cluster, "both", "node-x") is None, "node-x to give it back")
    assert len(y.workloads()) == 1


@pytest.mark.parametrize("fields", [{"pstate": {"ratio": "3.0", "monitoring": "off"}}, {"plugins": {"pstate": {"ratio": "3.0", "monitoring": "off"}}}], ids=["0.1", "0.2"])
def test_a_ratio_of_either_generation_is_granted(cluster, x, fields):
    cluster.api.create(cr("one", coreIds=["4"], rdt={"cache": GUARANTEE}, **fields))
    assert await_state(cluster, "one")["plugins"]["pstate"] == {"ratio": "3", "monitoring": "off"}


def test_all_cores_without_reserved_ones(cluster, x):
    cluster.api.create(cr("all", allCores=True, reservedCoreIds=["0-1", "8"], rdt={"cache": GUARANTEE}))
    name = await_state(cluster, "all")["cosName"]
    assert x.groups()[name]["cpus"] == "2-7,9-15"


def test_a_changed_cr_replaces_the_whole_request(cluster, x):
    mba = {"percentage": 50} if x.call("GET", "/v1/mba")["mba_request"] == "percentage" else {"mbps": 10000}  # by the host's vendor
    cluster.api.create(cr("one", coreIds=["4"], rdt={"cache": GUARANTEE, "mba": mba}))
    assert await_state(cluster, "one")["rdt"]["mba"] == mba
    cluster.api.merge("RmdWorkload", "one", {"spec": {"coreIds": ["7"], "rdt": {"mba": None}}})
    wait_for(lambda: (state_of(cluster, "one") or {}).get("coreIds") == ["7"], "the other CPU")
    assert x.workloads()[0]["rdt"].get("mba", {}) == {}


def test_what_does_not_fit_fails_on_its_node_alone_with_the_reason(cluster, x, y):
    cluster.api.create(cr("one", coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "one")
    cluster.api.create(cr("two", nodes=["node-x", "node-y"], coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "two", "node-y")
    assert "CPU 4 belongs to workload cr.default.one" in await_state(cluster, "two", response="Fail: ")["response"]


MOST_NODES = 1000  # of a CR, in deploy/crds.yaml


def test_a_list_of_too_many_nodes_is_refused(cluster, x):
    with pytest.raises(Refused, match=f"must have at most {MOST_NODES} items"):
        cluster.api.create(cr("many", nodes=[f"node-{number}" for number in range(MOST_NODES + 1)], coreIds=["4"]))


def test_a_node_too_many_has_its_grant_and_an_event_tells_that_it_is_not_shown(cluster, x):
    cluster.api.create(cr("many", nodes=None, nodeSelector={"rack": "none"}, coreIds=["4"], rdt={"cache": GUARANTEE}))
    cluster.api.merge("RmdWorkload", "many", {"status": {"workloadStates": {f"node-{number}": {"response": "Success: 200"} for number in range(MOST_NODES)}}}, sub="status")
    cluster.api.merge("RmdWorkload", "many", {"spec": {"nodeSelector": {"rack": "x"}}})
    cluster.await_event("many", "node node-x: the status cannot have its state: ")
    cluster.await_event("many", f"status.workloadStates: Too many: {MOST_NODES + 1}: must have at most {MOST_NODES} items")
    assert [each["id"] for each in x.workloads()] == ["cr.default.many"]
    cluster.api.merge("RmdWorkload", "many", {"status": {"workloadStates": {"node-0": None}}}, sub="status")
    await_state(cluster, "many")


def test_cpus_that_the_node_does_not_have_are_named(cluster, x):
    cluster.api.create(cr("one", coreIds=["4", "99"], rdt={"cache": GUARANTEE}))
    assert "CPU 99" in await_state(cluster, "one", response="Fail: ")["response"]
    assert x.workloads() == []


def test_the_later_of_two_gets_the_cpus_once_the_earlier_is_gone(cluster, x):
    cluster.api.create(cr("one", coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "one")
    cluster.api.create(cr("two", coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "two", response="Fail: ")
    cluster.await_event("two", "node node-x: Fail: ")
    cluster.api.delete("RmdWorkload", "one")
    state = await_state(cluster, "two")
    cluster.await_event("two", f"node node-x: class {state['cosName']}, CPUs 4")


def test_a_selector_follows_the_labels_of_nodes(cluster, x, y):
    cluster.api.create(cr("rack", nodes=[], nodeSelector={"rack": "x"}, coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "rack", "node-x")
    assert y.workloads() == []
    cluster.api.merge("RmdWorkload", "rack", {"spec": {"nodeSelector": {"rack": "y"}}})
    await_state(cluster, "rack", "node-y")
    wait_for(lambda: x.workloads() == [] and state_of(cluster, "rack", "node-x") is None, "node-x to give it back")
    cluster.api.merge("Node", "node-x", {"metadata": {"labels": {"rack": "y"}}})
    await_state(cluster, "rack", "node-x")
    cluster.api.merge("Node", "node-x", {"metadata": {"labels": {"rack": "x"}}})


def test_a_cr_that_goes_while_the_client_is_down_is_found_when_it_is_back(cluster, x, y):
    cluster.api.create(cr("both", nodes=["node-x", "node-y"], coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "both", "node-x")
    await_state(cluster, "both", "node-y")
    x.client.kill9()
    cluster.api.delete("RmdWorkload", "both")
    wait_for(lambda: y.workloads() == [], "the other node to give it back")
    assert len(x.workloads()) == 1
    x.client.start()
    wait_for(lambda: x.workloads() == [], "the workload to go")


@pytest.mark.parametrize("silent", ["client", "nrd"])
def test_a_node_that_is_silent_delays_no_other(cluster, x, y, silent):
    getattr(y, silent).stop()
    try:
        cluster.api.create(cr("both", nodes=["node-x", "node-y"], coreIds=["4"], rdt={"cache": GUARANTEE}))
        began = time.monotonic()
        await_state(cluster, "both", "node-x")
        assert time.monotonic() - began < MOST_DELAY
        assert (state_of(cluster, "both", "node-y") or {}).get("response") != "Success: 200"
    finally:
        getattr(y, silent).proceed()
    await_state(cluster, "both", "node-y")


def test_an_idle_node_client_asks_the_api_server_for_nothing_but_watches(cluster, x, y):
    """Both together at most once each in a minute."""
    cluster.api.create(cr("one", nodes=["node-x", "node-y"], coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "one", "node-x")
    await_state(cluster, "one", "node-y")
    time.sleep(5)  # until the states are written
    before = len(cluster.requests())
    time.sleep(60)
    asked = [(each["verb"], each["requestURI"]) for each in cluster.requests()[before:] if each["verb"] != "watch"]
    assert len(asked) <= 2, asked


@pytest.mark.parametrize(("spec", "part"), [
    ({"coreIds": ["4"], "cache": {"max": 1, "min": 2}}, "max must not be less than min"),
    ({"coreIds": ["4"], "rdt": {"cache": {"max": 1, "min": 2}}}, "max must not be less than min"),
    ({"coreIds": ["4"], "nodes": [], "cache": GUARANTEE}, "the workload has no node"),
    ({"cache": GUARANTEE}, "the workload has no CPUs"),
    ({"coreIds": ["four"], "cache": GUARANTEE}, "should match"),
    ({"coreIds": ["4"], "cache": {"max": 2}}, "Required value"),
    ({"coreIds": ["4"], "cach": GUARANTEE}, 'unknown field "spec.cach"'),
    ({"coreIds": ["4"], "nodes": ["n"] * 5001, "cache": GUARANTEE}, "Too many"),
])
def test_the_api_server_refuses_what_needs_no_node_to_be_wrong(cluster, nodes, spec, part):
    with pytest.raises(Refused, match=part):
        cluster.api.request("POST", "/apis/intel.com/v1alpha1/namespaces/default/rmdworkloads?fieldValidation=Strict", cr("bad", **spec))


def test_the_node_state_has_the_workloads_with_the_operators_texts(cluster, x):
    cluster.api.create(cr("one", coreIds=["4", "5"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "one")
    def shown():
        status = cluster.api.get("RmdNodeState", "rmd-node-state-node-x").get("status", {})
        return (status.get("workloads") or {}).get("cr.default.one")  # null when the last has gone
    texts = wait_for(shown, "the workload in the node's state")
    assert {key: texts[key] for key in ("ID", "Core IDs", "Status", "Cache Max", "Cache Min")} == {
        "ID": "cr.default.one", "Core IDs": "4,5", "Status": "Successful", "Cache Max": "2", "Cache Min": "2"}
    cluster.api.delete("RmdWorkload", "one")
    wait_for(lambda: not shown(), "the workload to leave the state")


def pool(cpus):
    return f'[[cpu.pools]]\nname = "common"\ncpus = "{cpus}"\nkind = "shared"\n'


def pool_sizes(cluster, node):
    status = (cluster.api.find("RmdNodeState", f"rmd-node-state-{node}") or {}).get("status", {})
    return {name: found["cpus"] for name, found in (status.get("pools") or {}).items()}


def test_the_node_state_follows_cpu_pools_until_the_last_has_gone(cluster, x):
    before = x.config
    for text, expected in ((pool("4-5"), {"common": 2}), (pool("4-7"), {"common": 4}), ("", {})):
        x.reload(before + text)
        wait_for(lambda expected=expected: pool_sizes(cluster, "node-x") == expected, f"the pools {expected}", 15)
    cluster.api.create(cr("one", coreIds=["4"], rdt={"cache": GUARANTEE}))
    wait_for(lambda: "cr.default.one" in (cluster.api.get("RmdNodeState", "rmd-node-state-node-x")["status"]["workloads"] or {}), "the next workload")


def test_pools_of_one_name_are_each_nodes_own(cluster, x, y):
    before = {worker: worker.config for worker in (x, y)}
    x.reload(before[x] + pool("4-5"))
    y.reload(before[y] + pool("4-9"))
    wait_for(lambda: [pool_sizes(cluster, worker.name) for worker in (x, y)] == [{"common": 2}, {"common": 6}], "a pool of two CPUs and one of six", 15)
    for worker in (x, y):
        worker.reload(before[worker])
    wait_for(lambda: not any(pool_sizes(cluster, worker.name) for worker in (x, y)), "no pools", 15)


def test_a_deleted_node_state_is_made_again(cluster, x):
    """With the next change; without one within six minutes."""
    before = wait_for(lambda: cluster.api.find("RmdNodeState", "rmd-node-state-node-x"), "the node's state")
    cluster.api.delete("RmdNodeState", "rmd-node-state-node-x")
    cluster.api.create(cr("again", coreIds=["4"], rdt={"cache": GUARANTEE}))
    def shown():
        found = cluster.api.find("RmdNodeState", "rmd-node-state-node-x")
        return found and "cr.default.again" in (found.get("status", {}).get("workloads") or {}) and found
    after = wait_for(shown, "another state with the workload")
    assert after["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"] and after["spec"] == before["spec"]


def test_a_node_client_writes_of_its_own_node_only(cluster, x, y):
    cluster.api.create(cr("both", nodes=["node-x", "node-y"], coreIds=["4"], rdt={"cache": GUARANTEE}))
    await_state(cluster, "both", "node-x")
    await_state(cluster, "both", "node-y")
    client = Api(cluster.api.port, cluster.pki, token_of(cluster, "node-x"))
    foreign = {"status": {"workloadStates": {"node-y": {"response": "mine"}}}}
    with pytest.raises(Refused, match="workloadStates of its own node only"):
        client.merge("RmdWorkload", "both", foreign, sub="status")
    with pytest.raises(Refused, match="workloadStates of its own node only"):
        client.merge("RmdWorkload", "both", {"status": None}, sub="status")
    with pytest.raises(Refused, match="RmdNodeState of its own node only"):
        client.merge("RmdNodeState", "rmd-node-state-node-y", {"spec": {"node": "mine"}})
    with pytest.raises(Refused, match="RmdWorkloads of its own containers only"):
        client.request("DELETE", client.path("RmdWorkload", name="both"))
    for labels in ({}, {"nrd.internal/automatic": "node-y"}):
        with pytest.raises(Refused, match="RmdWorkloads of its own containers only"):
            client.create({**cr("more", coreIds=["5"], rdt={"cache": GUARANTEE}), "metadata": {"name": "more", "labels": labels}})
    client.merge("RmdWorkload", "both", {"status": {"workloadStates": {"node-x": {"status": "mine"}}}}, sub="status")


def test_a_node_client_writes_events_of_its_own_node_only(cluster, x):
    client = Api(cluster.api.port, cluster.pki, token_of(cluster, "node-x"))
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"generateName": "one-"}, "type": "Normal", "reason": "Granted",
             "action": "Grant", "note": "mine", "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "nrd.internal/node",
             "regarding": {"kind": "Pod", "namespace": "default", "name": "one"}}
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    for mine in ({"reportingInstance": "node-y"}, {"reportingInstance": "node-x", "reportingController": "kubelet"}):
        with pytest.raises(Refused, match="events of its own node only"):
            client.request("POST", path, {**event, **mine})
    client.request("POST", path, {**event, "reportingInstance": "node-x"})


@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/api/v1/namespaces/default/secrets"),
    ("GET", "/api/v1/pods"),
    ("PATCH", "/apis/intel.com/v1alpha1/namespaces/default/rmdworkloads/both"),
    ("DELETE", "/apis/intel.com/v1alpha1/namespaces/default/rmdnodestates/rmd-node-state-node-x"),
])
def test_a_node_client_has_no_other_right(cluster, nodes, method, path):
    client = Api(cluster.api.port, cluster.pki, token_of(cluster, "node-x"))
    with pytest.raises(Refused, match="forbidden"):
        client.request(method, path, {} if method == "PATCH" else None, "application/merge-patch+json")
