"""Names and labels of workloads, and PUT: one verb to create, replace and repeat."""

import concurrent.futures
import json
import re

import pytest

from harness import Node, refusal
from nrdctl import run_nrdctl
from shared_node import node  # noqa: F401
from unix_clients import UnixConnection

CACHE = {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}}
PATH = "/v1/workloads/feed"


@pytest.fixture(scope="module")
def shared():
    with Node(config="[drift]\ninterval_seconds = 0\n") as node:
        yield node


def put(node, body, path=PATH, headers=None):
    """Status, workload."""
    status, text, _ = node.request("PUT", path, body, headers={"Content-Type": "application/json", **(headers or {})})
    return status, text


def refused(node, method, path, body, headers=None):
    answer = node.request(method, path, body, headers={"Content-Type": "application/json", "Accept": "application/problem+json", **(headers or {})})
    assert answer[0] >= 400, answer
    return answer[0], json.loads(answer[1])


def revision(node):
    return node.rows("SELECT revision FROM node")


def test_put_creates_replaces_and_repeats(node):
    status, text = put(node, {**CACHE, "name": "feed-a", "labels": {"team": "trading"}})
    made = json.loads(text)
    assert status == 201 and made["id"] == "feed" and made["granted_ways"]["0"]["ways"] == 2
    written = revision(node)
    status, text = put(node, {**CACHE, "name": "feed-a", "labels": {"team": "trading"}})
    assert status == 200 and json.loads(text) == made
    assert revision(node) == written, "the same request wrote to the store"
    status, text = put(node, made)  # an answer sent back
    assert status == 200 and json.loads(text) == made and revision(node) == written
    status, text = put(node, {"core_ids": ["4"], "cache": {"max": 3, "min": 3}})
    changed = json.loads(text)
    assert status == 200 and changed["granted_ways"]["0"]["ways"] == 3 and changed["core_ids"] == ["4"]
    assert "name" not in changed and "labels" not in changed, "the replaced request keeps nothing"
    assert node.hardware()[changed["cos_name"]]["cpus"] == "4"
    node.assert_consistent({"feed"})


def test_put_replaces_a_workload_whose_number_nrd_assigned(node):
    number = node.create("4-5", 2, 2)["id"]
    status, text = put(node, {**CACHE, "name": "numbered"}, f"/v1/workloads/{number}")
    assert status == 200 and json.loads(text)["id"] == number and json.loads(text)["name"] == "numbered"
    node.assert_consistent({number})


def test_put_obeys_its_conditions(node):
    assert refused(node, "PUT", PATH, CACHE, {"If-Match": "*"})[0] == 412
    assert put(node, CACHE, headers={"If-None-Match": "*"})[0] == 201
    status, problem = refused(node, "PUT", PATH, CACHE, {"If-None-Match": "*"})
    assert status == 412 and problem["detail"] == "the workload already exists"
    etag = dict(node.request("GET", PATH)[2])["ETag"]
    assert put(node, {**CACHE, "name": "x"}, headers={"If-Match": etag})[0] == 200
    assert refused(node, "PUT", PATH, CACHE, {"If-Match": etag})[0] == 412
    assert refused(node, "PUT", PATH, CACHE, {"If-None-Match": etag})[0] == 400
    shown = json.loads(put(node, {**CACHE, "cache": {"max": 1, "min": 1}}, PATH + "?dry_run=true")[1])
    assert shown["workload"]["granted_ways"]["0"]["ways"] == 1
    assert node.call("GET", PATH)["granted_ways"]["0"]["ways"] == 2
    assert put(node, CACHE, headers={"If-Match": "*"})[0] == 200


@pytest.mark.parametrize("body, field", [
    ({**CACHE, "id": "other"}, "/id"),
    ({**CACHE, "name": "a b"}, "/name"),
    ({**CACHE, "name": "-a"}, "/name"),
    ({**CACHE, "name": "a" * 64}, "/name"),
    ({**CACHE, "name": 5}, "/name"),
    ({**CACHE, "labels": []}, "/labels"),
    ({**CACHE, "labels": {"team": 5}}, "/labels/team"),
    ({**CACHE, "labels": {"": "x"}}, "/labels/"),
    ({**CACHE, "labels": {"k" * 254: "x"}}, "/labels/kkk"),
    ({**CACHE, "labels": {"team": "x" * 64}}, "/labels/team"),
    ({**CACHE, "labels": {f"k{i}": "x" for i in range(33)}}, "/labels"),
    ({**CACHE, "labels": {f"{i:0253}": "x" for i in range(17)}}, "/labels"),
    ({"core_ids": ["4"]}, None),
])
def test_a_bad_put_names_its_field_and_changes_nothing(node, body, field):
    before = node.hardware()
    status, problem = refused(node, "PUT", PATH, body)
    assert status == 400 and (field is None or problem["field"].startswith(field)), problem
    assert node.call("GET", "/v1/workloads") == [] and node.hardware() == before


