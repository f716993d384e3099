"""A node without Onload: it says so, refuses what it cannot do in words, and everything else works."""

import concurrent.futures
import time

import pytest

from harness import Node, refusal, wait_for
from nrdctl import run_nrdctl

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def unchanged():
    """For tests that change nothing."""
    with Node() as node:
        yield node


@pytest.fixture
def node():
    with Node() as node:
        yield node


def conditions(node):
    return {c["type"]: c["status"] for c in node.call("GET", "/v1/onload")["conditions"]}


def test_absence_of_onload_is_reported(unchanged):
    onload = unchanged.call("GET", "/v1/onload")
    assert onload["modules"] == [] and onload["version"] is None and onload["spec"] is None
    assert onload["generation"] == 0 and onload["problem"] is None
    assert conditions(unchanged) == {"Loaded": "False", "DevicesReady": "False", "ControlPlaneReady": "False", "Drifted": "False",
                                     "Frozen": "False", "Progressing": "False", "DeviceAccessOpen": "False", "NicAvailable": "False",
                                     "RebootRequired": "False", "VersionMatch": "Unknown", "UserspaceMatch": "Unknown",
                                     "Verified": "Unknown"}
    assert unchanged.call("GET", "/v1/onload/versions") == []
    assert unchanged.call("GET", "/v1/onload/users")["users"] == []
    assert "lo" in [interface["name"] for interface in unchanged.call("GET", "/v1/onload/interfaces")]


def test_an_unknown_version_is_refused_with_its_field(unchanged):
    refused = refusal(unchanged.call, "PUT", "/v1/onload", {"state": "loaded", "version": "9.0"})
    assert refused.status == 400
    assert "/version" in refused.text and "9.0" in refused.text
    assert unchanged.call("GET", "/v1/onload")["generation"] == 0


@pytest.mark.parametrize("source", ["/etc", "/opt/nrd/import/../../../etc", "/opt/nrd/import/", "/opt/nrd/importer/x",
                                    "/opt/nrd/import//x", "/opt/nrd/import/./x"])
def test_nothing_is_imported_from_elsewhere(unchanged, source):
    refused = refusal(unchanged.call, "POST", "/v1/onload/versions", {"name": "9.0", "source": source})
    assert refused.status == 400 and "/source" in refused.text


def test_an_absent_onload_is_unloaded_at_once_and_after_a_restart(node):
    status, text, headers = node.request("DELETE", "/v1/onload")
    assert status == 202, text
    operation = headers["Location"]
    wait_for(lambda: node.call("GET", operation)["outcome"] == "succeeded", "the operation")
    assert node.request("DELETE", "/v1/onload")[0] == 200
    node.kill9_and_start()
    assert node.call("GET", "/v1/onload")["effective_generation"] == 1
    assert node.call("GET", operation)["outcome"] == "succeeded"


def test_freeze_outlives_a_restart(node):
    assert node.request("PUT", "/v1/onload/freeze", {"frozen": True, "reason": "trading"}, JSON)[0] == 200
    node.kill9_and_start()
    assert conditions(node)["Frozen"] == "True"
    status, text, _ = node.request("PUT", "/v1/onload", {"state": "unloaded"}, JSON)
    assert status == 423 and "trading" in text


def test_a_client_with_an_outdated_generation_gets_a_412(node):
    node.call("PUT", "/v1/onload", {"state": "unmanaged"})
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"}, {**JSON, "If-Match": '"0"'})[0] == 412
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"}, {**JSON, "If-Match": '"1"'})[0] == 202


def test_a_workload_that_wants_onload_is_refused_whole(unchanged):
    before = unchanged.plain()
    body = {"core_ids": ["1"], "cache": {"max": 2, "min": 2}, "onload": {"profile": "latency", "env": {"EF_POLL_USEC": "1"}}}
    status, text, _ = unchanged.request("POST", "/v1/workloads", body)
    assert (status, "nrd has not loaded Onload on this node" in text) == (409, True), text
    assert unchanged.request("POST", "/v1/workloads?dry_run=true", body)[0] == 409
    for wrong, field in (({"profile": 5}, "/onload/profile"), ({"profile": "a", "profiles": ["b"]}, "/onload/profile"),
                         ({"env": {"A": 5}}, "/onload/env/A"), ({"profil": "a"}, "/onload/profil"), ([], "/onload")):
        status, text, _ = unchanged.request("POST", "/v1/workloads", {**body, "onload": wrong})
        assert (status, f"{field}:" in text) == (400, True), text
    assert (unchanged.list(), unchanged.plain()) == ([], before)


def test_everything_else_works(node):
    id = node.create("4-7", 2, 2)["id"]
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"}, JSON)[0] == 202
    node.assert_consistent({id})
    assert node.call("GET", "/v1/health")["status"] == "ok"


def test_a_long_poll_is_answered_at_a_change_and_when_nrd_stops(node):
    revision = node.call("GET", "/v1/onload?since=0&wait=1")["revision"]
    # The first look at the node may come in between, and is news.
    while (later := node.call("GET", f"/v1/onload?since={revision}&wait=1")["revision"]) != revision:
        revision = later
    began = time.monotonic()
    assert node.call("GET", f"/v1/onload?since={revision}&wait=1")["revision"] == revision
    assert time.monotonic() - began >= 1
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(node.call, "GET", f"/v1/onload?since={revision}&wait=60")
        node.call("PUT", "/v1/onload", {"state": "unmanaged"})
        news = waiting.result(timeout=20)
        assert news["generation"] == 1 and news["revision"] != revision
        waiting = pool.submit(node.call, "GET", f"/v1/onload?since={news['revision']}&wait=60")
        time.sleep(0.5)  # so that it waits; if it does not yet, it is answered all the same
        began = time.monotonic()
        node.terminate()
        assert waiting.result(timeout=20)["revision"] == news["revision"]
        assert time.monotonic() - began < 8


def test_a_dry_run_changes_nothing(unchanged):
    status, text, _ = unchanged.request("PUT", "/v1/onload?dryRun=true", {"state": "unloaded"}, JSON)
    assert status == 200 and '"ok":true' in text.replace(" ", "")
    found = unchanged.call("POST", "/v1/onload/preflight", {"state": "loaded", "version": "9.0"})
    assert not found["ok"] and [check["name"] for check in found["checks"] if not check["ok"]] == ["installed"]
    assert unchanged.request("PUT", "/v1/onload?dryRun=true", {"state": "loaded", "version": "9.0"}, JSON)[0] == 400
    assert unchanged.call("GET", "/v1/onload")["generation"] == 0


@pytest.mark.parametrize("words, says", [
    (["load", "9"], "VERSION: version 9 not found"),
    (["load", "9", "--users", "x"], "--users: expected"),
    (["load", "9", "--control-plane=--none"], "--control-plane: is not an allowed option"),
    (["load", "9", "--param", "a/b.c=1"], "--param a~1b: is not a valid module name"),
    (["controlplane", "set", "--none"], "ARGS: is not an allowed option"),
    (["import", "a/b", "/opt/x"], "NAME: "),
    (["import", "9", "x"], "SOURCE: "),
    (["rollback", "--to", "7"], "--to: "),
    (["drain", "--drain", "999999"], "--drain: "),
])
def test_a_refusal_of_nrdctl_names_the_option(unchanged, words, says):
    done = run_nrdctl("--socket", unchanged.socket, "onload", *words)
    assert done.returncode != 0 and done.stderr.startswith("nrdctl: " + says), done
