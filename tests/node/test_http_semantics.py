"""What clients of workloads may rely on beside the grant itself: ids, patches, conditions, retries, dry runs, waiting."""

import gzip
import json
import threading
import time
import zlib

import pytest
from harness import DRIFT, Node, refusal, wait_for
from nrdctl import run_nrdctl
from rmd_table import came_from_elsewhere, counts
from shared_node import node  # noqa: F401

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def shared():
    with Node(cpufreq="intel_pstate") as node:
        yield node


def post(node, body, headers=None, query=""):
    return node.request("POST", "/v1/workloads" + query, body, {**JSON, **(headers or {})})


def two_ways(cpus="4-5", **more):
    return {"core_ids": [cpus], "cache": {"max": 2, "min": 2}, **more}


# PATCH

FREQUENCY = {"max_ratio": 20}


@pytest.mark.parametrize("patch,left", [
    ({"cache": None}, "pstate"), ({"rdt": {"cache": None}}, "pstate"), ({"rdt": None}, "pstate"),
    ({"pstate": None}, "cache"), ({"plugins": None}, "cache"), ({"plugins": {"pstate": None}}, "cache"),
])
def test_null_removes_the_named_member_only(node, patch, left):
    id = post_json(node, two_ways(pstate=FREQUENCY))["id"]
    patched = node.call("PATCH", f"/v1/workloads/{id}", patch)
    assert (patched["cache"] != {}) == (left == "cache") and ("pstate" in patched) == (left == "pstate")
    assert (patched["cos_name"] != "") == (left == "cache")
    before = counts(node)
    assert node.call("PATCH", f"/v1/workloads/{id}", patch) == patched
    assert counts(node) == before
    refused = refusal(node.call, "PATCH", f"/v1/workloads/{id}", {left: None})
    assert refused.status == 400 and "would request no resources" in refused.text
    assert counts(node) == before and node.list() == [patched]


def post_json(node, body):
    status, text, _ = post(node, body)
    assert status == 201, text
    return json.loads(text)


@pytest.mark.parametrize("same", [
    {}, {"cache": {"max": 2, "min": 2}}, {"rdt": {"cache": {"max": 2}}}, {"pstate": FREQUENCY},
    {"plugins": {"pstate": FREQUENCY}}, {"core_ids": ["4-5"]}, {"pstate": {}, "plugins": {}, "cache": {}},
    two_ways(plugins={"pstate": FREQUENCY}, uuid="ignored", origin="x", id="9"),
])
def test_a_patch_that_changes_nothing_writes_and_commits_nothing(node, same):
    created = post_json(node, two_ways(pstate=FREQUENCY))
    before = counts(node)
    assert node.call("PATCH", "/v1/workloads/" + created["id"], same) == created
    assert counts(node) == before


@pytest.mark.parametrize("patch,said", [
    ({"core_ids": ["5-6"]}, "CPU list [6] has been assigned"), ({"cache": {"max": 9, "min": 9}}, "/cache"),
    ({"pstate": {"max_ratio": 999}}, "/pstate"), ({"cache": None, "rdt": {"cache": {"max": 1}}}, "/rdt/cache"),
    ({"plugins": {"other": {"a": 1}}}, "Reason: Trying to use module that is not loaded\n"), ({"policy": "none"}, "policy none"),
])
def test_a_patch_that_is_refused_changes_nothing(node, patch, said):
    created = post_json(node, two_ways(pstate=FREQUENCY))
    node.create("6", 1, 1)
    before, listed = counts(node), node.list()
    refused = refusal(node.call, "PATCH", "/v1/workloads/" + created["id"], patch)
    assert refused.status == 400 and said in refused.text
    assert counts(node) == before and node.list() == listed


# Ids and origin

