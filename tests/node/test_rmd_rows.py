"""What clients of RMD could do, row by row of docs/rmd-compatibility.md: workloads and the views of the node.

The node, its endpoints and its operation are in test_rmd_rows_node.py.
"""

import json

import pytest
from harness import Node, Refused
from masks import bits, cpus_of
from rmd_table import CONFLICT, INVALID, came_from_elsewhere, counts, created, masks, not_created, refusal, rmd_body
from test_branch_monitoring import FASTEST, SLOWEST, monitored, pinned
from test_cache_view import RMD

pytest_plugins = "rmd_nodes"


# Workloads and their pools

# Row 1
def test_lists_of_cpus_are_accepted(node):
    cores = ["4", "6-7", "9,11-12"]
    status, text, headers = node.request("POST", "/v1/workloads", rmd_body(cores, (2, 2)))
    assert (status, headers["Content-Type"]) == (201, "application/json")
    workload = json.loads(text)
    assert list(workload)[:6] == ["id", "core_ids", "status", "cos_name", "rdt", "origin"]
    assert (workload["core_ids"], workload["status"], workload["origin"]) == (cores, "Successful", "REST")
    assert workload["rdt"] == {"cache": {"max": 2, "min": 2}, "mba": {}}
    assert cpus_of(node.hardware()[workload["cos_name"]]["cpus"]) == {4, 6, 7, 9, 11, 12}
    status, text = not_created(node, ["20"], (1, 1), core_id=["20"])
    assert status == 400 and '/core_id: unknown key "core_id"; did you mean "core_ids"?' in text


@pytest.mark.parametrize("ways, pool", [((0, 0), "shared"), ((3, 1), "besteffort"), ((3, 3), "guarantee")])
# Row 3
def test_max_and_min_determine_the_pool(node, ways, pool):
    assert created(node, ["4"], ways)["pool"] == pool
    for none, words in (((3, 0), "Bad cache ways request. Details: max_cache=3, min_cache=0, doesn't support"),
                        ((1, 3), "Min cache value cannot be greater than max cache value")):
        status, text = not_created(node, ["5"], none)
        assert status == 400 and text.startswith(words + ". Details: /rdt/cache/min: "), text


# Row 1
def test_null_counts_as_absent(node):
    """As encoders of other languages write what was not set, and as RMD's decoder took it."""
    unset = dict.fromkeys(["id", "task_ids", "policy", "status", "cos_name", "uuid", "origin", "plugins", "pstate", "cache",
                           "backend_plugin_info"])
    rdt = {"cache": {"max": 2, "min": 2}, "mba": {"percentage": None, "mbps": None}}
    workload = node.call("POST", "/v1/workloads", {**unset, "core_ids": ["4"], "rdt": rdt})
    assert (workload["cache"], workload.get("uuid")) == ({"max": 2, "min": 2}, None)
    path = "/v1/workloads/" + workload["id"]
    wider = node.call("PATCH", path, {"core_ids": None, "uuid": None, "cache": {"max": 3, "min": 3}})
    assert (wider["core_ids"], wider["cache"]) == (["4"], {"max": 3, "min": 3})
    wider = node.call("PATCH", path, {"cache": {"max": 4, "min": None}})
    assert wider["cache"] == {"max": 4, "min": 3}
    for body, words in (({**unset, "core_ids": None, "rdt": rdt}, "No task or core id specified\n"),
                        (rmd_body(["5"], (None, 2)), "Need to provide both cache.* or none of them\n"),
                        (rmd_body(["5"], (None, None)), "No RDT/Plugins params in workload\n")):
        assert refusal(node, "POST", "/v1/workloads", body) == (400, INVALID + words)
    pstate = {"pstate": {"ratio": None, "monitoring": None}}
    assert "plugins" not in created(node, ["5"], (1, 1), plugins=pstate)


