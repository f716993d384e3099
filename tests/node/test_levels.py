"""Nodes whose resctrl is mounted with CDP, and nodes whose last caches are of level 2."""

import json

from harness import DRIFT, Node, wait_for
from nrdctl import nrdctl


def test_code_and_data_get_the_same_ways():
    with Node(DRIFT, cdp=True) as node:
        cat = node.call("GET", "/v1/node")["capabilities"]
        assert cat["l3_cat"]["cdp"] is True and cat["l3_cat"]["ways"] == 11 and cat["l2_cat"] is None
        assert node.call("GET", "/v1/cache")["cdp_enable"] is True
        created = node.create("4-7", 2, 2)
        group = node.hardware()[created["cos_name"]]
        assert group["L3"]["0"] == group["code"]["0"] == created["granted_ways"]["0"]["mask"] == "6"
        node.assert_consistent({created["id"]})
        # A foreign write gives the code fewer ways; with the data mask the class still has the granted ways.
        node.sim.write(f"/sys/fs/resctrl/{created['cos_name']}/schemata", "L3CODE:0=10\n")
        wait_for(lambda: node.hardware()[created["cos_name"]]["code"]["0"] == "6", "code to have its ways again")
        node.kill9_and_start()
        node.assert_consistent({created["id"]})
        node.delete(created["id"])
        assert set(node.hardware()) == {"/"}


def apart(node, workload):
    group = node.hardware()[workload["cos_name"]]
    return group["code"]["0"], group["L3"]["0"]


def test_code_has_ways_of_its_own_where_it_is_asked_for():
    with Node(DRIFT, cdp=True) as node:
        before = node.hardware()
        created = node.call("POST", "/v1/workloads", {"core_ids": ["4-7"], "cache": {"max": 4, "min": 4, "code": 1}})
        granted = created["granted_ways"]["0"]
        assert granted == {"mask": "1e", "ways": 4, "code": "2", "data": "1c"} and created["cache"]["code"] == 1
        assert apart(node, created) == ("2", "1c")
        shown = node.sim.run_inside(["pqos", "-I", "-s"]).stdout
        assert f"L3CA {created['cos_name']} => DATA 0x1c, CODE 0x2" in shown, shown
        path = f"/v1/workloads/{created['id']}"
        node.sim.write(f"/sys/fs/resctrl/{created['cos_name']}/schemata", "L3CODE:0=3c\n")
        wait_for(lambda: apart(node, created) == ("2", "1c"), "code to be where it was granted")
        assert node.call("PATCH", path, {"rdt": {"cache": {"code": 2}}})["granted_ways"]["0"]["data"] == "18"
        assert apart(node, created) == ("6", "18")
        node.kill9()
        node.sim.control("wipe")
        node.start()
        assert apart(node, created) == ("6", "18") and node.list()[0]["status"] == "Successful"
        status, text, _ = node.request("PATCH", path, {"cache": {"code": 4}})
        assert status == 400 and "/cache/code" in text and apart(node, created) == ("6", "18"), text
        joined = node.call("PATCH", path, {"cache": {"code": None}})
        assert "code" not in joined["cache"] and "code" not in joined["granted_ways"]["0"]
        assert apart(node, created) == ("1e", "1e")
        node.delete(created["id"])
        assert node.hardware() == before


def test_code_has_no_ways_of_its_own_without_cdp():
    with Node() as node:
        before = node.plain()
        status, text, _ = node.request("POST", "/v1/workloads",
                                       {"core_ids": ["4"], "rdt": {"cache": {"max": 2, "min": 2, "code": 1}}})
        assert status == 422 and "/rdt/cache/code" in text and "cdp" in text, text
        assert node.plain() == before and node.list() == []


