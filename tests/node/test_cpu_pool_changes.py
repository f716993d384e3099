"""Changes of workloads and of the configuration of CPU pools, over HTTP."""

import json

import pytest

from cpu_host import FEED, PATHS, POOLS, ask, host  # noqa: F401
from cpu_pools import LARGE, large, large_node, patch, post  # noqa: F401
from harness import DRIFT, Node, wait_for
from masks import cpus_of
from nrdctl import start_run

NODES = ("2-7", "10-15")  # of pool fast, by NUMA node


def fast(count, **more):
    return {"cpu": {"pool": "fast", "count": count, **more}}


def refusal(node, method, path, body):
    status, text, _ = node.request(method, path, json.dumps(body), headers={"Accept": "application/json", "Content-Type": "application/json"})
    problem = json.loads(text)
    return status, problem.get("code"), problem.get("field"), problem.get("detail")


def test_a_patch_names_the_cpus_themselves(large):
    workload = post(large, fast(2))
    changed = patch(large, workload["id"], {"cpu": {"cpus": "12-13"}})
    assert changed["cpu"]["exclusive"] == "12-13" and changed["cpu_request"] == {"pool": "fast", "cpus": "12-13"}, changed
    assert large.call("GET", "/v1/cpus/pools/fast")["free"] == "2-7,10-11,14-15"


def test_the_cpus_of_a_workload_without_tasks_cannot_be_removed(large):
    workload = post(large, {**fast(2), "cache": {"max": 2, "min": 2}})
    refused = refusal(large, "PATCH", f"/v1/workloads/{workload['id']}", {"cpu": None})
    assert refused == (400, "BadRequest", "/cpu", "the workload would have no CPUs and no tasks")


def test_an_answer_that_is_sent_back_changes_nothing(large):
    workload = post(large, fast(2, near=["node:1"]))
    for method in ("PATCH", "PUT"):
        assert large.call(method, f"/v1/workloads/{workload['id']}", workload) == workload
    assert large.call("PATCH", f"/v1/workloads/{workload['id']}", {**workload, "name": "feed"})["cpu_request"] == workload["cpu_request"]


def test_a_patch_of_near_alone_keeps_the_cpus_until_a_resize_frees_the_farthest(large):
    workload = post(large, fast(6, near=["node:0"]))
    changed = patch(large, workload["id"], {"cpu": {"near": ["node:1"]}})
    assert changed["cpu_request"] == {"pool": "fast", "count": 6, "near": ["node:1"]} and changed["cpu"]["exclusive"] == NODES[0]
    grown = patch(large, workload["id"], {"cpu": {"count": 8}})
    assert cpus_of(grown["cpu"]["exclusive"]) > cpus_of(NODES[0])
    shrunk = patch(large, workload["id"], {"cpu": {"count": 2}})
    assert cpus_of(shrunk["cpu"]["exclusive"]) == cpus_of(grown["cpu"]["exclusive"]) - cpus_of(NODES[0])


def test_a_dry_run_has_a_choice_among_cpus_and_a_request_has_not(large):
    status, text, _ = large.request("POST", "/v1/workloads?dry_run=true", json.dumps(fast(2, among="12-15")))
    planned = json.loads(text)
    assert status == 200 and cpus_of(planned["workload"]["cpu"]["exclusive"]) <= {12, 13, 14, 15}, text
    assert refusal(large, "POST", "/v1/workloads", fast(2, among="12-15"))[:3] == (400, "BadRequest", "/cpu/among")
    status, text, _ = large.request("POST", "/v1/workloads?dry_run=true", json.dumps({"cpu": {"pool": "fast", "cpus": "4-5", "among": "5-6"}}))
    assert status == 400 and "/cpu/cpus: CPU 4 is not in among (allowed: CPUs of 5-6)" in text, text
    assert large.list() == []