# Row 4
def test_guarantees_are_contiguous_and_leave_the_longest_run(node):
    first, second = created(node, ["4-5"], (4, 4)), created(node, ["6"], (3, 3))
    assert (masks(first), masks(second)) == ({"0": "1e"}, {"0": "e0"})
    assert node.hardware()[first["cos_name"]]["L3"] == {"0": "1e", "1": "fffff"}


# Row 5
def test_best_effort_gets_free_ways_up_to_max(node):
    assert masks(created(node, ["4"], (5, 2))) == {"0": "3e000"}
    assert masks(created(node, ["5"], (4, 1))) == {"0": "1800"}
    status, text = not_created(node, ["6"], (3, 1))
    assert status == 409 and text.startswith("Not enough cache left on cache_id 0. Details: ")
    for cpu, ways, cache, pool in (("6", (11, 11), 0, "guarantee"), ("26", (9, 8), 1, "besteffort")):
        status, text = not_created(node, [cpu], ways)
        assert status == 400 and text.startswith(f"Not enough cache left on cache_id {cache}. Details: ") and pool in text
    with Node("[cache_pools]\nshared = 0\n", sockets=1, cpus=4) as without:
        status, text = not_created(without, ["1"], (0, 0))
        assert status == 422 and text.startswith(
            "Unable to read cache schemata; error doesn't support pool shared. Details: ")


# Row 6
def test_best_effort_shrinks_for_new_workloads(odd):
    ids = [created(odd, [cpu], (7, 2))["id"] for cpu in ("0", "1", "2")]
    granted = [int(masks(odd.call("GET", f"/v1/workloads/{id}"))["4"], 16) for id in ids]
    assert sum(granted) == 0xfe00 and sorted(mask.bit_count() for mask in granted) == [2, 2, 3]


# Row 7
def test_best_effort_grows_back(odd):
    ids = [created(odd, [cpu], (7, 2))["id"] for cpu in ("0", "1", "2")]
    for id in ids[1:]:
        odd.delete(id)
    grown = odd.call("GET", f"/v1/workloads/{ids[0]}")
    assert masks(grown) == {"4": "fe00"} and odd.hardware()[grown["cos_name"]]["L3"]["4"] == "fe00"


# Row 8
def test_shared_workloads_have_one_class(node):
    first, second = created(node, ["4"], (0, 0)), created(node, ["24"], (0, 0))
    node.kill9_and_start()
    third = created(node, ["5"], (0, 0))
    assert first["cos_name"] == second["cos_name"] == third["cos_name"]
    group = node.hardware()[first["cos_name"]]
    assert (group["L3"], cpus_of(group["cpus"])) == ({"0": "c0000", "1": "c0000"}, {4, 5, 24})


# Row 11
def test_a_policy_has_the_values_of_its_file(node, odd):
    gold = created(node, ["4"], (0, 0), policy="gold")  # as the operator sends it
    assert (gold["policy"], gold["rdt"]["cache"], masks(gold)) == ("gold", {"max": 4, "min": 4}, {"0": "1e"})
    assert created(node, ["5"], policy="silver")["pool"] == "besteffort"
    assert created(node, ["6"], policy="bronze")["pool"] == "shared"
    assert not_created(node, ["7"], policy="lead") == (
        400, INVALID + "Could not find the Policy. Can not find specified policy lead\n")
    assert bits(masks(created(odd, ["4"], policy="gold"))["4"]) == 4  # the same from YAML


# Row 13
def test_pstate_takes_ratio_and_monitoring():
    with monitored() as (node, branches):
        asked = rmd_body(["4-5"], (2, 2), plugins={"pstate": {"ratio": 3.0, "monitoring": "on"}})
        workload = node.call("POST", "/v1/workloads", asked)
        assert workload["plugins"] == asked["plugins"] and pinned(node, 4) == pinned(node, 5) == FASTEST
        assert node.call("GET", "/v1/pstate/4")["monitoring"]["ratio_threshold"] == 3
        off = node.call("PATCH", "/v1/workloads/1", {"plugins": {"pstate": {"ratio": 3, "monitoring": "off"}}})
        assert off["plugins"]["pstate"]["monitoring"] == "off" and pinned(node, 4) == (SLOWEST, FASTEST)


