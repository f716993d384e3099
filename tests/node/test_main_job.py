"""What a user is promised, tried over HTTP and checked with Debian's pqos."""

import json
import os
import sqlite3

import pytest
from harness import DRIFT, Node, refusal, wait_for
from nrdctl import run_nrdctl
from shared_node import node, shared  # noqa: F401


def assert_granted(node):
    masks, classes = node.pqos_show()
    mask = masks[0, "COS2"]
    assert mask.bit_count() == 2 and "11" in bin(mask)
    others = {key: ways for key, ways in masks.items() if key not in ((0, "COS2"), (0, "COS0"))}
    assert len(masks) == 32 and set(others.values()) == {0x7FF}  # on the touched cache only
    assert masks[0, "COS0"] & mask == 0
    assert classes == {cpu: "COS2" if cpu in (4, 5, 6, 7) else "COS0" for cpu in range(16)}


def assert_no_trace(node):
    masks, classes = node.pqos_show()
    assert len(masks) == 32 and set(masks.values()) == {0x7FF}
    assert len(classes) == 16 and set(classes.values()) == {"COS0"}


def test_four_cpus_get_two_ways_and_keep_them_through_kill_and_reboot(node):
    created = node.create("4-7", 2, 2)
    assert created["cos_name"] == "COS2"
    assert_granted(node)
    node.kill9_and_start()
    assert_granted(node)
    assert node.list() == [created]
    node.kill9()
    node.sim.control("wipe")
    assert_no_trace(node)
    node.start()
    assert_granted(node)
    assert node.list() == [created]
    node.delete(created["id"])
    assert_no_trace(node)
    node.assert_consistent(set())


def test_a_deletion_while_the_hardware_was_rebooted_leaves_no_trace(node):
    one, two = node.create("1", 1, 1)["id"], node.create("9", 3, 1)["id"]
    node.delete(one)
    node.terminate()
    node.sim.control("wipe")
    node.start()
    node.assert_consistent({two})