@pytest.mark.parametrize("id", ["a b", "x" * 321, "%2e%2e"])
def test_an_id_that_no_path_may_have_is_refused(node, id):
    assert refused(node, "PUT", "/v1/workloads/" + id.replace(" ", "%20"), CACHE)[0] in (400, 404)


def test_an_id_has_320_bytes(node):
    id = "k8s." + "x" * 316
    assert put(node, CACHE, f"/v1/workloads/{id}")[0] == 201
    assert node.call("GET", f"/v1/workloads/{id}")["id"] == id
    node.kill9_and_start()
    node.assert_consistent({id})


def test_names_are_unique_and_select(node):
    put(node, {**CACHE, "name": "feed", "labels": {"team": "trading", "rack": "r1"}})
    put(node, {"core_ids": ["6"], "cache": {"max": 1, "min": 1}, "labels": {"team": "trading"}}, "/v1/workloads/b")
    status, problem = refused(node, "POST", "/v1/workloads", {"core_ids": ["7"], "cache": {"max": 1, "min": 1}, "name": "feed"})
    assert status == 409 and problem["detail"] == "workload feed already has this name"

    def ids(query):
        return [workload["id"] for workload in node.call("GET", f"/v1/workloads?{query}")]

    assert ids("name=feed") == ["feed"] and ids("name=nothing") == []
    assert ids("label=team=trading") == ["feed", "b"]
    assert ids("label=team=trading,rack") == ["feed"] and ids("label=rack=r2") == [] and ids("label=team=x") == []


def test_a_patch_merges_labels_and_leaves_the_hardware_alone(node):
    put(node, {**CACHE, "name": "feed", "labels": {"team": "trading", "rack": "r1"}})
    changed = node.call("PATCH", PATH, {"labels": {"rack": None, "slot": ""}, "name": "feed-b"})
    assert changed["labels"] == {"team": "trading", "slot": ""} and changed["name"] == "feed-b"
    assert node.call("PATCH", PATH, {"labels": None, "name": None}).keys().isdisjoint({"labels", "name"})
    node.call("PATCH", PATH, {"labels": {f"k{i}": "x" for i in range(32)}})
    assert refused(node, "PATCH", PATH, {"labels": {"one-more": "x"}})[0] == 400


def test_names_survive_a_kill(node):
    put(node, {**CACHE, "name": "feed", "labels": {"a/b": "c", "KeyCase": "Kept"}})
    before = node.call("GET", PATH)
    node.kill9_and_start()
    assert node.call("GET", PATH) == before and before["labels"] == {"a/b": "c", "KeyCase": "Kept"}


def test_many_clients_put_the_same_workload_and_one_creates_it(node):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(lambda _: put(node, CACHE)[0], range(16)))
    assert statuses == [200] * 15 + [201]
    node.assert_consistent({"feed"})


def over_socket(node, method, path, body=None):
    connection = UnixConnection(node.socket)
    connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json", "Accept": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_another_origin_is_changed_only_by_force_on_the_socket(node):
    put(node, CACHE)
    node.terminate()
    node.change_store("UPDATE workload SET origin = 'OPENSTACK'")
    node.start()
    assert refused(node, "PUT", PATH, {**CACHE, "name": "x"})[0] == 403
    status, problem = refused(node, "PATCH", PATH + "?force=true", {"name": "x"})
    assert status == 403 and problem["field"] == "?force"
    assert over_socket(node, "PUT", PATH, {**CACHE, "name": "x"})[0] == 403
    status, text = over_socket(node, "PUT", PATH + "?force=true", {**CACHE, "name": "x"})
    assert status == 200 and json.loads(text)["name"] == "x" and json.loads(text)["origin"] == "OPENSTACK"
    assert over_socket(node, "PATCH", PATH + "?force=true", {"name": "y"})[0] == 200
    assert over_socket(node, "DELETE", PATH)[0] == 403
    assert over_socket(node, "DELETE", PATH + "?force=true")[0] == 200
    assert len(re.findall(r"AUDIT_CHANGE: .*FORCED=origin OPENSTACK", node.journal())) == 3