# Row 14
def test_other_plugins_are_refused(node):
    assert not_created(node, ["4"], (1, 1), plugins={"sampleplugin": {"identifier": 1}}) == (
        400, INVALID + "Trying to use module that is not loaded\n")
    assert node.request("GET", "/v1/sampleplugin")[:2] == (404, "404: Page Not Found\n")
    created(node, ["4"], plugins={"pstate": {"ratio": 1.5, "monitoring": "off"}})
    assert node.request("GET", "/v1/pstate?view=rmd")[0] == 200
    assert node.request("GET", "/v1/pstate?view=RMD")[:2] == (400, '?view: unknown view "RMD" (allowed: rmd)\n')


# Row 15
def test_uuids_are_stored_and_unique(node):
    workload = created(node, ["4"], (1, 1), uuid="vm-1")
    assert workload["uuid"] == "vm-1" and node.call("GET", "/v1/workloads?uuid=vm-1") == [workload]
    assert "uuid" not in created(node, ["5"], (1, 1)) and "uuid" not in created(node, ["7"], (1, 1), uuid=None)
    assert not_created(node, ["6"], (1, 1), uuid="vm-1") == (
        400, CONFLICT + f"UUID vm-1 already exists in workload {workload['id']}\n")


# Row 16
def test_workloads_of_another_origin_are_unchangeable():
    with Node(sockets=1, cpus=4) as node:
        assert created(node, ["1"], (1, 1), origin="OPENSTACK")["origin"] == "REST"
        came_from_elsewhere(node, 1)
        before, listed = counts(node), node.list()
        for method, verb in (("PATCH", "modify"), ("DELETE", "delete")):
            status, text, headers = node.request(method, "/v1/workloads/1", {"cache": {"max": 2, "min": 2}})
            assert (status, headers["Content-Type"]) == (200, "text/plain")
            assert text == f"200: You only have permission to {verb} REST origin workloads\n"
        assert (counts(node), node.list()) == (before, listed) and listed[0]["origin"] == "OPENSTACK"


# Row 17
def test_ids_are_consecutive_or_chosen_and_never_reused(node):
    first = created(node, ["4"], (1, 1))["id"]
    assert first.isdigit() and int(created(node, ["5"], (1, 1))["id"]) == int(first) + 1
    assert created(node, ["6"], (1, 1), id="mine")["id"] == "mine"
    node.delete(first)
    assert created(node, ["4"], (1, 1))["id"] != first


# Row 18
def test_conflicts_have_rmds_text(node):
    id = created(node, ["4-6"], (1, 1), uuid="u")["id"]
    assert not_created(node, ["5-7", "4"], (1, 1)) == (400, CONFLICT + "CPU list [4 5 6] has been assigned\n")
    assert not_created(node, ["7"], (1, 1), uuid="u") == (400, CONFLICT + f"UUID u already exists in workload {id}\n")
    assert not_created(node, ["7"], (1, 1), id=id) == (400, CONFLICT + f"Workload with id {id} already exists\n")


# Row 19
def test_workloads_are_listed_and_read_singly(node):
    assert node.request("GET", "/v1/workloads")[1] == "[]"
    workloads = [created(node, [str(cpu)], (1, 1)) for cpu in (4, 5)]
    assert node.list() == workloads
    assert node.call("GET", "/v1/workloads/" + workloads[1]["id"]) == workloads[1]
    status, text, headers = node.request("GET", "/v1/workloads/no-such")
    assert (status, text, headers["Content-Type"]) == (404, "404: Could not found workload\n", "text/plain")


