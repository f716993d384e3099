"""Groups that nrd did not make: they hold classes of service and may fill the ways of workloads."""

import contextlib
import json
import shutil

import pytest
from harness import DRIFT, NRD, NRDCTL, Node, Refused, process, wait_for
from masks import bits
from nrdctl import run_nrdctl

MINE = "/sys/fs/resctrl/theirs"


@contextlib.contextmanager
def with_group_of_others(**shape):
    with Node(DRIFT, start=False, closids=4, **shape) as node:
        node.sim.run_inside(["mkdir", MINE])
        node.sim.write(MINE + "/schemata", ("L3CODE:0=3\nL3DATA:0=3\n" if shape.get("cdp") else "L3:0=3\n"))
        node.sim.write(MINE + "/cpus_list", "6-7\n")
        node.start()
        yield node


@pytest.mark.parametrize("shape", [{}, {"cdp": True}], ids=["plain", "cdp"])
def test_it_is_left_alone_and_accounted_and_workloads_are_served_beside_it(shape):
    with with_group_of_others(**shape) as node:
        writer = node.call("GET", "/v1/node")["writer"]
        assert writer == {"by": "resctrl", "reason": "group theirs holds a class of service, and libpqos needs every class"}
        theirs = node.hardware()["theirs"]
        caches = node.call("GET", "/v1/node")["caches"]
        assert caches[0]["foreign"] == [{"group": "theirs", "ways": {"mask": "3", "ways": 2}, "cpus": "6-7", "tasks": 0,
                                         "mode": "shareable", "holds_ways": True, "readable": True}]
        assert node.call("GET", "/v1/node")["classes"] == {"total": 4, "used": 2, "reserved": 0}
        created = node.create("4-5", 2, 2)
        group = node.hardware()[created["cos_name"]]
        assert group["cpus"] == "4-5" and group["L3"]["0"] == created["granted_ways"]["0"]["mask"]
        assert bits(group["L3"]["0"]) == 2 and int(group["L3"]["0"], 16) & 3 == 0
        if shape:
            assert group["code"] == group["L3"]
            node.call("PATCH", f"/v1/workloads/{created['id']}", {"cache": {"code": 1}})
            apart = node.hardware()[created["cos_name"]]
            assert (bits(apart["code"]["0"]), bits(apart["L3"]["0"])) == (1, 1)
            node.call("PATCH", f"/v1/workloads/{created['id']}", {"cache": {"code": 0}})
        with pytest.raises(Refused, match=r"CPU list \[6\] has been assigned"):
            node.create("6", 1, 1)
        node.create("0", 1, 1)
        with pytest.raises(Refused, match="other groups hold 1: theirs"):  # four classes: two are of workloads
            node.create("1", 1, 1)
        node.kill9_and_start()
        assert node.hardware()[created["cos_name"]] == group and node.hardware()["theirs"] == theirs
        for workload in node.list():
            assert workload["status"] == "Successful"
            node.delete(workload["id"])
        assert node.hardware()["theirs"] == theirs
        assert node.hardware()["/"]["cpus"] == "0-5,8-15" and node.hardware()["/"]["L3"] == {"0": "7ff", "1": "7ff"}


def test_a_write_that_the_kernel_refuses_leaves_nothing():
    with with_group_of_others() as node:
        before = node.plain()
        for number in range(1, 5):  # the group, two masks, and both CPUs at once
            node.sim.control("reset")
            node.sim.control(f"fault write {number} errno EIO")
            status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}})
            assert status == 500, (number, text)
            assert node.plain() == before and json.loads(node.request("GET", "/v1/workloads")[1]) == []


def make_groups(node, names):
    for name in names:
        node.sim.run_inside(["mkdir", f"/sys/fs/resctrl/{name}"])


def groups_of(node):
    return {name for name in node.hardware() if name != "/"}


def test_classes_are_left_to_others_and_taken_when_they_are_free():
    with Node(closids=8) as node:
        make_groups(node, [f"g{i}" for i in range(7)])  # all classes but the root's
        with pytest.raises(Refused, match="409.*other groups hold 7: g0, g1"):
            node.create("4", 1, 1)
        node.terminate()
        node.start()
        for i in range(3):
            node.sim.run_inside(["rmdir", f"/sys/fs/resctrl/g{i}"])
        for cpu in range(3):
            node.create(str(cpu), 1, 1)
        with pytest.raises(Refused, match="409.*nrd uses 3.*other groups hold 4"):
            node.create("4", 1, 1)
        node.sim.run_inside(["rmdir", "/sys/fs/resctrl/g3"])
        node.create("4", 1, 1)


