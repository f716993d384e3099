"""What operators of RMD could do, or missed, row by row of docs/rmd-compatibility.md: tasks, bandwidth, what is measured."""

import tempfile

import pytest
from harness import Node, process, wait_for
from rmd_layout import POLICIES
from rmd_nodes import OF_ITS_TIME, THRIFTY
from rmd_table import CONFLICT, INVALID, created, kept, not_created, rmd_body


@pytest.fixture(scope="module")
def node():
    """In percent, and with a cleaner that does not wait."""
    with tempfile.TemporaryDirectory() as folder:
        policies = kept(folder, file=("policy.toml", POLICIES + THRIFTY))
        with Node(policies + OF_ITS_TIME + "[tasks]\ninterval_seconds = 1\n", cpus=40, ways=20, mb_unit="percent",
                  msr="perf") as node:
            yield node


def of_tasks(node, *ids, ways=(2, 2), **more):
    return node.call("POST", "/v1/workloads", {**rmd_body([], ways, **more), "task_ids": [str(id) for id in ids]})


def group(node, workload):
    return node.hardware()[workload["cos_name"]]


# Row 2
def test_workloads_of_processes_include_all_their_threads(node):
    with process() as one, process() as other:
        workload = of_tasks(node, one.pid)
        assert workload["task_ids"] == [str(one.pid)] and group(node, workload)["tasks"] == [one.pid]
        path = "/v1/workloads/" + workload["id"]
        node.call("PATCH", path, {"task_ids": [str(other.pid)]})
        assert group(node, workload)["tasks"] == [other.pid]
        node.delete(workload["id"])
        assert workload["cos_name"] not in node.hardware()


# Row 18
def test_conflicts_of_tasks_have_rmds_text(node):
    with process() as one:
        workload = of_tasks(node, one.pid)
        said = f"TaskID {one.pid} already exists in workload {workload['id']}\n"
        assert not_created(node, [], (1, 1), task_ids=[str(one.pid)]) == (400, CONFLICT + said)
        node.delete(workload["id"])
    gone = f"The task: {one.pid} does not exist\n"
    assert not_created(node, [], (1, 1), task_ids=[str(one.pid)]) == (400, INVALID + gone)


# Row 10
def test_memory_bandwidth_is_granted_with_cache(node):
    workload = created(node, ["4-5"], rdt={"cache": {"max": 2, "min": 2}, "mba": {"percentage": 45}})
    assert workload["rdt"]["mba"] == {"percentage": 45}
    assert group(node, workload)["MB"] == {"0": "50", "1": "100"}  # as the kernel rounds it, where its CPUs are
    node.call("PATCH", "/v1/workloads/" + workload["id"], {"rdt": {"mba": {"percentage": 20}}})
    assert group(node, workload)["MB"] == {"0": "20", "1": "100"}
    node.delete(workload["id"])
    assert workload["cos_name"] not in node.hardware()
    asked = {"percentage": 50, "mbps": 1000}
    for mba in ({"mbps": 1000}, asked):
        assert not_created(node, ["4"], rdt={"cache": {"max": 2, "min": 2}, "mba": mba}) == (
            400, INVALID + "Please provide MBA in Percentage\n")
    with Node(mb_unit="mbps", sockets=1, cpus=4) as other:
        assert not_created(other, ["1"], rdt={"cache": {"max": 2, "min": 2}, "mba": asked}) == (
            400, INVALID + "Please provide MBA in Mbps\n")
    for percentage, words in ((100, "MBA forbidden for shared group\n"),
                              (50, INVALID + "MBA only supported for Guaranteed Request and not for BestEffort and Shared\n")):
        shared = {"cache": {"max": 0, "min": 0}, "mba": {"percentage": percentage}}
        assert not_created(node, ["4"], rdt=shared) == (400, words)


# Row 12
def test_a_policy_grants_memory_bandwidth(node):
    workload = created(node, ["4"], policy="thrifty")
    assert workload["rdt"]["mba"] == {"percentage": 50} and group(node, workload)["MB"]["0"] == "50"
    node.delete(workload["id"])


# Row 35
def test_workloads_end_with_their_tasks(node):
    before = node.plain()
    with process() as one:
        of_tasks(node, one.pid)
        assert node.plain() != before
    wait_for(lambda: node.list() == [], "the workload to go with its task")
    assert node.plain() == before


# Row 51
def test_l2_and_code_data_prioritization_are_granted():
    with Node(cdp=True) as node:
        workload = created(node, ["4"], (2, 2))
        assert group(node, workload)["code"]["0"] == group(node, workload)["L3"]["0"] == "6"
        node.call("PATCH", f"/v1/workloads/{workload['id']}", {"rdt": {"cache": {"code": 1}}})
        assert (group(node, workload)["code"]["0"], group(node, workload)["L3"]["0"]) == ("2", "4")
    with Node(level=2, mb=False) as node:
        assert group(node, created(node, ["4"], (2, 2)))["L3"]["0"] == "6"
        assert node.call("GET", "/v1/cache/l2")["number"] == 2
    with Node(l2_cat=True, l2_cpus=2) as node:
        workload = node.call("POST", "/v1/workloads", {"core_ids": ["4"], "cache": {"max": 2, "min": 2}, "l2": {"ways": 4}})
        assert (group(node, workload)["L3"]["0"], group(node, workload)["L2"]["2"]) == ("6", "f000")


# Row 52
def test_monitoring_and_metrics_are_served(node):
    workload = created(node, ["4"], (2, 2))
    path = f"/v1/workloads/{workload['id']}/monitoring"
    node.sim.use(workload["cos_name"], 0, "llc_occupancy", 123456)
    wait_for(lambda: node.call("GET", path)["caches"][0]["occupancy_bytes"] == 123456,
             "the sample to be taken")
    status, text, _ = node.request("GET", "/metrics")
    assert status == 200 and "nrd_workloads{" in text
    node.delete(workload["id"])
