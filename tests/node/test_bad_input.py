"""Bad input: each its own clear 4xx that names the field, and no effect."""

import json

import pytest
from harness import Node

JSON = {"Content-Type": "application/json"}
PROBLEM = {**JSON, "Accept": "application/problem+json"}
GOOD = {"core_ids": ["4"], "cache": {"max": 2, "min": 2}}


def body(**changes):
    return json.dumps({**GOOD, **changes})


# name: (body, status, JSON pointer or None, words of the answer)
REFUSED = {
    "unknown CPU": (body(core_ids=["99"]), 400, "/core_ids/0", "99"),
    "CPU beyond all words": (body(core_ids=["100000"]), 400, "/core_ids/0", "100000"),
    "offline CPU": (body(core_ids=["3"]), 400, "/core_ids/0", "offline"),
    "empty list": (body(core_ids=[]), 400, "/core_ids", "No task or core id specified"),
    "no core_ids": ('{"cache":{"max":1,"min":1}}', 400, "/core_ids", "No task or core id specified"),
    "letters": (body(core_ids=["abc"]), 400, "/core_ids/0", '"abc"'),
    "range downwards": (body(core_ids=["0", "3-1"]), 400, "/core_ids/1", "3-1"),
    "core_ids of numbers": (body(core_ids=[4]), 400, "/core_ids/0", "string"),
    "core_ids no list": (body(core_ids="4"), 400, "/core_ids", "list of CPUs"),
    "negative ways": (body(cache={"max": -1, "min": 1}), 400, "/cache/max", ""),
    "fractional ways": (body(cache={"max": 1.5, "min": 1}), 400, "/cache/max", ""),
    "ways as text": (body(cache={"max": "2", "min": 2}), 400, "/cache/max", ""),
    "ways beyond 32 bits": (body(cache={"max": 4294967296, "min": 1}), 400, "/cache/max", ""),
    "more ways than the pool": (body(cache={"max": 6, "min": 6}), 400, "/cache/max", "5"),
    "max without min": (body(cache={"max": 2}), 400, None, "Need to provide both cache.* or none of them"),
    "max with min 0": (body(cache={"max": 2, "min": 0}), 400, "/cache/min", ""),
    "min above max": (body(cache={"max": 2, "min": 3}), 400, "/cache/min", ""),
    "no cache": ('{"core_ids":["4"]}', 400, None, "No RDT/Plugins params in workload"),
    "two caches that differ": (body(rdt={"cache": {"max": 1, "min": 1}}), 400, None, ""),
    "unknown key": (body(core_id=["4"]), 400, "/core_id", "core_ids"),
    "unknown key inside": (body(cache={"max": 1, "min": 1, "mim": 1}), 400, "/cache/mim", "min"),
    "null for a list": (body(core_ids=None), 400, "/core_ids", "null"),
    "null for all": ("null", 400, None, "null"),
    "a list for all": ("[]", 400, None, ""),
    "truncated": ('{"core_ids":["4"],', 400, None, ""),
    "nothing": ("", 400, None, ""),
    "trailing text": (body() + "x", 400, None, ""),
    "deep": ("[" * 60000, 400, None, ""),
    "duplicate key": ('{"core_ids":["4"],"core_ids":["5"],"cache":{"max":1,"min":1}}', 400, None, "core_ids"),
    "invalid UTF-8": (b'{"core_ids":["4"],"uuid":"\xff\xfe","cache":{"max":1,"min":1}}', 400, None, ""),
    "too large": (body(uuid="x" * 70000), 413, None, ""),
}


@pytest.fixture(scope="module")
def node():
    with Node(offline="3") as shared:
        shared.create("0", 2, 2)
        yield shared


@pytest.fixture
def unchanged(node):
    before = node.hardware(), node.stored(), node.health()["revision"], node.sim.writes()
    yield
    assert before == (node.hardware(), node.stored(), node.health()["revision"], node.sim.writes())


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_body_is_refused_with_its_reason(node, unchanged, name):
    text, status, pointer, words = REFUSED[name]
    got, said, headers = node.request("POST", "/v1/workloads", text, JSON)
    assert (got, headers.get_content_type()) == (status, "text/plain"), said
    assert words in said and said.strip() and len(said.strip().splitlines()) == 1
    got, said, headers = node.request("POST", "/v1/workloads", text, PROBLEM)
    assert got == status
    if status != 413:
        assert headers.get_content_type() == "application/problem+json"
        problem = json.loads(said)
        assert problem["status"] == status and problem["code"] and problem["detail"]
        if pointer:
            assert problem["field"] == pointer, problem


def test_a_bad_patch_is_refused_and_changes_nothing(node, unchanged):
    for text in ("null", "[]", "{", body(core_ids=["99"]), body(core_ids=[]), '{"cache":{"max":9,"min":9}}', '{"cach":{}}'):
        status, said, _ = node.request("PATCH", "/v1/workloads/1", text, JSON)
        assert 400 <= status < 500, (text, said)


@pytest.mark.parametrize("method,path,headers,text,status", [
    ("POST", "/v1/workloads", {"Content-Type": "text/plain"}, body(), 415),
    ("POST", "/v1/workloads", {}, body(), 415),
    ("PATCH", "/v1/workloads/1", {"Content-Type": "application/xml"}, body(), 415),
    ("GET", "/v1/nothing", {}, None, 404),
    ("GET", "/v2/workloads", {}, None, 404),
    ("GET", "/", {}, None, 404),
    ("GET", "/v1/workloads/77", {}, None, 404),
    ("GET", "/v1/workloads/-1", {}, None, 404),
    ("GET", "/v1/workloads/1x", {}, None, 404),
    ("DELETE", "/v1/workloads/99999999999999999999999", {}, None, 404),
    ("PATCH", "/v1/workloads/77", JSON, "{}", 404),
    ("PUT", "/v1/workloads", JSON, body(), 405),
    ("DELETE", "/v1/workloads", {}, None, 405),
    ("POST", "/v1/node", JSON, "{}", 405),
])
def test_wrong_paths_methods_and_types(node, unchanged, method, path, headers, text, status):
    got, said, answer = node.request(method, path, text, headers)
    assert got == status, said
    if status == 405:
        assert "GET" in answer["Allow"]
    if "workloads/77" in path:
        assert said.strip() == "404: Could not found workload"