@pytest.mark.parametrize("id", ["web-1", "007", "9007199254740993", "a:b@c~d+e_f.g", "x" * 320])
def test_a_client_may_choose_the_id(node, id):
    created = post_json(node, two_ways(id=id))
    assert created["id"] == id
    assert node.call("GET", f"/v1/workloads/{id}") == created
    assert post(node, two_ways("7", id=id))[:2] == (400, "Failed to validate workload. Reason: Workload validation in "
                                                         f"database failed. Details: Workload with id {id} already exists\n")
    assert node.call("PATCH", f"/v1/workloads/{id}", {"cache": {"max": 3, "min": 3}})["id"] == id
    assert [cache["workloads"][0]["id"] for cache in node.call("GET", "/v1/node")["caches"] if cache["workloads"]] == [id]
    node.delete(id)
    assert node.list() == []


def test_a_chosen_number_is_not_given_to_others():
    with Node() as node:
        assert node.create("1", 1, 1, id="5")["id"] == "5"
        assert node.create("2", 1, 1)["id"] == "6"
        assert refusal(node.create, "3", 1, 1, id="6")
        node.delete("5")
        node.kill9_and_start()
        assert node.create("3", 1, 1)["id"] == "7"
        assert node.call("GET", "/v1/workloads/6")["core_ids"] == ["2"]


def test_a_chosen_number_that_nrd_would_give_later_is_passed_over():
    with Node() as node:
        given = ["9007199254740992", "9007199254740994"]  # the second one is above those that are counted
        assert [node.create(str(cpu), 1, 1, id=id)["id"] for cpu, id in enumerate(given, 1)] == given
        assert node.create("3", 1, 1)["id"] == "9007199254740995"


@pytest.mark.parametrize("id", ["a/b", "a b", "é", ".", "..", "x" * 321, 7])
def test_an_id_that_does_not_fit_into_a_path_is_refused(node, id):
    status, text, _ = post(node, two_ways(id=id))
    assert status == 400 and "/id: " in text


def test_workloads_of_another_origin_are_not_changed_here():
    with Node() as node:
        node.create("1", 1, 1, origin="OPENSTACK")
        node.create("2", 1, 1)
        assert [workload["origin"] for workload in node.list()] == ["REST", "REST"]
        came_from_elsewhere(node, 1)
        before, listed = counts(node), node.list()
        assert [workload["origin"] for workload in listed] == ["OPENSTACK", "REST"]
        for method, verb in (("PATCH", "modify"), ("DELETE", "delete")):
            body = {"cache": {"max": 2, "min": 2}} if method == "PATCH" else None
            status, text, headers = node.request(method, "/v1/workloads/1", body)
            assert (status, headers["Content-Type"]) == (200, "text/plain")
            assert text == f"200: You only have permission to {verb} REST origin workloads\n"
            assert node.request(method, "/v1/workloads/1", body, {**JSON, "Accept": "application/json"})[0] == 403
        assert counts(node) == before and node.list() == listed
        assert node.call("GET", "/v1/workloads?origin=OPENSTACK") == listed[:1]


# Bodies

@pytest.mark.parametrize("cores,granted", [
    (["0-7,^3"], {0, 1, 2, 4, 5, 6, 7}), (["0-3", "^1-2"], {0, 3}), ([" 0 , 2 "], {0, 2}), (["^0,0-1"], {0, 1})])
def test_lists_of_cpus_are_read_as_rmd_did_and_echoed_as_sent(node, cores, granted):
    created = post_json(node, {"core_ids": cores, "pstate": FREQUENCY})
    assert created["core_ids"] == cores
    assert {int(cpu) for cpu in created["granted_frequencies"]} == granted


def test_keys_are_read_in_any_case_but_not_twice(node):
    body = {"Core_IDs": ["4"], "RDT": {"Cache": {"MAX": 1, "Min": 1}}, "UUID": "u"}
    created = post_json(node, body)
    assert created["core_ids"] == ["4"] and created["cache"] == {"max": 1, "min": 1} and created["uuid"] == "u"
    assert node.call("PATCH", "/v1/workloads/" + created["id"], {"Cache": {"Max": 2, "MIN": 2}})["cache"]["max"] == 2
    status, text, _ = post(node, '{"core_ids": ["5"], "cache": {"max": 1, "min": 1, "Min": 2}}')
    assert status == 400 and "/cache/Min: the key \"min\" occurs twice" in text
    assert node.call("POST", "/v1/hospitality", {"Max_Cache": 2, "MIN_CACHE": 2})["score"]["l3"]