def test_ways_of_the_second_level_where_there_is_no_third():
    with Node(DRIFT, level=2, mb=False, caches_per_socket=2, ways=16) as node:
        capabilities = node.call("GET", "/v1/node")["capabilities"]
        assert capabilities["l3_cat"] is None and capabilities["l2_cat"]["ways"] == 16
        created = node.create("4-5", 3, 3)
        assert set(created["granted_ways"]) == {"1"}
        assert node.hardware()[created["cos_name"]]["L3"]["1"] == created["granted_ways"]["1"]["mask"]
        shown = node.sim.run_inside(["pqos", "-I", "-s"]).stdout
        assert f"L2CA {created['cos_name']} => MASK 0x{created['granted_ways']['1']['mask']}" in shown, shown
        node.reboot()
        assert node.hardware()[created["cos_name"]]["L3"]["1"] == created["granted_ways"]["1"]["mask"]
        summary = node.call("GET", "/v1/cache")["caches"]
        assert summary == {"l2": {"number": 4, "caches_id": ["0", "1", "2", "3"]}}
        assert node.call("GET", "/v1/cache/l2/1") == node.call("GET", "/v1/cache/llc/1")
        assert node.call("GET", "/v1/cache/l2/1")["CacheLevel"] == 2
        assert node.request("GET", "/v1/cache/l3")[0] == 400
        status, text, _ = node.request("POST", "/v1/hospitality", {"max_cache": 2, "min_cache": 2})
        assert status == 200 and set(json.loads(text)["score"]) == {"l2"}
        node.delete(created["id"])
        assert set(node.hardware()) == {"/"}


def l2_masks(node, clos):
    return {cache: mask for cache, mask in node.hardware()[clos]["L2"].items() if mask != "ffff"}


def test_ways_of_both_levels():
    with Node(DRIFT, l2_cat=True, l2_cpus=2) as node:
        before = node.hardware()
        capabilities = node.call("GET", "/v1/node")["capabilities"]
        assert capabilities["l3_cat"]["ways"] == 11 and capabilities["l2_cat"]["ways"] == 16
        created = node.call("POST", "/v1/workloads",
                            {"core_ids": ["4-5", "7"], "cache": {"max": 2, "min": 2}, "l2": {"ways": 4}})
        clos, path = created["cos_name"], f"/v1/workloads/{created['id']}"
        assert created["l2"] == {"ways": 4} and created["granted_ways"] == {"0": {"mask": "6", "ways": 2}}
        assert created["granted_l2_ways"] == {"2": {"mask": "f000", "ways": 4}, "3": {"mask": "f000", "ways": 4}}
        assert l2_masks(node, clos) == {"2": "f000", "3": "f000"} and node.hardware()[clos]["L3"]["0"] == "6"
        assert l2_masks(node, "/") == {"2": "fff", "3": "fff"}
        shown = node.sim.run_inside(["pqos", "-I", "-s"]).stdout
        assert f"L2CA {clos} => MASK 0xf000" in shown and f"L3CA {clos} => MASK 0x6" in shown, shown
        node.assert_consistent({created["id"]})

        # The view: RMD's keys, of the level that the path names.
        assert node.call("GET", "/v1/cache")["caches"]["l2"]["number"] == 8
        level = node.call("GET", "/v1/cache/l2")
        assert level["number"] == 8 and level["Caches"]["2"] == node.call("GET", "/v1/cache/l2/2")
        cache = level["Caches"]["2"]
        assert (cache["CacheLevel"], cache["NumWays"], cache["share_cpu_list"]) == (2, 16, "4-5")
        assert (cache["available_ways"], cache["available_ways_count"]) == ("ffe", 11)
        assert node.call("GET", "/v1/cache/llc") == node.call("GET", "/v1/cache/l3")
        assert node.call("GET", "/v1/cache/l3/0")["CacheLevel"] == 3
        assert node.request("GET", "/v1/cache/l2/8")[0] == 404
        drawn = nrdctl(node, "ways")
        assert "L2 cache 2 " in drawn and "L2 cache 4 " not in drawn, drawn
        assert "L2 CAT   16 ways" in nrdctl(node, "node")
        status, text, _ = node.request("GET", "/metrics")
        assert status == 200 and 'nrd_cache_ways_used{level="2",cache="2"} 4' in text, text

        # Others change it, nrd dies, the machine boots: it is there again.
        node.sim.write(f"/sys/fs/resctrl/{clos}/schemata", "L2:2=ff\n")
        wait_for(lambda: l2_masks(node, clos) == {"2": "f000", "3": "f000"}, "the ways of L2 to be put back")
        node.kill9()
        node.sim.control("wipe")
        node.start()
        assert l2_masks(node, clos) == {"2": "f000", "3": "f000"} and node.list()[0]["status"] == "Successful"
        node.reboot()
        assert l2_masks(node, clos) == {"2": "f000", "3": "f000"}

        # A neighbour on the same L2 cache keeps off.
        neighbour = node.call("POST", "/v1/workloads", {"core_ids": ["6"], "l2": {"ways": 11}})
        assert neighbour["pool"] == "guarantee" and neighbour["granted_ways"] == {} and neighbour["cache"] == {}
        assert l2_masks(node, neighbour["cos_name"]) == {"3": "ffe"}
        assert node.hardware()[neighbour["cos_name"]]["L3"]["0"] == node.hardware()["/"]["L3"]["0"] == "7f8"
        status, text, _ = node.request("PATCH", path, {"l2": {"ways": 6}})
        assert status == 409 and "L2 cache 3" in text and "/l2/ways" in text, text
        assert l2_masks(node, clos) == {"2": "f000", "3": "f000"}
        node.delete(neighbour["id"])
        assert node.call("PATCH", path, {"l2": {"ways": 6}})["granted_l2_ways"]["3"]["mask"] == "fc00"
        gone = node.call("PATCH", path, {"l2": None})
        assert "l2" not in gone and "granted_l2_ways" not in gone and l2_masks(node, clos) == {}
        node.delete(created["id"])
        assert node.hardware() == before


