"""Boots, and mounts of resctrl, with fewer classes or ways, or other caches, than workloads were granted."""

import pytest
from frequencies import WINDOW, post, window
from harness import DRIFT, Node, wait_for


def move(node, is_same_boot=False, **shape):
    """nrd's state to a node of this shape."""
    node.kill9()
    node.sim.stop()
    node.power_on(**shape)
    if is_same_boot:
        node.change_store("UPDATE node SET boot_id = ?", (node.sim.read("/proc/sys/kernel/random/boot_id").strip(),))


def granted(node):
    """The ids of workloads that have ways, which is what the hardware says; the others have no class."""
    workloads = node.list()
    masks = {name: group["L3"] for name, group in node.hardware().items()}
    for each in workloads:
        assert (each["status"] == "Successful") == bool(each["cos_name"]) == bool(each["granted_ways"]), each
        assert all(masks[each["cos_name"]][cache] == ways["mask"] for cache, ways in each["granted_ways"].items()), (each, masks)
    return [each["id"] for each in workloads if each["cos_name"]]


@pytest.mark.parametrize(("shape", "is_same_boot", "kept"), [
    ({"closids": 4}, False, 3), ({"closids": 8, "cdp": True}, False, 7), ({"closids": 8, "cdp": True}, True, 7), ({"ways": 5}, False, 8),
    ({"sockets": 1, "ways": 5, "closids": 4}, False, 3)], ids=["fewer classes", "cdp", "cdp of a new mount", "fewer ways", "another machine"])
def test_workloads_get_what_there_is_and_the_rest_when_others_go(shape, is_same_boot, kept):
    with Node(DRIFT) as node:
        ids = [node.create(str(cpu), 1, 1)["id"] for cpu in [*range(5), *range(8, 12)]]
        ids += [node.create(["12", "13"], 3, 1)["id"], node.create("15", 0, 0)["id"]]
        move(node, is_same_boot, **shape)
        node.start()
        found = granted(node)
        assert len(found) == kept, found
        health = node.health()
        assert health["status"] == "degraded" and "has no ways" in health["hardware_problem"], health
        for id in found:
            node.delete(id)
            ids.remove(id)
        wait_for(lambda: len(granted(node)) == min(kept, len(ids)), "others to get their ways")
        while len(ids) > 2:
            node.delete(ids.pop())
        wait_for(lambda: node.health()["status"] == "ok", "the rest to have all that they asked for")
        node.assert_consistent(ids)


def test_all_is_released_on_a_node_with_fewer_classes():
    with Node() as node:
        for cpu in range(5):
            node.create(str(cpu), 1, 1)
        move(node, closids=4)
        reset = node.run_daemon("--reset")
        assert reset.returncode == 0, reset.stderr
        node.start()
        node.assert_consistent(set())


@pytest.mark.parametrize("shape", [{"cache_ids": "0,4"}, {"sockets": 4}, {"level": 2, "mb": False}], ids=["other ids", "more caches", "L2 alone"])
def test_ways_are_on_the_caches_that_cpus_have_now(shape):
    with Node(DRIFT) as node:
        ids = [node.create(cpus, most, least)["id"] for cpus, most, least in [("4-5", 2, 2), ("8-9", 3, 1), ("12", 2, 2), ("14", 0, 0)]]
        for there in (shape, {}):
            move(node, **there)
            node.start()
            assert granted(node) == ids and node.health()["status"] == "ok", node.health()
            if "level" not in there:
                node.assert_consistent(ids)


def test_mounts_with_and_without_cdp_are_followed():
    with Node(DRIFT, mb_unit="percent") as node:
        ids = {node.create("4", 2, 2)["id"], node.create("5", 3, 1)["id"], node.create(["6", "12"], 0, 0)["id"]}
        node.sim.control("remount cdp")
        wait_for(lambda: len(node.hardware()) == 4 and node.health()["status"] == "ok", "the groups")
        node.assert_consistent(ids)
        split = node.call("POST", "/v1/workloads", {"core_ids": ["8"], "cache": {"max": 3, "min": 3, "code": 1}})
        assert node.hardware()[split["cos_name"]]["code"]["1"] == split["granted_ways"]["1"]["code"]
        node.sim.control("remount percent")
        wait_for(lambda: "workload 4 were granted separate ways but share them now" in node.health()["hardware_problem"], "the report")
        node.delete(split["id"])
        wait_for(lambda: node.health()["status"] == "ok", "the end of it")
        node.assert_consistent(ids)


def test_masks_that_became_too_short_do_not_block_other_workloads():
    with Node(DRIFT) as node:
        short, other = node.create("4", 1, 1)["id"], node.create("5", 2, 2)["id"]
        move(node, min_cbm_bits=2)
        node.start()
        assert granted(node) == [other] and "workload 1 has no ways" in node.health()["hardware_problem"]
        node.delete(short)
        node.assert_consistent([other])
        assert node.health()["status"] == "ok"


def test_ways_wait_for_cpus_that_are_offline():
    with Node(DRIFT) as node:
        id = node.create(["4", "12"], 2, 2)["id"]
        move(node, cache_ids="4,0", offline="12")
        node.start()
        assert granted(node) == [id] and list(node.list()[0]["granted_ways"]) == ["4"]
        node.sim.control("online 12")
        wait_for(lambda: set(node.list()[0]["granted_ways"]) == {"0", "4"}, "the ways of CPU 12")
        node.assert_consistent([id])


def test_a_node_without_cache_allocation_serves_the_rest_and_releases_all():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        ways, windowed = node.create("12", 2, 2)["id"], post(node, WINDOW)["id"]
        move(node, rdt=False, cpufreq="intel_pstate")
        node.start()
        assert [each["status"] for each in node.list()] == ["Failed", "Successful"] and window(node, 4)["max"] == 3_000_000
        assert "workload 1 has no ways: L3 CAT: the kernel has no resctrl" in node.health()["hardware_problem"]
        node.delete(windowed)
        id = post(node, WINDOW, ["6"])["id"]
        move(node, cpufreq="intel_pstate")
        node.start()
        assert node.health()["status"] == "ok" and window(node, 6)["max"] == 3_000_000
        node.delete(id)
        node.assert_consistent([ways])
        move(node, rdt=False)
        node.start()
        node.delete(ways)
        assert node.list() == [] and node.health()["hardware_problem"] == ""


@pytest.mark.parametrize(("config", "shape"), [("[cache_pools]\nguarantee = 10\nbesteffort = 0\nshared = 0\n", {"ways": 5}), ("", {"rdt": False})],
                         ids=["fewer ways than its pools", "no cache allocation"])
def test_all_is_released_on_another_node(config, shape):
    with Node(config) as node:
        node.create("4", 2, 2)
        move(node, **shape)
        reset = node.run_daemon("--reset")
        assert reset.returncode == 0, reset.stderr
        move(node)
        node.start()
        node.assert_consistent(set())


def test_cpus_that_do_not_exist_any_more_are_reported():
    with Node(DRIFT) as node:
        ids = [node.create("4", 2, 2)["id"], node.create("12", 2, 2)["id"]]
        move(node, cpus=8)
        node.start()
        assert [each["status"] for each in node.list()] == ["Successful", "Failed"]
        assert "CPU 12 of workload 2 does not exist" in node.health()["hardware_problem"]
        move(node)
        node.start()
        node.assert_consistent(ids)
        assert node.health()["status"] == "ok"