@pytest.mark.parametrize("body", [
    {"core_ids": ["0", "1-3"], "cache": {"max": 2, "min": 2}},
    {"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}},
    {"core_ids": ["0", "1-3"], "status": "", "cos_name": "", "origin": "", "uuid": "vm-1",
     "rdt": {"cache": {"max": 2, "min": 2}, "mba": {}}},
])
def test_both_wire_shapes_are_taken_and_answered(node, body):
    status, text, _ = node.request("POST", "/v1/workloads/", body)
    assert status == 201, text
    [workload] = node.list()
    assert workload["core_ids"] == ["0", "1-3"]
    assert workload["cache"] == workload["rdt"]["cache"] == {"max": 2, "min": 2}
    assert workload["status"] == "Successful" and workload["origin"] == "REST"
    assert isinstance(workload["id"], str)
    assert workload.get("uuid") == body.get("uuid")


@pytest.mark.parametrize("slash", ["", "/"])
def test_each_path_is_served_with_and_without_a_slash_at_its_end(node, slash):
    status, text, headers = node.request("POST", "/v1/workloads" + slash, {"core_ids": ["4"], "cache": {"max": 2, "min": 2}})
    created = json.loads(text)
    path = "/v1/workloads/" + created["id"]
    assert status == 201 and headers["Location"] == path
    assert node.call("GET", "/v1/workloads" + slash) == [created]
    assert node.call("GET", path + slash) == created
    assert node.call("PATCH", path + slash, {"cache": {"max": 3, "min": 3}})["cache"]["max"] == 3
    assert node.request("DELETE", path + slash)[:2] == (200, "")
    assert node.request("DELETE", path + slash)[0] == 404
    assert node.call("GET", "/v1/workloads" + slash) == []


def test_best_effort_shrinks_for_new_workloads_and_grows_back():
    with Node(config="[cache_pools]\nshrink = true\n") as node:
        def ways():
            return [workload["granted_ways"]["0"]["ways"] for workload in node.list()]
        node.create("4", 3, 1)
        assert ways() == [3]
        for cpu in ("5", "6"):
            node.create(cpu, 3, 1)
        assert ways() == [1, 1, 1]
        assert refusal(node.create, "7", 3, 1).status == 409
        node.assert_consistent({"1", "2", "3"})
        node.delete("2")
        node.delete("3")
        assert ways() == [3]
        node.assert_consistent({"1"})


def test_ids_are_not_used_twice(node):
    first = node.create("1", 1, 1)["id"]
    node.delete(first)
    node.kill9_and_start()
    assert node.create("1", 1, 1)["id"] != first


def test_stopping_leaves_the_workloads_on_the_hardware():
    with Node() as node:
        node.create("4-7", 2, 2)
        before = node.plain()
        assert node.terminate() == 0, node.journal()
        assert node.plain() == before


def test_a_second_daemon_on_the_same_state_is_refused(node):
    writes = node.sim.writes()
    second = node.run_daemon()
    assert second.returncode == 1
    assert "another nrd uses" in second.stderr and second.stderr.count("\n") == 1
    assert node.sim.writes() == writes
    assert node.health()["status"] == "ok"


def assert_refuses_database(node, said):
    """One clear line with what to do, the file as it was, and the hardware not touched."""
    path = os.path.join(node.state, "nrd.db")
    with open(path, "rb") as file:
        content = file.read()
    hardware, writes = node.hardware(), node.sim.writes()
    refused = node.run_daemon()
    assert refused.returncode == 1, refused.stderr
    assert said in refused.stderr and path in refused.stderr, refused.stderr
    with open(path, "rb") as file:
        assert file.read() == content
    assert {name for name in os.listdir(node.state) if os.path.getsize(os.path.join(node.state, name))} == {"nrd.db"}
    assert (node.hardware(), node.sim.writes()) == (hardware, writes)
    return refused.stderr


@pytest.mark.parametrize("content", [
    b"this is not a database, but long enough to look like one" * 100,
    b"SQLite format 3\0" + bytes(84),
    b"two lines\nof notes\n",
    b"x",  # SQLite takes a file of one byte for an empty one
])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(content):
    with Node(start=False) as node:
        os.mkdir(node.state)
        with open(os.path.join(node.state, "nrd.db"), "wb") as file:
            file.write(content)
        assert_refuses_database(node, "restore a backup")


@pytest.mark.parametrize("wal", [False, True])
def test_the_database_of_another_program_is_refused_and_left_as_it_is(wal):
    with Node(start=False) as node:
        os.mkdir(node.state)
        db = sqlite3.connect(os.path.join(node.state, "nrd.db"))
        if wal:
            db.execute("PRAGMA journal_mode=WAL")
        db.executescript("CREATE TABLE workload (song TEXT); INSERT INTO workload VALUES ('la');")
        db.close()
        assert_refuses_database(node, "another program")


@pytest.mark.parametrize("schema,said", [(99, "newer nrd"), (15, "before the first release")])
def test_the_database_of_a_newer_or_unreleased_nrd_is_refused_and_left_as_it_is(schema, said):
    with Node() as node:
        node.create("4-7", 2, 2)
        assert node.terminate() == 0
        node.change_store(f"PRAGMA user_version={schema}")
        assert assert_refuses_database(node, said).count("\n") == 1


def test_members_that_a_newer_nrd_stored_survive_a_change():
    with Node() as node:
        id = node.create("4-7", 2, 2)["id"]
        assert node.terminate() == 0
        node.change_store("UPDATE workload SET document = json_set(document, '$.later', 1, '$.spec.cache.later', json('[2]'))")
        node.start()
        node.call("PATCH", f"/v1/workloads/{id}", {"cache": {"max": 3, "min": 3}})
        node.assert_consistent({id})
        assert node.terminate() == 0
        [[document]] = node.rows("SELECT document FROM workload")
        stored = json.loads(document)
        assert stored["later"] == 1 and stored["spec"]["cache"] == {"max": 3, "min": 3, "later": [2]}


def test_a_damaged_database_is_refused_and_left_as_it_is_and_a_backup_brings_all_back():
    with Node() as node:
        created = [node.create("4-7", 2, 2), node.create("8", 3, 1)]
        assert node.terminate() == 0
        path = os.path.join(node.state, "nrd.db")
        with open(path, "rb") as file:
            backup = file.read()
        page = 4096
        assert len(backup) % page == 0 and len(backup) >= 5 * page
        damaged = {"half of it": backup[:len(backup) // page // 2 * page]}
        for number in range(1, len(backup) // page):
            damaged[f"page {number}"] = backup[:number * page] + b"\xff" * 64 + backup[number * page + 64:]
        for what, content in damaged.items():
            with open(path, "wb") as file:
                file.write(content)
            print(what)
            assert_refuses_database(node, "restore a backup")
        with open(path, "wb") as file:
            file.write(backup)
        node.start()
        assert node.list() == created
        node.assert_consistent({"1", "2"})


def test_a_node_without_rdt_starts_and_reports_what_is_missing():
    with Node(rdt=False) as node:
        [missing] = node.call("GET", "/v1/node")["capabilities"]["missing"]
        assert "L3 CAT" in missing
        refused = refusal(node.create, "1", 1, 1)
        assert refused.status == 422 and "/cache: cache ways cannot be allocated: L3 CAT" in refused.text
        bandwidth = {"core_ids": ["1"], "rdt": {"cache": {}, "mba": {"percentage": 50}}}
        assert node.request("POST", "/v1/workloads", bandwidth)[0] == 422


def test_drift_is_repaired():
    with Node(DRIFT) as node:
        id = node.create("4-7", 2, 2)["id"]
        before = node.plain()
        node.sim.run_inside(["pqos", "-I", "-e", "llc@0:2=0x7ff", "-a", "llc:0=5"])
        assert node.plain() != before
        wait_for(lambda: node.plain() == before, "the repair")
        wait_for(lambda: node.health()["drift_repairs"] == 2, "the count")
        node.assert_consistent({id})


def test_a_removed_group_is_created_again():
    with Node(DRIFT) as node:
        id = node.create("4-7", 2, 2)["id"]
        before = node.plain()
        node.sim.control("vanish COS2")
        assert node.plain() != before
        wait_for(lambda: node.plain() == before, "the group to be back")
        node.assert_consistent({id})


@pytest.mark.parametrize("shape", [
    {"sockets": 8, "cpus": 64, "ways": 16, "closids": 32},
    {"sockets": 4, "cpus": 16, "ways": 15, "cache_ids": "4,0,7,2"},
    {"sockets": 2, "cpus": 8, "ways": 20, "min_cbm_bits": 2, "shareable": "c0000"},
    {"sockets": 1, "cpus": 4, "ways": 12, "closids": 8, "mb": False},
])
def test_any_topology_is_served(shape):
    with Node(**shape) as node:
        ids = {node.create([str(cpu)], most, least)["id"]
               for cpu, (most, least) in enumerate([(2, 2), (3, 2), (0, 0), (2, 2)])}
        last = str(shape["cpus"] - 1)
        if int(last) > 3:
            ids.add(node.create(last, 2, 2)["id"])
        node.assert_consistent(ids)
        for id in ids:
            node.delete(id)
        node.assert_consistent(set())


def test_nrdctl_creates_lists_draws_and_deletes():
    with Node() as node:
        def nrdctl(*arguments):
            return run_nrdctl("--url", f"http://127.0.0.1:{node.port}", *arguments)
        assert nrdctl("workload", "create", "--cpus", "4-7", "--ways", "2", "--uuid", "mine").returncode == 0
        assert "guarantee" in nrdctl("workload", "list").stdout
        assert "mine" in nrdctl("workload", "show", "1").stdout
        assert " . A A O O O O O O O O\n" in nrdctl("ways").stdout
        shown = nrdctl("node").stdout
        assert "11 ways" in shown and "free ways 8 (mask 7f8), idle 1 (mask 1)" in shown, shown
        assert "guarantee  3 of 5 ways free, longest run 3, idle 0\n" in shown, shown
        assert json.loads(nrdctl("--json", "workload", "list").stdout) == node.list()
        refused = nrdctl("workload", "create", "--cpus", "5", "--ways", "2")
        assert refused.returncode == 1 and "--cpus: CPU 5 belongs to workload 1" in refused.stderr
        assert nrdctl("workload", "delete", "1").returncode == 0
        assert nrdctl("workload", "frobnicate").returncode == 2
        node.kill9()
        unreachable = nrdctl("workload", "list")
        assert unreachable.returncode == 3 and "--debug" in unreachable.stderr


@pytest.mark.parametrize("config,said", [
    ("[drift]\ninterval_second = 1\n", "interval_second"),
    ("[cache_pools]\nshrink = 3\n", "shrink"),
    ("# fine\n[cache_pools\n", "nrd.toml"),
])
def test_a_wrong_configuration_is_refused_with_the_line(config, said):
    with Node(config=config, start=False) as node:
        for flags in ([], ["--check-config"]):
            refused = node.run_daemon(*flags)
            assert refused.returncode == 78 and said in refused.stderr, refused.stderr
            assert ":2:" in refused.stderr or "line 2" in refused.stderr, refused.stderr
        assert not os.path.exists(node.state)
        assert node.sim.writes() == 0
