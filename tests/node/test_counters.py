"""Newer kernels: bandwidth counters that are assigned to groups, and what is counted for each NUMA node (SNC)."""

import pytest
from harness import Node, wait_for
from test_metrics import Scrape

ALL, NONE = "mbm_total_bytes:0=e;1=e\nmbm_local_bytes:0=e;1=e\n", "mbm_total_bytes:0=_;1=_\nmbm_local_bytes:0=_;1=_\n"
RESCTRL = "/sys/fs/resctrl/"


def assigning(counters=8, **more):
    return Node(kernel="6.18", mbm_counters=counters, **more)


def assignments(node, group):
    return node.sim.read(f"{RESCTRL}{group}/mbm_L3_assignments")


def available(node):
    return node.sim.read(RESCTRL + "info/L3_MON/available_mbm_cntrs")


def usage(node, id):
    return {cache["id"]: cache for cache in node.call("GET", f"/v1/workloads/{id}/monitoring")["caches"]}


def traffic(usage):
    return usage["total_bytes"], usage["local_bytes"]


def test_classes_take_no_counters_before_monitoring_is_requested():
    with assigning() as node:
        before = available(node)
        created = [node.create(str(cpu), 1, 1) for cpu in (2, 3, 4)]
        assert [assignments(node, workload["cos_name"]) for workload in created] == [NONE] * 3
        assert available(node) == before
        node.sim.run_inside(["mkdir", RESCTRL + "theirs"])
        assert assignments(node, "theirs") == ALL
        assert node.call("GET", "/v1/node")["capabilities"]["monitoring"]["assigned_counters"] == 8


def test_a_workload_gets_counters_where_it_has_ways_when_monitoring_is_requested():
    with assigning() as node:
        asked, other = node.create("2", 1, 1), node.create("3", 1, 1)
        cache = usage(node, asked["id"])[0]
        assert (traffic(cache), cache["not_counted"]) == ((0, 0), None)
        assert assignments(node, asked["cos_name"]) == "mbm_total_bytes:0=e;1=_\nmbm_local_bytes:0=e;1=_\n"
        assert assignments(node, other["cos_name"]) == NONE
        node.sim.use(asked["cos_name"], 0, "mbm_total_bytes", 70)
        wait_for(lambda: traffic(usage(node, asked["id"])[0]) == (70, 0), "the counter")
        assert traffic(usage(node, other["id"])[0]) == (0, 0)  # in the same second
        node.kill9_and_start()
        assert traffic(usage(node, asked["id"])[0]) == (70, 0)
        node.delete(asked["id"])
        again = node.create("2", 1, 1)
        assert again["cos_name"] == asked["cos_name"] and assignments(node, again["cos_name"]) == NONE


def test_exhausted_counters_are_reported_and_not_shown_as_zero():
    with assigning(5) as node:  # the root group has two of each cache
        first, second, third = (node.create(str(cpu), 1, 1) for cpu in (2, 3, 4))
        why = "all 5 counters of domain 0 are assigned to groups (mbm_L3_assignments)"
        assert usage(node, first["id"])[0]["not_counted"] is None
        cache = usage(node, second["id"])[0]
        assert (traffic(cache), cache["not_counted"]) == ((0, None), "mbm_local_bytes: " + why)
        cache = usage(node, third["id"])[0]
        assert traffic(cache) == (None, None) and cache["total_mb_per_second"] is None and cache["occupancy_bytes"] == 0
        assert cache["not_counted"] == f"mbm_total_bytes: {why}; mbm_local_bytes: {why}"
        node.delete(first["id"])
        wait_for(lambda: usage(node, third["id"])[0]["not_counted"] == "mbm_local_bytes: " + why, "a counter for the third")
        cache = usage(node, second["id"])[0]
        assert (traffic(cache), cache["not_counted"]) == ((0, 0), None)


def test_counts_of_foreign_monitoring_groups_are_not_attributed_to_the_class():
    with assigning(4) as node:
        workload = node.create("2", 1, 1)
        below = workload["cos_name"] + "/mon_groups/theirs"
        node.sim.run_inside(["mkdir", RESCTRL + below])
        node.sim.use(below, 0, "mbm_total_bytes", 7)
        assert node.sim.read(f"{RESCTRL}{workload['cos_name']}/mon_data/mon_L3_00/mbm_total_bytes") == "7\n"
        cache = usage(node, workload["id"])[0]
        assert traffic(cache) == (None, None) and "all 4 counters" in cache["not_counted"]


def test_a_scrape_requests_monitoring_of_every_workload():
    with assigning() as node:
        created = [node.create(str(cpu), 1, 1) for cpu in (2, 3)]
        wait_for(lambda: len(Scrape(node).of("nrd_class_memory_bytes_total")) == 2, "a sample")
        assert [assignments(node, workload["cos_name"])[:21] for workload in created] == ["mbm_total_bytes:0=e;1"] * 2


@pytest.mark.parametrize("mode", ["default", "mbm_event"])
def test_counters_follow_the_mode(mode):
    with assigning() as node:
        node.sim.write(RESCTRL + "info/L3_MON/mbm_assign_mode", mode + "\n")
        workload = node.create("2", 1, 1)
        cache = usage(node, workload["id"])[0]
        assert (traffic(cache), cache["not_counted"]) == ((0, 0), None)


def snc(**more):
    return Node(sockets=2, nodes_per_socket=2, snc=True, **more)


def test_sub_numa_clusters_are_shown_apart_and_as_a_sum():
    with snc() as node:
        workload = node.create("2", 1, 1)
        for numa_node, used in ((0, 3), (1, 4), (2, 5)):
            node.sim.use(workload["cos_name"], numa_node, "llc_occupancy", used)
            node.sim.use(workload["cos_name"], numa_node, "mbm_total_bytes", 10 * used)
        cache = usage(node, workload["id"])[0]
        assert (cache["occupancy_bytes"], cache["total_bytes"]) == (7, 70)
        assert [(its["id"], its["occupancy_bytes"], its["total_bytes"]) for its in cache["numa_nodes"]] == [(0, 3, 30), (1, 4, 40)]
        wait_for(lambda: usage(node, workload["id"])[0]["numa_nodes"][1]["total_mb_per_second"] == 0, "a rate")
        node.sim.use(workload["cos_name"], 1, "mbm_local_bytes", "Unavailable")
        wait_for(lambda: usage(node, workload["id"])[0]["numa_nodes"][1]["local_bytes"] is None, "the counter")
        scrape = Scrape(node)
        labels = {"class": workload["cos_name"], "workload": workload["id"], "cache": "0"}
        assert scrape("nrd_class_cache_bytes", **labels) == 7
        assert scrape("nrd_class_numa_cache_bytes", **labels, numa_node="1") == 4
        assert scrape("nrd_class_numa_memory_bytes_total", **labels, numa_node="0") == 30


def test_without_sub_numa_clusters_no_node_is_shown_apart():
    with Node() as node:
        workload = node.create("2", 1, 1)
        assert usage(node, workload["id"])[0]["numa_nodes"] == []
        assert Scrape(node).of("nrd_class_numa_cache_bytes") == {}
