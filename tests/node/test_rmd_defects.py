"""What was wrong with RMD and is not here, as far as no other test shows it: docs/rmd-compatibility.md has all cases."""

import os

import pytest
from harness import Node, wait_for
from masks import cpus_of
from rmd_table import CONFLICT, INVALID, created, masks, not_created, refusal, rmd_body

pytest_plugins = "rmd_nodes"


# Defect 2
def test_only_classes_of_workloads_count_as_used(odd):
    """pqos has made all groups that there can be, and bandwidth has more classes than the cache."""
    odd.pqos_show()
    assert len(odd.hardware()) == 4
    assert odd.call("GET", "/v1/cache/l3")["number"] == 2
    assert odd.call("POST", "/v1/hospitality", {"max_cache": 2, "min_cache": 2}) == {"score": {"l3": {"0": 100, "4": 100}}}
    odd.kill9_and_start()
    created(odd, ["1"], (2, 2))


# Defect 3
def test_caches_are_identified_by_id(odd):
    first, second = created(odd, ["1"], (2, 2)), created(odd, ["9"], (3, 3))
    assert (masks(first), masks(second)) == ({"4": "c"}, {"0": "1c"})
    assert odd.hardware()[first["cos_name"]]["L3"] == {"4": "c", "0": "fffff"}
    assert odd.hardware()[second["cos_name"]]["L3"] == {"4": "fffff", "0": "1c"}


# Defect 5
def test_bandwidth_is_separate_for_each_request(node):
    mine = created(node, ["4"], (2, 2))
    bandwidth = node.hardware()[mine["cos_name"]]["MB"]
    node.request("POST", "/v1/workloads", rmd_body(["5"], rdt={"cache": {"max": 1, "min": 1}, "mba": {"percentage": 50}}))
    node.call("PATCH", "/v1/workloads/" + mine["id"], {"rdt": {"cache": {"max": 3, "min": 3}}})
    later = created(node, ["6"], (1, 1))
    assert node.hardware()[mine["cos_name"]]["MB"] == node.hardware()[later["cos_name"]]["MB"] == bandwidth


# Defect 6
def test_a_policys_bandwidth_in_another_unit_is_refused(node):
    assert not_created(node, ["4"], policy="thrifty") == (
        400, INVALID + "/policy: policy thrifty, rdt/mba: this node limits memory bandwidth in MB/s, not in percent (allowed: mbps)\n")


# Defect 11
def test_a_failed_patch_changes_nothing(node):
    workload = created(node, ["4-5"], (2, 2), plugins={"pstate": {"max_ratio": 20}})
    created(node, ["8"], (1, 1))
    path, frequencies = "/v1/workloads/" + workload["id"], node.sim.freq()
    assert refusal(node, "PATCH", path, {"core_ids": ["7-8"]}) == (400, CONFLICT + "CPU list [8] has been assigned\n")
    change = {"core_ids": ["4-6"], "rdt": {"cache": {"max": 5, "min": 5}}}
    for nth in range(1, 20):
        node.sim.control("reset")
        node.sim.control(f"fault write {nth} errno EIO")
        if node.request("PATCH", path, change)[0] == 200:
            break
        assert node.call("GET", path) == workload and node.sim.freq() == frequencies
    node.sim.control("reset")
    assert nth > 3, "no write of the change has failed"
    patched = node.call("GET", path)
    assert patched["plugins"] == workload["plugins"] and node.sim.freq()["6"]["max"] == 2_000_000
    node.assert_consistent({workload["id"], node.list()[1]["id"]})


@pytest.mark.parametrize("name", ["COS3", "x", "."])
# Defect 15
def test_a_client_cannot_choose_a_class(node, name):
    other = created(node, ["8"], (2, 2), cos_name=name)
    assert other["cos_name"] == "COS2"
    before = node.plain()
    mine = created(node, ["4"], cos_name=name, plugins={"pstate": {"max_ratio": 20}})
    assert mine["cos_name"] == "" and node.plain() == before
    node.delete(mine["id"])
    assert node.plain() == before and node.list() == [other]


# Defect 16
def test_all_named_cpus_and_tasks_are_in_the_class(node):
    name = created(node, ["4"], (0, 0))["cos_name"]
    created(node, ["5-6"], (0, 0))
    assert cpus_of(node.hardware()[name]["cpus"]) == {4, 5, 6}
    for workload in node.list():
        node.delete(workload["id"])
    name = created(node, ["7"], (0, 0), task_ids=[str(os.getpid())])["cos_name"]
    assert node.hardware()[name]["cpus"] == "7" and os.getpid() in node.hardware()[name]["tasks"]


# Defect 22
def test_yaml_and_toml_policies_are_equivalent(node, odd):
    for one, cache in ((node, "1"), (odd, "0")):
        assert one.call("POST", "/v1/hospitality", {"policy": "gold"})["score"]["l3"][cache] == 100
        assert one.call("GET", f"/v1/cache/l3/{cache}")["available_policy"]["gold"] > 0
        workload = created(one, ["4"], policy="gold")
        assert workload["cos_name"] == "COS2" and [w["ways"] for w in workload["granted_ways"].values()] == [4]


# Defect 23
def test_a_foreign_bandwidth_value_is_not_mistaken_for_a_mode(odd):
    before, full = odd.call("GET", "/v1/mba"), odd.hardware()["/"]["MB"]
    odd.sim.write("/sys/fs/resctrl/schemata", "MB:0=50\n")
    try:
        odd.kill9_and_start()
        assert odd.call("GET", "/v1/mba") == before
    finally:
        odd.sim.write("/sys/fs/resctrl/schemata", f"MB:0={full['0']}\n")


# Defect 26
def test_masks_follow_the_limits_of_the_hardware(odd):
    first = created(odd, ["1"], (7, 2))
    assert not_created(odd, ["2"], (1, 1))[0] == 400  # masks here have two ways at least
    second = created(odd, ["2"], (7, 2))
    odd.delete(first["id"])
    assert masks(odd.call("GET", "/v1/workloads/" + second["id"])) == {"4": "fe00"}  # grown
    assert odd.call("GET", "/v1/cache/l3/4")["WayContention"] == 0xc0000


# Defect 34
def test_cpu_state_is_refreshed(odd):
    odd.sim.control("offline 7")
    try:
        wait_for(lambda: odd.call("GET", "/v1/cache/l3/4")["available_cpus"] == "0-6", "the daemon to see it go")
    finally:
        odd.sim.control("online 7")
    wait_for(lambda: odd.call("GET", "/v1/cache/l3/4")["available_cpus"] == "0-7", "the daemon to see it return")


# Defect 40
def test_unknown_kernel_files_are_ignored():
    with Node(start=False, sockets=1, cpus=2, ways=13) as node:
        info = node.sim.path("/sys/fs/resctrl/info/L3")
        assert "sparse_masks" in os.listdir(info)
        known = os.path.join(node.folder, "L3")
        os.mkdir(known)
        for file in os.listdir(info):
            with open(os.path.join(known, file), "w") as copy, open(os.path.join(info, file)) as kernels:
                copy.write(kernels.read())
        with open(os.path.join(known, "a_file_of_tomorrow"), "w") as file:
            file.write("many things\n")
        node.sim.run_inside(["/usr/bin/mount", "--bind", known, "/sys/fs/resctrl/info/L3"])
        node.start()
        assert node.call("GET", "/v1/node")["capabilities"]["l3_cat"]["ways"] == 13
        created(node, ["1"], (1, 1))
