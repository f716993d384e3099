"""What was wrong with RMD and is not here, by number of docs/rmd-compatibility.md: wrong hardware, lost workloads, outages.

Wrong answers and rough edges are in test_rmd_defects_service.py.
"""

import fcntl
import os

import pytest
from harness import Node
from masks import cpus_of
from rmd_table import CONFLICT, INVALID, assert_put_back, counts, created, masks, not_created, read, refusal, rmd_body
from test_races import at_once

pytest_plugins = "rmd_nodes"


@pytest.mark.parametrize("fault", ["errno EIO", "lie"])
# Defect 1
def test_success_means_that_the_hardware_accepted_it(node, fault):
    node.sim.control("reset")
    node.sim.control(f"fault write 1 {fault}")
    status, text = not_created(node, ["4-5"], (2, 2))
    assert status == 500 and ("cannot create the resctrl group" in text or "did not take ways" in text), text
    assert node.sim.writes() > 0 and created(node, ["4-5"], (2, 2))["status"] == "Successful"


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


# Defect 4
def test_all_cpus_of_a_range_are_released(node):
    workload = created(node, ["4-9", "12,14-15"], (2, 2))
    assert cpus_of(node.hardware()[workload["cos_name"]]["cpus"]) == {4, 5, 6, 7, 8, 9, 12, 14, 15}
    node.delete(workload["id"])
    assert workload["cos_name"] not in node.hardware()
    assert cpus_of(node.hardware()["/"]["cpus"]) == set(range(40))


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


# Defect 7
def test_shared_workloads_survive_a_restart(node):
    names = {created(node, [cpu], (0, 0))["cos_name"] for cpu in ("4", "5")}
    node.kill9_and_start()
    assert {created(node, ["6"], (0, 0))["cos_name"]} == names
    assert len(names) == 1 and len(node.list()) == 3 and node.health()["status"] == "ok"


# Defect 8
def test_grants_are_restored_after_a_reboot(odd):
    workload = created(odd, ["4-5"], (2, 2))
    assert_put_back(odd, workload, "cpus_list", "\n")
    assert "#directory = \"/var/lib/nrd\"" in read("etc/nrd.toml")  # on disk, not on what a reboot empties


# Defect 9
def test_classes_and_ways_are_released(odd):
    for _ in range(8):  # twice the classes
        odd.delete(created(odd, ["4"], (7, 7))["id"])
    path = "/v1/workloads/" + created(odd, ["4"], (7, 7))["id"]
    odd.sim.control("reset")
    odd.sim.control("fault write 1 errno EIO")
    assert refusal(odd, "DELETE", path)[0] == 500
    assert odd.request("DELETE", path)[:2] == (200, "")
    created(odd, ["5"], (7, 7))


# Defect 10
def test_shrunk_workloads_do_not_overlap(odd):
    for cpu in ("1", "2", "3"):
        created(odd, [cpu], (7, 2))
    granted = [int(masks(workload)["4"], 16) for workload in odd.list()]
    assert sum(granted) == granted[0] | granted[1] | granted[2] == 0xfe00
    assert [int(odd.hardware()[workload["cos_name"]]["L3"]["4"], 16) for workload in odd.list()] == granted


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


# Defect 12
def test_cpus_alone_can_be_patched(node):
    path = "/v1/workloads/" + created(node, ["4-7"], (2, 2))["id"]
    assert node.call("PATCH", path, {"core_ids": ["5-8"]})["core_ids"] == ["5-8"]
    assert node.request("PATCH", path, {})[0] == 200


# Defect 13
def test_of_two_requests_for_one_cpu_one_succeeds(node):
    outcomes = at_once(4, lambda _: node.create(["3-4"], 1, 1))
    won = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    assert len(won) == 1 and {outcome.status for outcome in outcomes if outcome not in won} == {400}
    node.assert_consistent({won[0]["id"]})


@pytest.mark.parametrize("shape", [{"rdt": False}, {"mb": False}], ids=["no RDT", "no MBA"])
# Defect 14
def test_unsupported_resources_are_refused(shape):
    """With the next: a node without memory bandwidth starts, and one without L3 as well."""
    with Node(sockets=1, cpus=4, **shape) as node:
        bandwidth = rmd_body(["1"], rdt={"cache": {}, "mba": {"percentage": 50}})
        assert refusal(node, "POST", "/v1/workloads", bandwidth)[0] == 422
        if "rdt" in shape:
            status, text = not_created(node, ["1"], (1, 1))
            assert status == 422 and "/cache: cache ways cannot be allocated: L3 CAT" in text
        else:
            created(node, ["1"], (1, 1))


# Defect 14
def test_bandwidth_alone_does_not_end_the_daemon(node):
    pid = node.daemon.pid
    assert not_created(node, ["4"], rdt={"cache": {}, "mba": {"percentage": 50}}) == (
        400, INVALID + "Need to provide both cache and mba for better performance\n")
    assert node.daemon.pid == pid and node.daemon.poll() is None


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


# Defect 17
def test_the_origin_does_not_come_from_the_client(node):
    """No processes are searched by patterns; nrd itself sets the origin."""
    assert created(node, ["4"], (1, 1), origin="OPENSTACK", uuid="vm")["origin"] == "REST"


# Defect 37
def test_an_unchanged_ratio_is_no_change(node):
    path = "/v1/workloads/" + created(node, ["4"], (1, 1), plugins={"pstate": {"ratio": 3, "monitoring": "off"}})["id"]
    before, workload = counts(node), node.call("GET", path)
    for ratio in (3, 3.0, "3"):
        patch = rmd_body(["4"], (1, 1), plugins={"pstate": {"ratio": ratio, "monitoring": "off"}})
        patched = node.call("PATCH", path, patch)
        assert patched["cos_name"] == workload["cos_name"]
        assert (counts(node), node.call("GET", path)) == (before, workload)


# Defect 42
def test_foreign_locks_are_respected_with_a_timeout(node):
    """libpqos's way to say that resctrl is being changed: flock(2) on its root."""
    root = os.open(node.sim.path("/sys/fs/resctrl"), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(root, fcntl.LOCK_EX)
        status, text = not_created(node, ["4"], (2, 2))
        assert status == 503 and f"the resctrl tree is locked by {open('/proc/self/comm').read().strip()} ({os.getpid()})" in text
    finally:
        os.close(root)
    created(node, ["4"], (2, 2))