# Row 20
def test_a_repeated_patch_changes_nothing(node):
    asked = rmd_body(["4-5"], (2, 2), uuid="cr", plugins={"pstate": {"ratio": 3.0, "monitoring": "off"}})
    path = "/v1/workloads/" + node.call("POST", "/v1/workloads", asked)["id"]
    before, workload = counts(node), node.call("GET", path)
    assert node.request("PATCH", path, asked)[0] == 200
    assert (counts(node), node.call("GET", path)) == (before, workload)


# Row 21
def test_cache_policy_and_plugins_can_be_patched(node):
    path = "/v1/workloads/" + created(node, ["4-5"], (2, 2), plugins={"pstate": {"max_ratio": 20}})["id"]
    wider = node.call("PATCH", path, {"rdt": {"cache": {"max": 5, "min": 5}}})
    assert masks(wider) == {"0": "3e"} and wider["plugins"] == {"pstate": {"max_ratio": 20}}
    faster = node.call("PATCH", path, {"plugins": {"pstate": {"max_ratio": 30}}})
    assert node.sim.freq()["4"]["max"] == 3_000_000 and masks(faster) == {"0": "3e"}
    gold = node.call("PATCH", path, {"policy": "gold"})
    assert (gold["policy"], gold["cache"]) == ("gold", {"max": 4, "min": 4})
    own = node.call("PATCH", path, {"rdt": {"cache": {"max": 1, "min": 1}}})
    assert "policy" not in own and own["cache"] == {"max": 1, "min": 1}
    assert refusal(node, "PATCH", path, {"policy": "lead"})[0] == 400


# Row 21
def test_an_answer_can_be_edited_in_either_shape_and_sent_back(node):
    """As scripts do, whose languages keep the keys that they do not know."""
    pstate = {"ratio": 1.5, "monitoring": "off"}
    path = "/v1/workloads/" + created(node, ["4-5"], (2, 2), plugins={"pstate": pstate})["id"]

    def edited(edit):
        workload = node.call("GET", path)
        edit(workload)
        return node.call("PATCH", path, workload)
    newer = edited(lambda workload: workload["rdt"]["cache"].update(max=3, min=3))
    assert newer["cache"] == newer["rdt"]["cache"] == {"max": 3, "min": 3} and masks(newer) == {"0": "e"}
    older = edited(lambda workload: workload.update(cache={"max": 4, "min": 4}))
    assert older["cache"] == older["rdt"]["cache"] == {"max": 4, "min": 4} and masks(older) == {"0": "1e"}
    assert edited(lambda workload: workload["plugins"]["pstate"].update(ratio=2.5))["pstate"]["ratio"] == 2.5
    assert edited(lambda workload: workload["pstate"].update(ratio=3.5))["plugins"]["pstate"]["ratio"] == 3.5
    workload = node.call("GET", path)
    workload["rdt"]["cache"].update(max=5)
    assert node.call("PATCH", path, workload)["cache"] == {"max": 5, "min": 4}
    status, text = refusal(node, "PATCH", path, workload)  # repeated, it must not undo the first
    assert status == 400 and "/rdt/cache: differs from /cache" in text
    workload = node.call("GET", path)
    status, text, _ = node.request("PUT", path, {**workload, "rdt": {"cache": {"max": 1, "min": 1}}, "cache": workload["cache"]})
    assert status == 200 and masks(json.loads(text)) == {"0": "2"}


# Row 22
def test_cpus_can_be_patched(node):
    workload = created(node, ["4-7"], (2, 2))
    moved = node.call("PATCH", "/v1/workloads/" + workload["id"], {"core_ids": ["6-9"]})
    assert moved["core_ids"] == ["6-9"] and cpus_of(node.hardware()[moved["cos_name"]]["cpus"]) == {6, 7, 8, 9}


# Row 23
def test_a_delete_releases_everything(node):
    before = node.plain()
    path = "/v1/workloads/" + created(node, ["4-7"], (2, 2))["id"]
    assert node.plain() != before
    assert node.request("DELETE", path, headers={"Content-Type": "application/json"})[:2] == (200, "")
    assert node.plain() == before and node.request("DELETE", path)[:2] == (404, "404: Could not found workload\n")