def test_the_audit_line_says_what_was_granted(node):
    put(node, {**CACHE, "uuid": "u-1", "name": "feed"})
    line = [line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line and "PUT /v1/workloads/feed: 201" in line][-1]
    assert re.search(r"WORKLOAD=feed UUID=u-1 NAME=feed GRANTED=COS\d+, cache 0: [0-9a-f]+", line), line


def test_the_audit_line_says_why_a_change_was_refused(node):
    put(node, CACHE)
    refused(node, "PUT", "/v1/workloads/other", CACHE)
    refused(node, "PUT", "/v1/workloads/other", {**CACHE, "name": "x, granted COS1)" + "y" * 200})
    first, second = (line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line and "PUT /v1/workloads/other: 400" in line)
    assert '400 (reason "/core_ids: CPU 4-5 belongs to workload feed") ' in first, first
    assert "STATUS=400 REASON=/core_ids: CPU 4-5 belongs to workload feed" in first, first
    assert '400 (reason "/name: is too long or has invalid characters")' in second, second


def test_a_workload_cannot_be_given_the_name_of_another_one_as_its_id(node):
    """nrdctl would change that one instead."""
    mine = node.call("POST", "/v1/workloads", {**CACHE, "name": "feed"})["id"]
    assert refused(node, "POST", "/v1/workloads", {"core_ids": ["6"], "cache": {"max": 1, "min": 1}, "id": "feed"})[0] == 400
    assert refused(node, "PUT", "/v1/workloads/feed", {"core_ids": ["6"], "cache": {"max": 1, "min": 1}})[0] == 400
    assert run_nrdctl("--socket", node.socket, "workload", "delete", "feed").returncode == 0
    assert mine not in [workload["id"] for workload in node.list()]


def test_a_client_cannot_forge_the_audit_line(node):
    put(node, {**CACHE, "uuid": "u-1, granted COS1)", "name": "feed"})
    line = [line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line and "PUT /v1/workloads/feed: 201" in line][-1]
    assert '(workload feed, uuid "u-1, granted COS1)", name feed, granted COS' in line, line


def test_the_path_of_a_request_does_not_forge_the_audit_line(node):
    refused(node, "DELETE", "/v1/workloads/1:%20200%20(workload%201)%20from%20a", None)
    assert 'DELETE "/v1/workloads/1: 200 (workload 1) from a": 404 (reason ' in node.journal()
    node.request("DELETE", "/v1/workloads/%e2%80%ae002")  # shows what follows from right to left
    assert r'DELETE "/v1/workloads/\xe2\x80\xae002": 404' in node.journal()


def test_a_client_cannot_make_the_audit_line_unreadable(node):
    """journalctl shows "[87B blob data]" for a line that is not UTF-8, or has control characters."""
    node.request("DELETE", "/v1/workloads/%ff%c2%9b")
    refused(node, "PUT", PATH, {**CACHE, "labels": {"a" + "é" * 40: "x"}})  # cut within a character
    first, second = [line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line][-2:]
    assert "DELETE \"/v1/workloads/\ufffd\\xc2\\x9b\": 404" in first and r"PATH=/v1/workloads/\xff\xc2\x9b" in first, first
    assert re.search(r"REASON=/labels/aé+\\xc3: the key of a label", second), second


def test_a_refused_put_leaves_the_workload_as_it_was(node):
    put(node, CACHE)
    put(node, {"core_ids": ["6"], "cache": {"max": 1, "min": 1}}, "/v1/workloads/b")
    before, hardware = node.call("GET", PATH), node.hardware()
    assert refused(node, "PUT", PATH, {"core_ids": ["4-6"], "cache": {"max": 2, "min": 2}})[0] == 400
    assert refused(node, "PUT", PATH, {"core_ids": ["4-5"], "cache": {"max": 5, "min": 5}})[0] == 409
    assert node.call("GET", PATH) == before and node.hardware() == hardware
    assert refusal(node.create, "4", 1, 1)
