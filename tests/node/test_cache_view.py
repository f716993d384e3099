"""The cache view on real nodes: exact bodies, and true values beside what the kernel's files and its groups say."""

import json
import threading

import pytest
from harness import Node, wait_for

# RMD's names in RMD's order, and what its clients decode them into.
RMD = {"cache_id": int, "NumWays": int, "NumSets": int, "NumPartitions": int, "LineSize": int, "total_size": int,
       "WaySize": int, "NumClasses": int, "WayContention": int, "CacheLevel": int, "location_on_socket": str,
       "location_on_node": str, "share_cpu_list": str, "available_ways": str, "available_cpus": str,
       "available_isolated_cpus": str, "available_policy": dict, "available_ways_pool": dict}

IDLE = {
    "cache_id": 4, "NumWays": 11, "NumSets": 16384, "NumPartitions": 1, "LineSize": 64, "total_size": 11 << 20,
    "WaySize": 1 << 20, "NumClasses": 16, "WayContention": 0x600, "CacheLevel": 3, "location_on_socket": "0",
    "location_on_node": "0", "share_cpu_list": "0-7", "available_ways": "7fe", "available_cpus": "0-7",
    "available_isolated_cpus": "", "available_policy": {},
    "available_ways_pool": {"guaranteed": "1-5", "besteffort": "6-8", "shared": "9-10", "os": "0"},
    "available_ways_count": 10,
    "pool_counts": {"guaranteed": {"ways": 5, "free": 5}, "besteffort": {"ways": 3, "free": 3},
                    "shared": {"ways": 2, "free": 2}, "os": {"ways": 1, "free": 1}}}


@pytest.fixture(scope="module")
def node():
    """For tests that only read."""
    with Node() as node:
        yield node


def text(node, path, status=200):
    got, body, _ = node.request("GET", path)
    assert got == status, body
    return body


def test_the_summary_names_capabilities_and_caches():
    with Node(cache_ids="4,0", cpus=4) as node:
        assert text(node, "/v1/cache") == (
            '{"rdt":true,"cqm":true,"cdp":true,"cdp_enable":false,"cat":true,"cat_enable":true,"caches":{'
            '"l2":{"number":4,"caches_id":["0","1","2","3"]},"l3":{"number":2,"caches_id":["0","4"]}}}')
        node.sim.control("offline 3")
        node.terminate()
        node.start()
        assert json.loads(text(node, "/v1/cache"))["caches"]["l2"] == {"number": 3, "caches_id": ["0", "1", "2"]}


def test_a_cache_level_has_rmds_names_and_types():
    with Node(cache_ids="4,0", shareable="600") as node:
        body = text(node, "/v1/cache/l3")
        level = json.loads(body)
        assert (list(level), level["number"], list(level["Caches"])) == (["number", "Caches"], 2, ["0", "4"])
        assert level["Caches"]["4"] == IDLE
        assert level["Caches"]["0"] == {**IDLE, "cache_id": 0, "location_on_socket": "1", "location_on_node": "1",
                                        "share_cpu_list": "8-15", "available_cpus": "8-15"}
        for cache in level["Caches"].values():
            assert [(key, type(cache[key])) for key in list(cache)[:len(RMD)]] == list(RMD.items())
        assert body == text(node, "/v1/cache/llc") == text(node, "/v1/cache/l3/")
        assert json.loads(text(node, "/v1/cache/l3/4")) == json.loads(text(node, "/v1/cache/llc/04")) == IDLE


def test_granted_ways_are_no_longer_available():
    with Node(cache_ids="4,0") as node:
        before = text(node, "/v1/cache/l3")
        node.create("4-5", 2, 2)  # the lowest of the guarantee pool, so that all above stay in one run
        node.create("6", 0, 0)
        cache = json.loads(text(node, "/v1/cache/l3/4"))
        assert (cache["available_ways"], cache["available_ways_count"]) == ("1f8", 6)
        assert cache["available_cpus"] == "0-3,7"
        assert cache["available_ways_pool"] == {"guaranteed": "3-5", "besteffort": "6-8", "shared": "", "os": "0"}
        assert {name: pool["free"] for name, pool in cache["pool_counts"].items()} == {
            "guaranteed": 3, "besteffort": 3, "shared": 0, "os": 1}
        assert json.loads(text(node, "/v1/cache/l3"))["Caches"]["0"] == json.loads(before)["Caches"]["0"]
        for workload in node.list():
            node.delete(workload["id"])
        assert text(node, "/v1/cache/l3") == before