@pytest.mark.parametrize("encoding,pack", [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_bodies_may_come_compressed(node, encoding, pack):
    plain = json.dumps(two_ways()).encode()
    assert post(node, pack(plain), {"Content-Encoding": encoding})[0] == 201
    before = counts(node)
    bomb = pack(plain[:-1] + b" " * 50_000_000 + b"}")
    assert len(bomb) < 65_536
    assert post(node, bomb, {"Content-Encoding": encoding})[0] == 413
    for broken in (plain, pack(plain)[:-3], pack(plain) + b"x"):
        assert post(node, broken, {"Content-Encoding": encoding})[0] == 400
    assert post(node, pack(plain), {"Content-Encoding": "br"})[0] == 415
    assert counts(node) == before


@pytest.mark.parametrize("literal", ["3", "3.0", "3.50", "35e-1"])
def test_a_threshold_is_echoed_as_written_once_and_as_a_number_later(node, literal):
    body = '{"core_ids": ["4"], "plugins": {"pstate": {"ratio": %s, "monitoring": "off"}}}' % literal
    status, text, _ = post(node, body)
    assert status == 201 and f'"ratio":{literal},' in text
    shown = node.request("GET", "/v1/workloads/" + json.loads(text)["id"])[1]
    assert f'"ratio":{float(literal):g},' in shown


# Idempotency-Key

def test_a_creation_asked_for_again_is_answered_and_not_done_again():
    with Node() as node:
        key = {"Idempotency-Key": "3f1c-77"}
        status, text, headers = post(node, two_ways(), key)
        assert status == 201
        before = counts(node)
        for _ in range(2):
            again = post(node, two_ways(), key)
            assert (again[0], again[1], again[2]["Location"]) == (201, text, headers["Location"])
            assert counts(node) == before
            node.kill9_and_start()
            before = counts(node)
        assert post(node, two_ways("7"), key)[0] == 422
        node.delete("1")
        status, said, _ = post(node, two_ways(), key)
        assert status == 409 and "has been deleted" in said
        assert node.list() == []
        assert post(node, two_ways(), {"Idempotency-Key": "other"})[0] == 201
        for wrong in ("x" * 256, "a b"):
            assert post(node, two_ways("7"), {"Idempotency-Key": wrong})[0] == 400


def test_a_creation_that_was_refused_leaves_its_key_free(node):
    key = {"Idempotency-Key": "free"}
    assert post(node, two_ways(id="/"), key)[0] == 400
    node.create("4", 1, 1)
    assert post(node, two_ways(), key)[0] == 400
    node.delete(node.list()[0]["id"])
    assert post(node, two_ways(), key)[0] == 201


def test_many_at_once_with_one_key_create_one_workload(node):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(post(node, two_ways(), {"Idempotency-Key": "many"})))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _, _ in answers} == {201} and len({text for _, text, _ in answers}) == 1
    assert len(node.list()) == 1


# Dry runs