def test_a_patch_of_the_pool_moves_a_unit_to_cpus_of_another(host):
    before = host.traces()
    workload = post(host.node, ask("unit"))
    assert host.cpus(FEED) == "2-3"

    def moves(effective, **cpu):
        changed = patch(host.node, workload["id"], {"cpu": cpu})
        assert changed["cpu"]["enforced"]["effective"] == changed["cpu"]["cpus"] == host.cpus(FEED) == effective, changed
        return changed["cpu_request"]

    def is_refused(field, **cpu):
        cpus = host.cpus(FEED)
        status, _, where, _ = refusal(host.node, "PATCH", f"/v1/workloads/{workload['id']}", {"cpu": cpu})
        assert (status, where) == (400, field) and host.cpus(FEED) == cpus

    assert moves("7-8", pool="wide") == {"pool": "wide", "count": 2}
    assert host.node.call("GET", "/v1/cpus/pools/fast")["free"] == "2-6"
    is_refused("/cpu/count", count=3)
    is_refused("/cpu/count", pool="common")  # a shared pool has no number of CPUs
    assert moves("10-11", pool="common", request_milli=500) == {"pool": "common", "request_milli": 500}
    assert host.read(FEED, "cpu.weight") == "20"
    is_refused("/cpu/request_milli", pool="fast")
    assert moves("2-3", pool="fast", cores=2) == {"pool": "fast", "cores": 2}
    assert host.read(FEED, "cpu.weight") == "100"
    host.node.delete(workload["id"])
    assert host.traces() == before


def test_a_count_that_replaces_cpus_frees_the_worst_placed(large):
    workload = post(large, {"cpu": {"pool": "fast", "cpus": "2-4,15", "near": ["node:0"]}})
    changed = patch(large, workload["id"], {"cpu": {"count": 3}})
    assert changed["cpu"]["exclusive"] == "2-4" and changed["cpu_request"] == {"pool": "fast", "count": 3, "near": ["node:0"]}


@pytest.mark.parametrize("old, new", [
    (LARGE[:LARGE.index("[[", 5)], ""), ('name = "fast"', 'name = "slow"'),
    ('cpus = "2-7,10-15"\nkind = "exclusive"', 'cpus = "2-7,10-15"\nkind = "shared"'),
    ('cpus = "2-7,10-15"', 'cpus = "10-15"')], ids=["removed", "renamed", "another kind", "without the CPUs"])
def test_a_reload_takes_no_granted_cpus(large, old, new):
    made = post(large, fast(2, near=["node:0"]))
    with open(large.config) as file:
        before = file.read()
    assert old in before
    large.configure(before.replace(old, new))
    status, _, _, detail = refusal(large, "POST", "/v1/config/reload", {})
    assert status == 409 and f"workloads {made['id']} would lose their CPUs" in detail, detail
    assert large.list()[0]["cpu"] == made["cpu"]
    large.delete(made["id"])
    assert large.request("POST", "/v1/config/reload", "{}")[0] == 200


def test_a_reload_takes_no_idle_sibling():
    with Node(LARGE, threads=2) as node:
        made = post(node, {"cpu": {"pool": "fast", "cpus": "4"}})
        assert made["cpu"]["idle_siblings"] == "5"
        node.configure(LARGE.replace("2-7,10-15", "2-4,6-7,10-15"))
        status, _, _, detail = refusal(node, "POST", "/v1/config/reload", {})
        assert status == 409 and "workloads 1 would lose their CPUs" in detail, detail
        assert node.list()[0]["cpu"] == made["cpu"]


@pytest.mark.parametrize("threads", ["one", "all"])
def test_a_sibling_that_first_comes_online_after_the_grant_is_kept_idle(threads):
    with Node(DRIFT + LARGE.replace('"exclusive"', f'"exclusive"\nthreads = "{threads}"'), threads=2, offline="5") as node:
        made = post(node, {"cpu": {"pool": "fast", "cpus": "4"}})
        assert made["cpu"]["idle_siblings"] == ""
        node.sim.control("online 5")
        wait_for(lambda: node.list()[0]["cpu"]["idle_siblings"] == "5", "the sibling")
        for _ in range(2):
            uses = {each["cpu"]: each["use"] for each in node.call("GET", "/v1/cpus")["cpus"]}
            assert (uses[4], uses[5]) == ("exclusive", "idle_sibling")
            assert node.call("GET", "/v1/cpus/pools/fast")["free"] == "2-3,6-7,10-15"
            node.kill9_and_start()
        node.delete(made["id"])
        assert node.call("GET", "/v1/cpus/pools/fast")["free"] == "2-7,10-15"