def test_ways_and_cpus_of_others_are_not_available():
    with Node("[drift]\ninterval_seconds = 1\n[cache_pools]\ninfra = 2\nshared = 0\n") as node:
        node.sim.run_inside(["mkdir", "/sys/fs/resctrl/COS5"])
        node.sim.write("/sys/fs/resctrl/COS5/schemata", "L3:0=00e\n")
        node.sim.write("/sys/fs/resctrl/COS5/cpus_list", "1-2\n")
        node.create("7", 1, 1)  # observes the node again, since nothing was claimed before
        cache = json.loads(text(node, "/v1/cache/l3/0"))
        assert cache["available_cpus"] == "0,3-6"
        # OS 0, guarantee 1-5, best effort 6-8, infra 9-10; the workload has way 4.
        assert cache["available_ways_pool"] == {"guaranteed": "5", "besteffort": "6-8", "infra": "9-10", "os": "0"}
        assert cache["available_ways"] == "1e0"


def test_only_the_last_level_is_served_and_other_levels_are_refused(node):
    for path in ("/v1/cache/l2", "/v1/cache/l2/0"):
        assert text(node, path, 400) == "unsupported cache level; ways are allocated in l3 on this node\n"
    assert text(node, "/v1/cache/l3/7", 404) == "Cache id 7 for level 3 is not found\n"
    assert text(node, "/v1/cache/llc/99999999999", 404) == "Cache id 99999999999 for level 3 is not found\n"
    assert text(node, "/v1/cache/l3/0abc", 400) == "Please input the correct id, it should be digital\n"
    for path in ("/v1/cache/l1", "/v1/cache/L3", "/v1/cache/l3/abc", "/v1/cache/l3/-1", "/v1/cache/l3/0/0"):
        assert text(node, path, 404) == "404: Page Not Found\n", path
    status, body, headers = node.request("POST", "/v1/cache/l3/0", {})
    assert (status, body, headers["Allow"]) == (405, "405: Method Not Allowed\n", "GET, HEAD")


def test_memory_bandwidth_is_reported_as_by_the_kernel(node):
    amd = "AuthenticAMD" in open("/proc/cpuinfo").read()
    assert text(node, "/v1/mba") == (
        '{"mba":true,"mba_enable":true,"mba_step":1,"mba_request":"mbps","mba_unit":"GB/s / 8"}' if amd else
        '{"mba":true,"mba_enable":true,"mba_step":10,"mba_min":10,"mba_request":"percentage","mba_unit":"percent"}')
    with Node(mb=False) as without:
        assert text(without, "/v1/mba") == '{"mba":false}'


def test_a_node_without_rdt_still_reports_its_caches():
    with Node(rdt=False, sockets=1, cpus=2) as node:
        assert text(node, "/v1/cache") == (
            '{"rdt":false,"cqm":false,"cdp":false,"cdp_enable":false,"cat":false,"cat_enable":false,"caches":{'
            '"l2":{"number":2,"caches_id":["0","1"]},"l3":{"number":1,"caches_id":["0"]}}}')
        cache = json.loads(text(node, "/v1/cache/l3"))["Caches"]["0"]
        assert (cache["NumWays"], cache["NumClasses"], cache["available_ways"], cache["available_ways_pool"]) == (11, 0, "0", {})
        assert text(node, "/v1/mba") == '{"mba":false}'


def test_the_view_is_of_the_published_state_and_never_waits_for_hardware():
    with Node("[drift]\ninterval_seconds = 0\n") as node:
        before = text(node, "/v1/cache/l3")
        node.sim.run_inside(["mkdir", "/sys/fs/resctrl/COS9"])
        node.sim.write("/sys/fs/resctrl/COS9/schemata", "L3:0=00f\n")
        node.sim.control("reset")
        node.sim.control("fault write 1 delay 8000")
        writer = threading.Thread(target=node.create, args=("0", 1, 1))
        writer.start()
        wait_for(lambda: node.sim.writes() > 0, "the write to begin")
        assert text(node, "/v1/cache/l3") == before
        assert writer.is_alive()
        writer.join()
        assert text(node, "/v1/cache/l3") != before


# A cache of several nodes, one node of several caches, and each with its own.
@pytest.mark.parametrize("shape, nodes", [
    ({"sockets": 2, "nodes_per_socket": 2}, ["0-1", "2-3"]),
    ({"sockets": 2, "nodes_per_socket": 4, "cpus": 16}, ["0-3", "4-7"]),
    ({"sockets": 1, "caches_per_socket": 4}, ["0"] * 4),
    ({"sockets": 2, "caches_per_socket": 2, "nodes_per_socket": 2}, ["0", "1", "2", "3"])])
def test_a_cache_is_located_on_all_nodes_of_its_cpus(shape, nodes):
    with Node(**shape) as node:
        caches = node.call("GET", "/v1/cache/l3")["Caches"]
        assert [caches[id]["location_on_node"] for id in sorted(caches)] == nodes
        assert [cache["numa_nodes"] for cache in node.call("GET", "/v1/node")["caches"]] == nodes


def test_no_request_can_choose_a_cache(node):
    status, text, _ = node.request("POST", "/v1/workloads", {
        "core_ids": ["2"], "rdt": {"cache": {"max": 1, "min": 1}}, "location_on_node": "0"})
    assert status == 400 and "location_on_node" in text