def test_a_dry_run_reports_the_change_and_writes_nothing():
    with Node(cpufreq="intel_pstate") as node:
        before = counts(node)
        status, text, _ = post(node, two_ways(pstate=FREQUENCY), query="?dry_run=true")
        assert status == 200
        planned = json.loads(text)
        assert counts(node) == before and node.list() == [] and node.stored() == {}
        created = post_json(node, two_ways(pstate=FREQUENCY))
        same = ("core_ids", "cache", "rdt", "pstate", "cos_name", "pool", "granted_ways", "granted_frequencies")
        assert {key: planned["workload"][key] for key in same} == {key: created[key] for key in same}
        assert (planned["workload"]["id"], planned["workload"]["status"]) == ("", "None")
        changes = {change["knob"]: (change["from"], change["to"]) for change in planned["changes"]}
        assert changes["COS2 ways on cache 0"] == ("absent", created["granted_ways"]["0"]["mask"])
        assert changes["class of CPU 4"] == ("COS0", "COS2") and "frequency of CPU 5" in changes
        assert changes["group COS2"] == ("absent", "present")
        assert set(changes) == {"group COS2", "COS2 ways on cache 0", "COS0 ways on cache 0", "class of CPU 4", "class of CPU 5",
                                "frequency of CPU 4", "frequency of CPU 5"}

        before, listed = counts(node), node.list()
        planned = node.call("PATCH", "/v1/workloads/1?dry_run=true", {"cache": {"max": 3, "min": 3}, "pstate": None})
        assert planned["workload"]["granted_ways"]["0"]["ways"] == 3 and planned["workload"]["id"] == "1"
        assert {change["knob"] for change in planned["changes"]} == {
            "COS2 ways on cache 0", "COS0 ways on cache 0", "frequency of CPU 4", "frequency of CPU 5"}
        assert node.call("PATCH", "/v1/workloads/1?dry_run=true", {})["changes"] == []
        assert node.request("PATCH", "/v1/workloads/1?dry_run=true", {}, {**JSON, "If-Match": '"1-9"'})[0] == 412
        for body in (two_ways("4"), two_ways("8", id="1"), {"core_ids": ["9"], "cache": {"max": 11, "min": 11}}):
            assert post(node, body, query="?dry_run=true")[:2] == post(node, body)[:2]
        assert (counts(node), node.list()) == (before, listed)