@pytest.mark.parametrize("asked", [{"cpu": {"pool": "fast", "cpus": "5"}}, {"core_ids": ["5"]}, {"cpu": {"pool": "fast", "count": 7}}])
def test_a_late_sibling_is_granted_to_no_other_workload(asked):
    with Node(DRIFT + LARGE, threads=2, l2_cpus=2, offline="5") as node:
        post(node, {"cpu": {"pool": "fast", "cpus": "4"}})
        node.sim.control("online 5")
        wait_for(lambda: node.call("GET", "/v1/node")["cpus"]["online"] == "0-15", "the CPU")
        assert node.request("POST", "/v1/workloads", {**asked, "cache": {"max": 0, "min": 0}})[0] in (400, 409)
        assert node.list()[0]["cpu"]["idle_siblings"] == "5"


def test_cpus_taken_while_nrd_was_stopped_are_not_in_the_way_of_a_reload(large):
    made = post(large, {"cpu": {"pool": "fast", "cpus": "4"}})
    large.kill9()
    smaller = LARGE.replace("2-7,10-15", "2-3,5-7,10-15")
    large.configure(smaller)
    large.start()
    large.configure('[log]\nlevel = "debug"\n' + smaller)
    assert large.request("POST", "/v1/config/reload", "{}")[0] == 200
    large.configure('[log]\nlevel = "debug"\n')
    assert large.request("POST", "/v1/config/reload", "{}")[0] == 409
    large.delete(made["id"])


def confine(host, kind):
    host.node.configure(f'[cpu]\nconfine = "{kind}"\n' + POOLS)
    return refusal(host.node, "POST", "/v1/config/reload", {})


@pytest.mark.parametrize("kinds", [("slices", "none"), ("partition", "none"), ("slices", "partition", "slices")])
def test_a_command_keeps_its_cpus_while_the_rest_of_the_host_is_confined(host, kinds):
    with start_run(host.node, "--pool", "fast", "--count", "2", "--", "sleep", "1000"):
        wait_for(lambda: host.node.list() and host.node.list()[0]["cpu"].get("enforced"), "the workload")
        workload, before = host.node.list()[0], host.traces()
        scope = f"/nrd.slice/{workload['cpu']['enforced']['name']}"
        for kind in kinds:
            assert confine(host, kind)[0] == 200
            assert host.cpus(scope) == "2-3" and host.node.list()[0] == workload
            assert host.cpus("/system.slice") == ("0-15" if kind == "none" else "0-1,9,12-15")
        assert (host.traces() == before) == (kinds[-1] == "none")


@pytest.mark.parametrize("target, kind, name", [
    ("unit", "slices", "feed.service"), ("unit", "partition", "feed.service"), ("cgroup", "partition", "/jobs")])
def test_a_reload_confines_nothing_that_has_cpus(host, target, kind, name):
    workload = post(host.node, ask(target))
    before = host.traces()
    status, _, _, detail = confine(host, kind)
    assert status == 409 and detail.endswith(f"nrd.toml:2: cpu.confine: outside nrd.slice these would lose their CPUs: {name} of workload 1"), detail
    assert host.traces() == before and host.cpus(PATHS[target]) == "2-3" and host.node.list()[0] == workload
    host.node.delete(workload["id"])
    if target == "cgroup":  # keeps a list of all CPUs while it has processes, and no partition is possible beside it
        host.write(PATHS[target], "cpuset.cpus", "0-1")
    assert confine(host, kind)[0] == 200


def test_a_cgroup_outside_the_slices_of_the_host_keeps_its_cpus(host):
    workload = post(host.node, ask("cgroup"))
    for kind in ("slices", "none"):
        assert confine(host, kind)[0] == 200
        assert host.cpus("/jobs") == "2-3" and host.node.list()[0] == workload