def test_code_and_data_apart_in_l2():
    with Node(l2_cat=True, l2_cdp=True) as node:
        before = node.hardware()
        printed = nrdctl(node, "workload", "create", "--cpus", "4", "--ways", "2", "--l2-ways", "4",
                         "--l2-code-ways", "1")
        assert "4 (code 1)" in printed, printed
        created = node.list()[0]
        assert created["granted_l2_ways"] == {"4": {"mask": "f000", "ways": 4, "code": "1000", "data": "e000"}}
        group = node.hardware()[created["cos_name"]]
        assert (group["l2_code"]["4"], group["L2"]["4"], group["L3"]["0"]) == ("1000", "e000", "6")
        status, text, _ = node.request("POST", "/v1/workloads",
                                       {"core_ids": ["5"], "cache": {"max": 2, "min": 2, "code": 1}})
        assert status == 422 and "/cache/code" in text, text
        node.delete(created["id"])
        assert node.hardware() == before


def test_l2_caches_come_and_go_with_their_cpus():
    with Node(DRIFT, l2_cat=True) as node:
        before = node.hardware()
        both = node.call("POST", "/v1/workloads", {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}, "l2": {"ways": 4}})
        path = f"/v1/workloads/{both['id']}"
        other = node.call("POST", "/v1/workloads", {"core_ids": ["8"], "l2": {"ways": 4}})
        # Another's cache goes. What is asked next does not wait until nrd has seen it.
        node.sim.control("offline 9")
        assert node.call("PATCH", path, {"l2": {"ways": 6}})["granted_l2_ways"]["4"]["ways"] == 6
        node.sim.control("offline 5")
        created = node.call("POST", "/v1/workloads", {"core_ids": ["6"], "l2": {"ways": 2}})
        assert l2_masks(node, created["cos_name"]) == {"6": "c000"}
        assert node.request("POST", "/v1/workloads", {"core_ids": ["9"], "l2": {"ways": 2}})[0] == 400
        wait_for(lambda: node.call("GET", "/v1/cache/l2")["number"] == 14, "the caches to be gone")
        assert {w["status"] for w in node.list()} == {"Successful"} and node.health()["status"] == "ok"
        # They come back with what they had.
        node.sim.control("online 5")
        wait_for(lambda: l2_masks(node, both["cos_name"]) == {"4": "fc00", "5": "fc00"}, "the ways of the cache that came")
        node.sim.control("online 9")
        wait_for(lambda: node.call("GET", "/v1/cache/l2")["number"] == 16, "all caches to be seen")
        assert node.health()["drift_repairs"] == 0
        # Its own goes, and at once the workload.
        node.sim.control("offline 8")
        node.delete(other["id"])
        node.sim.control("online 8")
        wait_for(lambda: "8" in node.hardware()["/"]["L2"], "the cache of CPU 8 to come")
        node.delete(both["id"])
        node.delete(created["id"])
        wait_for(lambda: node.hardware() == before, "everything to be as before")


def test_ways_of_l2_where_they_cannot_be_had():
    for shape, why in [({}, "info/L2"), ({"level": 2, "mb": False}, "only L2 caches")]:
        with Node(**shape) as node:
            before = node.plain()
            status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": ["4"], "l2": {"ways": 2}})
            assert status == 422 and "/l2" in text and why in text, text
            assert node.plain() == before and node.list() == []