def test_a_class_that_others_took_is_one_problem_however_often_it_is_tried_again():
    with Node(DRIFT, closids=4) as node:
        name = node.create("4", 2, 2)["cos_name"]
        node.sim.run_inside(["sh", "-c", f"cd /sys/fs/resctrl && mkdir a b && rmdir {name} && mkdir c"])
        wait_for(lambda: node.sim.log().count(f"mkdir {name}") >= 4, "three more tries")
        assert node.health()["hardware_problem"] == "the kernel cannot create another resctrl group: Out of CLOSIDs"
        assert node.journal().count("HARDWARE_PROBLEM") == 1
        node.sim.run_inside(["rmdir", "/sys/fs/resctrl/b"])
        wait_for(lambda: node.health()["status"] == "ok", "the group")


def test_with_nrd_stopped_and_no_workloads_every_class_is_free():
    with Node(closids=4) as node:
        node.delete(node.create("4", 1, 1)["id"])
        assert groups_of(node) == set()
        node.terminate()
        make_groups(node, ["a", "b", "c"])


def test_groups_left_by_pqos_count_as_free():
    with Node(closids=4) as node:
        node.pqos_show()
        assert groups_of(node) == {"COS1", "COS2", "COS3"}
        assert [node.create(str(cpu), 1, 1)["cos_name"] for cpu in range(3)] == ["COS2", "COS3", "COS1"]
        with pytest.raises(Refused, match="409: No free CLOS available.*nrd uses 3"):
            node.create("4", 1, 1)


@pytest.mark.parametrize("shape", [{}, {"l2_cat": True}], ids=["L3", "L2 and L3"])
def test_a_reset_by_pqos_is_repaired(shape):
    with Node(DRIFT, **shape) as node:
        ids = {node.create("4", 2, 2)["id"], node.create("5", 3, 1)["id"], node.create(["6", "12"], 0, 0)["id"]}
        before = node.plain()
        node.sim.run_inside(["sh", "-c", "pqos -I -R; true"])  # it stops at classes without a group
        # A check while pqos has the lock ends with a problem, and the next one restores what both have changed.
        wait_for(lambda: node.health()["drift_repairs"] > 0 or "HARDWARE_RECOVERED" in node.journal(), "the repair")
        wait_for(lambda: node.plain() == before and node.health()["status"] == "ok", "the end of what pqos has left")
        node.assert_consistent(ids)


def test_a_task_that_others_put_into_a_class_of_cpus_returns_to_the_root_class():
    with Node(DRIFT) as node, process() as granted, process() as child, process() as theirs:
        of_cpus = node.create("4-5", 2, 2)
        of_task = node.call("POST", "/v1/workloads", {"task_ids": [str(granted.pid)], "cache": {"max": 1, "min": 1}})
        for created, task in (of_task, child), (of_cpus, theirs):
            node.sim.write(f"/sys/fs/resctrl/{created['cos_name']}/tasks", f"{task.pid}\n")
        wait_for(lambda: node.health()["drift_repairs"] == 1, "the repair")
        groups = node.hardware()
        assert groups[of_cpus["cos_name"]]["tasks"] == []
        assert groups[of_task["cos_name"]]["tasks"] == sorted([granted.pid, child.pid])  # as children are


def share(node, name, cpus):
    make_groups(node, [name])
    node.sim.write(f"/sys/fs/resctrl/{name}/cpus_list", cpus + "\n")


def exclusivity(node, id):
    workload = node.call("GET", f"/v1/workloads/{id}")
    return workload["exclusive"], workload["shared_with"]


@pytest.mark.parametrize("when", ["before the start", "after the start", "after the grant"])
def test_a_group_that_fills_the_ways_of_a_guarantee_is_reported(when):
    with Node(DRIFT, start=False) as node:
        if when == "before the start":
            share(node, "k8s", "6-7")
        node.start()
        if when == "after the start":
            share(node, "k8s", "6-7")
        id = node.create("4", 2, 2)["id"]
        if when == "after the grant":
            assert exclusivity(node, id) == (True, [])
            share(node, "k8s", "6-7")
        wait_for(lambda: exclusivity(node, id) == (False, ["k8s"]), "the group to be seen")
        assert any("k8s may fill the ways of workload" in text for text in node.health()["warnings"])
        assert "WAYS_SHARED" in node.journal()
        assert "nrd_workloads_with_shared_ways 1" in node.request("GET", "/metrics")[1]
        (group,) = node.call("GET", "/v1/node")["caches"][0]["foreign"]
        assert (group["group"], group["cpus"], group["tasks"], group["holds_ways"]) == ("k8s", "6-7", 0, False)
        node.sim.write("/sys/fs/resctrl/k8s/schemata", "L3:0=1\n")
        wait_for(lambda: exclusivity(node, id) == (True, []), "the narrower mask to be seen")