def test_nrdctl_shows_the_result_of_a_dry_run(node):
    shown = run_nrdctl("--url", f"http://127.0.0.1:{node.port}", "workload", "create", "--cpus", "4-5", "--ways", "2", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "guarantee" in shown.stdout and "COS2 ways on cache 0: absent -> " in shown.stdout
    assert node.list() == []


# Conditions

def test_an_etag_changes_with_the_workload_alone(node):
    created = post_json(node, two_ways())
    path = "/v1/workloads/" + created["id"]
    tag = node.request("GET", path)[2]["ETag"]
    node.create("7", 1, 1)
    for condition in (tag, f'"x", W/{tag}', "*"):
        status, text, headers = node.request("GET", path, headers={"If-None-Match": condition})
        assert (status, text, headers["ETag"], headers["Content-Length"]) == (304, "", tag, None)
    before = counts(node)
    for method, body in (("PATCH", {"cache": {"max": 1, "min": 1}}), ("DELETE", None)):
        for stale in ('"0-1"', '"x"', "W/" + tag):
            status, text, _ = node.request(method, path, body, {**JSON, "If-Match": stale})
            assert status == 412 and "If-Match" in text
    assert counts(node) == before
    status, _, headers = node.request("PATCH", path, {"cache": {"max": 1, "min": 1}}, {**JSON, "If-Match": tag})
    assert status == 200 and headers["ETag"] not in (tag, None)
    assert node.request("GET", path, headers={"If-None-Match": tag})[0] == 200
    assert node.request("DELETE", path, headers={"If-Match": tag})[0] == 412
    assert node.request("DELETE", path, headers={"If-Match": headers["ETag"]})[0] == 200


def test_of_two_changes_with_the_same_etag_one_succeeds(node):
    path = "/v1/workloads/" + post_json(node, two_ways())["id"]
    tag = node.request("GET", path)[2]["ETag"]
    answers = []
    threads = [threading.Thread(target=lambda ways=ways: answers.append(
        node.request("PATCH", path, {"cache": {"max": ways, "min": ways}}, {**JSON, "If-Match": tag})[0])) for ways in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200, 412]


def test_an_etag_changes_with_the_neighbours_of_the_workload():
    with Node(DRIFT) as node:
        path = "/v1/workloads/" + post_json(node, two_ways())["id"]
        tag = node.request("GET", path)[2]["ETag"]
        node.sim.run_inside(["mkdir", "/sys/fs/resctrl/theirs"])
        node.sim.write("/sys/fs/resctrl/theirs/cpus_list", "6\n")
        node.sim.write("/sys/fs/resctrl/theirs/schemata", "L3:0=7ff\n")
        wait_for(lambda: node.call("GET", path)["shared_with"] == ["theirs"], "the neighbour to be seen")
        status, text, headers = node.request("GET", path, headers={"If-None-Match": tag})
        assert status == 200 and json.loads(text)["shared_with"] == ["theirs"] and headers["ETag"] != tag
        assert node.request("PATCH", path, {"labels": {"team": "a"}}, {**JSON, "If-Match": tag})[0] == 200


# The list

def test_the_list_can_be_filtered_and_requested_conditionally(node):
    a = post_json(node, two_ways("4", uuid="a"))
    post_json(node, two_ways("5", uuid="b c"))
    assert node.call("GET", "/v1/workloads?uuid=a") == [a]
    assert [w["uuid"] for w in node.call("GET", "/v1/workloads?uuid=b%20c&origin=REST")] == ["b c"]
    assert node.call("GET", "/v1/workloads?origin=OPENSTACK") == []
    for path in ("/v1/workloads", "/v1/workloads?uuid=a"):
        _, _, headers = node.request("GET", path)
        tag = headers["ETag"]
        assert headers["X-Nrd-Revision"] == str(node.health()["revision"])
        assert node.request("GET", path, headers={"If-None-Match": tag})[0] == 304
    node.call("PATCH", "/v1/workloads/" + a["id"], {"cache": {"max": 1, "min": 1}})
    assert node.request("GET", path, headers={"If-None-Match": tag})[0] == 200


@pytest.mark.parametrize("path,said", [
    ("/v1/workloads?uid=a", "?uid: unknown parameter \"uid\"; did you mean \"uuid\"?"),
    ("/v1/workloads?wait=1", "?wait: requires since"), ("/v1/workloads?since=-1", "?since: "),
    ("/v1/workloads?since=1&wait=61", "?wait: "), ("/v1/cpus?x=1", "?x: this path takes no parameters")])
def test_unknown_parameters_are_refused(node, path, said):
    status, text, _ = node.request("GET", path)
    assert status == 400 and said in text
    assert post(node, two_ways(), query="?dry_run=maybe")[0] == 400


class Waiter(threading.Thread):
    def __init__(self, node, since, wait=30):
        super().__init__()
        self.node, self.path, self.answer = node, f"/v1/workloads?since={since}&wait={wait}", None
        self.start()

    def run(self):
        self.answer = self.node.request("GET", self.path, timeout=90)
        self.ended = time.monotonic()


def test_a_long_poll_is_answered_by_the_change_and_delays_no_client(node):
    revision = node.health()["revision"]
    begun = time.monotonic()
    waiters = [Waiter(node, revision) for _ in range(60)]
    wait_for(lambda: node.request("GET", f"/v1/workloads?since={revision}&wait=0")[0] == 200, "others to be served")
    time.sleep(0.3)
    assert all(waiter.answer is None for waiter in waiters)
    created = post_json(node, two_ways())
    for waiter in waiters:
        waiter.join()
        status, text, headers = waiter.answer
        assert (status, json.loads(text)) == (200, [created])
        assert int(headers["X-Nrd-Revision"]) > revision and waiter.ended - begun < 25


def test_a_long_poll_times_out_and_an_older_revision_is_answered_at_once(node):
    revision = node.health()["revision"]
    begun = time.monotonic()
    status, text, headers = node.request("GET", f"/v1/workloads?since={revision}&wait=1")
    assert (status, text, headers["X-Nrd-Revision"]) == (200, "[]", str(revision))
    assert 1 <= time.monotonic() - begun < 25
    node.create("4", 1, 1)
    begun = time.monotonic()
    for other in (revision, revision + 1000):
        assert node.request("GET", f"/v1/workloads?since={other}&wait=60")[0] == 200
    assert time.monotonic() - begun < 25


def test_no_more_than_a_bounded_number_may_wait_and_a_stop_ends_all():
    with Node() as node:
        waiters = [Waiter(node, 0, 60) for _ in range(70)]
        wait_for(lambda: sum(waiter.answer is not None for waiter in waiters) == 6, "those who are too many of one client")
        assert {waiter.answer[:2] for waiter in waiters if waiter.answer} == {(200, "[]")}
        assert node.terminate() == 0
        for waiter in waiters:
            waiter.join()
        assert {waiter.answer[0] for waiter in waiters} == {200}