# Views of the node

# Row 24
def test_the_cache_summary_is_as_in_rmd(node):
    summary = node.call("GET", "/v1/cache")
    assert list(summary) == ["rdt", "cqm", "cdp", "cdp_enable", "cat", "cat_enable", "caches"]
    assert all(type(summary[key]) is bool for key in list(summary)[:6])
    assert summary["caches"]["l3"] == {"number": 2, "caches_id": ["0", "1"]} and summary["caches"]["l2"]["number"] == 40


# Row 25
def test_the_last_level_and_a_single_cache_are_served(node):
    level = node.call("GET", "/v1/cache/l3")
    assert (level["number"], list(level["Caches"])) == (2, ["0", "1"]) and node.call("GET", "/v1/cache/llc/") == level
    for id, cache in level["Caches"].items():
        assert [(key, type(cache[key])) for key in list(cache)[:len(RMD)]] == list(RMD.items())
        assert node.call("GET", f"/v1/cache/l3/{id}") == cache
    assert node.request("GET", "/v1/cache/l2")[0] == 400
    assert node.request("GET", "/v1/cache/l3/9")[:2] == (404, "Cache id 9 for level 3 is not found\n")
    assert node.request("GET", "/v1/cache/l3/0abc")[:2] == (400, "Please input the correct id, it should be digital\n")


# Row 26
def test_available_ways_and_capacity_are_shown(node):
    untouched = node.call("GET", "/v1/cache/l3/1")
    created(node, ["4-5"], (4, 4))
    cache = node.call("GET", "/v1/cache/l3/0")
    assert cache["available_ways"] == "fffe0" and cache["available_cpus"] == "0-3,6-19"
    assert cache["available_ways_pool"] == {"guaranteed": "5-10", "besteffort": "11-17", "shared": "18-19", "os": "0"}
    assert cache["available_isolated_cpus"] == "" and cache["available_policy"]["gold"] == 1
    created(node, ["6"], policy="gold")
    assert node.call("GET", "/v1/cache/l3/0")["available_policy"]["gold"] == 0
    assert node.call("GET", "/v1/cache/l3/1") == untouched


# Row 27
def test_policies_are_shown(node):
    policies = node.call("GET", "/v1/policy")
    assert list(policies) == ["bronze", "gold", "silver", "thrifty"]
    assert [policies[name]["cache"] for name in policies] == [
        {"max": 0, "min": 0}, {"max": 4, "min": 4}, {"max": 3, "min": 1}, {"max": 1, "min": 1}]


# Row 28
def test_hospitality_is_answered_as_by_rmd(node):
    def score(**question):
        return node.call("POST", "/v1/hospitality", question)
    created(node, ["4-5"], (4, 4))
    created(node, ["6"], (3, 3))
    assert score(max_cache=4, min_cache=4) == {"score": {"l3": {"0": 0, "1": 100}}}
    assert score(max_cache=14, min_cache=2, cache_id=1) == {"score": {"l3": {"1": 50}}}
    assert score(max_cache=0, min_cache=0) == {"score": {"l3": {"0": 100, "1": 100}}}
    assert score(policy="gold") == {"score": {"l3": {"0": 0, "1": 100}}}
    assert node.request("POST", "/v1/hospitality", {"max_cache": 1, "min_cache": 2})[1] == (
        "Bad request, max_cache=1, min_cache=2\n")
    with pytest.raises(Refused, match="Can not find Policy. Details: Can not find specified policy lead\n"):
        score(policy="lead")
    assert node.request("GET", "/v1/hospitality")[0] == 405


# Row 29
def test_memory_bandwidth_is_reported(node):
    told = node.call("GET", "/v1/mba")
    assert list(told)[:3] == ["mba", "mba_enable", "mba_step"] and (told["mba"], told["mba_enable"]) == (True, True)
    assert type(told["mba_step"]) is int and type(told.get("mba_min", 0)) is int