def test_with_refuse_no_guarantee_is_granted_beside_such_a_group():
    with Node('[cache_pools]\nforeign_groups = "refuse"\n') as node:
        share(node, "k8s", "6-7")
        with pytest.raises(Refused, match="409.*k8s"):
            node.create("4", 2, 2)
        assert node.create("4", 3, 1)["exclusive"] is False
        assert node.create("8", 2, 2)["exclusive"] is True


def test_a_group_that_is_being_locked_costs_only_its_class():
    with Node(start=False, closids=4, pseudo_lock=True, mb=False) as node:
        make_groups(node, ["locking"])
        node.sim.write("/sys/fs/resctrl/locking/mode", "pseudo-locksetup\n")
        node.start()
        node.delete(node.create("4", 2, 2)["id"])
        assert node.call("GET", "/v1/node")["classes"]["used"] == 2


def test_reset_gives_everything_back_running_or_stopped():
    with Node() as node:
        tree = node.hardware()
        share(node, "theirs", "9")  # removed with the first reset
        for stop in (False, True):
            node.create("4", 2, 2)
            node.create("5", 0, 0)
            if stop:
                node.terminate()
                result = node.run_daemon("--reset")
                assert "2 workloads deleted" in result.stdout, result
            else:
                result = node.sim.run_inside([NRDCTL, "--socket", node.socket, "--json", "reset", "--yes", "--foreign", "th*"], check=False)
                done = [json.loads(line) for line in result.stdout.splitlines()]
                assert result.returncode == 0 and done == [
                    {"workload": "1", "result": "deleted"}, {"workload": "2", "result": "deleted"}, {"group": "theirs", "result": "removed"}], result
                assert node.list() == []
            assert node.hardware() == tree


def test_reset_gives_everything_back_despite_a_bad_configuration():
    with Node('[cache_pools]\ninfra = 1\n[infra]\ncpus = "2"\n[os]\ncpus = "0"\n') as node:
        node.create("4", 2, 2)
        node.terminate()
        node.configure("nonsense = 1\n")
        assert node.run_daemon("--reset").returncode == 78
        node.config = "/dev/null"
        result = node.run_daemon("--reset")
        assert result.stdout == "1 workloads deleted; all resources released\n", result
        assert list(node.hardware()) == ["/"] and node.rows("SELECT id FROM workload") == []


def test_reset_over_a_url_deletes_nothing_if_it_cannot_remove_groups():
    with Node() as node:
        id = node.create("4", 2, 2)["id"]
        done = run_nrdctl("--url", f"http://127.0.0.1:{node.port}", "reset", "--yes", "--foreign", "*")
        assert done.returncode == 1 and "--foreign requires the Unix socket" in done.stderr, done
        node.assert_consistent({id})


def test_reset_says_that_no_foreign_group_matches():
    with Node() as node:
        share(node, "theirs", "9")
        done = node.sim.run_inside([NRDCTL, "--socket", node.socket, "reset", "--yes", "--foreign", "thiers"], check=False)
        assert done.returncode == 0 and "no foreign resctrl group matches thiers" in done.stderr and "theirs" in groups_of(node), done


def test_reset_removes_no_group_while_nrd_has_another_socket(tmp_path):
    with Node() as node:
        share(node, "theirs", "9")
        for folder in ("bin", "sbin"):
            (tmp_path / folder).mkdir()
        shutil.copy(NRDCTL, tmp_path / "bin")
        daemon = tmp_path / "sbin" / "nrd"
        daemon.write_text(f'#!/bin/sh\nexec {NRD} --config {node.config} --state-dir {node.state} "$@"\n')
        daemon.chmod(0o755)
        words = [str(tmp_path / "bin" / "nrdctl"), "--socket", str(tmp_path / "typo"), "reset", "--yes", "--foreign", "th*"]
        refused = node.sim.run_inside(words, check=False)
        assert refused.returncode != 0 and "another nrd uses" in refused.stderr and "theirs" in groups_of(node)
        node.terminate()
        done = node.sim.run_inside(words)
        assert "group theirs removed" in done.stdout and "theirs" not in groups_of(node)


def test_ways_of_devices_are_shown_and_granted_last_and_their_class_is_not_counted():
    with Node(closids=4, io_alloc="on", kernel="6.19") as node:
        node.sim.write("/sys/fs/resctrl/info/L3/io_alloc_cbm", "0=1e;1=600\n")
        node.kill9_and_start()
        shown = node.call("GET", "/v1/node")
        assert [cache["io"]["mask"] for cache in shown["caches"]] == ["1e", "600"]
        assert shown["classes"]["total"] == 3 and shown["writer"]["by"] == "resctrl"
        assert node.create("4", 1, 1)["granted_ways"]["0"]["mask"] == "20"
        node.create("5", 1, 1)
        with pytest.raises(Refused, match="409.*the node has 3"):
            node.create("6", 1, 1)
