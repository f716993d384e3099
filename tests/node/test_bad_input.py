"""Bad input: each its own clear 4xx that names the field, and no effect."""

import json
import socket

import pytest
from harness import Node

JSON = {"Content-Type": "application/json"}
PROBLEM = {"Accept": "application/problem+json"}
GOOD = {"core_ids": ["4"], "cache": {"max": 2, "min": 2}}


def body(**changes):
    return json.dumps({**GOOD, **changes})


# name: (body, status, JSON pointer or None, words of the answer that no other fault would get). Members of wrong types and
# ranges are in tests/unit/api_v1/workload_json_test.cc, texts that are no JSON in base_json/reader_test.cc.
REFUSED = {
    "unknown CPU": (body(core_ids=["99"]), 400, "/core_ids/0", "CPU 99 does not exist on this node"),
    "CPU out of range": (body(core_ids=["100000"]), 400, "/core_ids/0", "CPU 100000 does not exist"),
    "CPU of 0 in 32 bits": (body(core_ids=["4294967296"]), 400, "/core_ids/0", "CPU 4294967296 does not exist"),
    "absent CPU in a range": (body(core_ids=["4", "0-9999"]), 400, "/core_ids/1", "CPU 9999 does not exist"),
    "range without an end": (body(core_ids=["4-"]), 400, "/core_ids/0", '"4-" is not a CPU list'),
    "CPU beyond 64 bits": (body(core_ids=["4", "18446744073709551616"]), 400, "/core_ids/1",
                           "CPU 18446744073709551616 does not exist"),
    "offline CPU": (body(core_ids=["3"]), 400, "/core_ids/0", "CPU 3 is offline"),
    "offline CPU in a range": (body(core_ids=["4", "2-5"]), 400, "/core_ids/1", "CPU 3 is offline"),
    "taken CPU": (body(core_ids=["0-1"]), 400, "/core_ids", "CPU list [0] has been assigned"),
    "empty list": (body(core_ids=[]), 400, "/core_ids", "No task or core id specified"),
    "letters": (body(core_ids=["abc"]), 400, "/core_ids/0", '"abc" is not a CPU list'),
    "negative CPU": (body(core_ids=["-1"]), 400, "/core_ids/0", '"-1" is not a CPU list'),
    "core_ids an object": (body(core_ids={}), 400, "/core_ids", "found an object"),
    "more ways than the pool": (body(cache={"max": 6, "min": 6}), 400, "/cache/max", "6 ways, but the guarantee pool has 5"),
    "the same in the newer shape": (json.dumps({"core_ids": ["4"], "rdt": {"cache": {"max": 6, "min": 6}}}), 400,
                                    "/rdt/cache/max", "6 ways, but the guarantee pool has 5"),
    "max with min 0": (body(cache={"max": 2, "min": 0}), 400, "/cache/min", "min is 0, but max is 2"),
    "min above max": (body(cache={"max": 2, "min": 3}), 400, "/cache/min", "min is 3, but max is only 2"),
    "unknown key": (body(core_id=["4"]), 400, "/core_id", 'did you mean "core_ids"?'),
    "unknown key like none": (body(colour="red"), 400, "/colour", 'unknown key "colour" (allowed: id, core_ids, task_ids, '),
    "null in a list": (body(core_ids=["4", None]), 400, "/core_ids/1", "found null"),
    "null for all": ("null", 400, None, "found null"),
    "a list for an object": (body(cache=[]), 400, "/cache", "found an array"),
    "what this version cannot do": (body(backend_plugin_info={"a": "b"}), 422, "/backend_plugin_info", "plugins are not supported"),
    "a policy where there are none": (body(policy="gold"), 400, "/policy", "Can not find specified policy gold"),
    "truncated": ('{"core_ids":["4"],', 400, None, "unexpected end (byte 18)"),
    "nothing": ("", 400, None, "the body is empty"),
    "deep": ("[" * 60000, 400, None, "nested more than 32 levels deep"),
    "duplicate key": ('{"core_ids":["4"],"core_ids":["5"],"cache":{"max":1,"min":1}}', 400, "/core_ids",
                      "the key occurs twice in its object"),
    "invalid UTF-8": (b'{"core_ids":["4"],"uuid":"\xff\xfe","cache":{"max":1,"min":1}}', 400, None, "not valid UTF-8"),
    "too large": (body(uuid="x" * 70000), 413, None, "larger than 65536 bytes"),
    "just too large": (body() + " " * (65537 - len(body())), 413, None, "larger than 65536 bytes"),
}


@pytest.fixture(scope="module")
def node():
    with Node(offline="3") as shared:
        shared.create("0", 2, 2)
        yield shared


@pytest.fixture
def unchanged(node):
    def seen():
        return node.hardware(), node.stored(), node.list(), node.health()["revision"], node.sim.writes()
    before = seen()
    yield
    assert before == seen()


def assert_one_line(said, headers):
    assert headers.get_content_type() == "text/plain"
    assert said.strip() and len(said.splitlines()) == 1 and said.endswith("\n"), said


def assert_problem(said, headers, status, pointer):
    assert headers.get_content_type() == "application/problem+json", said
    problem = json.loads(said)
    assert problem["status"] == status and problem["type"] == "urn:nrd:problem:" + problem["code"]
    assert problem["detail"] and problem["title"] and problem.get("field") == pointer, problem
    return problem


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_body_is_refused_with_its_reason(node, unchanged, name):
    text, status, pointer, words = REFUSED[name]
    got, said, headers = node.request("POST", "/v1/workloads", text, JSON)
    assert got == status, said
    assert_one_line(said, headers)
    assert words in said, said
    for accept in ("application/problem+json", "application/json"):
        got, said, headers = node.request("POST", "/v1/workloads", text, {**JSON, "Accept": accept})
        assert got == status
        if status != 413:  # answered before Accept is looked at (docs/api.md)
            assert_problem(said, headers, status, pointer)


def test_the_largest_body_is_taken(node):
    text = body() + " " * (65536 - len(body()))
    status, said, _ = node.request("POST", "/v1/workloads", text, JSON)
    assert status == 201, said
    node.delete(json.loads(said)["id"])


@pytest.mark.parametrize("text,pointer", [
    ("null", None), ("[]", None), ("{", None), ("", None),
    (body(core_ids=["99"]), "/core_ids/0"),
    (body(core_ids=["3"]), "/core_ids/0"),
    (body(core_ids=[]), "/core_ids"),
    ('{"cache":{"max":9,"min":9}}', "/cache/max"),
    ('{"cache":{"max":1}}', "/cache/min"),
    ('{"rdt":{"cache":{"min":-1}}}', "/rdt/cache/min"),
    ('{"cach":{}}', "/cach"),
    ('{"cache":{},"cache":{}}', "/cache"),
])
def test_a_bad_patch_is_refused_and_changes_nothing(node, unchanged, text, pointer):
    status, said, headers = node.request("PATCH", "/v1/workloads/1", text, JSON)
    assert status == 400, said
    assert_one_line(said, headers)
    status, said, headers = node.request("PATCH", "/v1/workloads/1", text, {**JSON, **PROBLEM})
    assert status == 400
    assert_problem(said, headers, 400, pointer)


@pytest.mark.parametrize("method,path,headers,text,status,code,line", [
    ("POST", "/v1/workloads", {"Content-Type": "text/plain"}, body(), 415, "WrongContentType", "415: Unsupported Media Type"),
    ("POST", "/v1/workloads", {}, body(), 415, "WrongContentType", "415: Unsupported Media Type"),
    ("PATCH", "/v1/workloads/1", {"Content-Type": "application/xml"}, body(), 415, "WrongContentType",
     "415: Unsupported Media Type"),
    ("GET", "/v1/nothing", {}, None, 404, "NoSuchPath", "404: Page Not Found"),
    ("GET", "/v2/workloads", {}, None, 404, "NoSuchPath", "404: Page Not Found"),
    ("POST", "/v1/workloads/1/more", JSON, body(), 404, "NoSuchPath", "404: Page Not Found"),
    ("GET", "/v1/workloads/77", {}, None, 404, "NotFound", "404: Could not found workload"),
    ("GET", "/v1/workloads/-1", {}, None, 404, "NotFound", "404: Could not found workload"),
    ("GET", "/v1/workloads/1x", {}, None, 404, "NotFound", "404: Could not found workload"),
    ("GET", "/v1/workloads/01", {}, None, 404, "NotFound", "404: Could not found workload"),
    ("DELETE", "/v1/workloads/77", {}, None, 404, "NotFound", "404: Could not found workload"),
    ("DELETE", "/v1/workloads/99999999999999999999999", {}, None, 404, "NotFound", "404: Could not found workload"),
    ("PATCH", "/v1/workloads/77", JSON, "nonsense", 404, "NotFound", "404: Could not found workload"),
    ("PUT", "/v1/workloads", JSON, body(), 405, "WrongMethod", "405: Method Not Allowed"),
    ("DELETE", "/v1/workloads", {}, None, 405, "WrongMethod", "405: Method Not Allowed"),
    ("POST", "/v1/workloads/1", JSON, body(), 405, "WrongMethod", "405: Method Not Allowed"),
    ("POST", "/v1/node", JSON, "{}", 405, "WrongMethod", "405: Method Not Allowed"),
])
def test_wrong_paths_methods_and_types(node, unchanged, method, path, headers, text, status, code, line):
    got, said, answer = node.request(method, path, text, headers)
    assert (got, said) == (status, line + "\n")
    assert_one_line(said, answer)
    if status == 405:
        assert answer["Allow"] == {"/v1/workloads": "GET, HEAD, POST", "/v1/workloads/1": "GET, HEAD, PUT, PATCH, DELETE",
                                   "/v1/node": "GET, HEAD"}[path]
    got, said, answer = node.request(method, path, text, {**headers, **PROBLEM})
    assert got == status
    assert assert_problem(said, answer, status, None)["code"] == code


def exchanged(node, sent):
    """All that the daemon answers to these bytes, after which nothing more is sent."""
    with socket.create_connection(("127.0.0.1", node.port), timeout=10) as wire:
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
        answer = b""
        while part := wire.recv(65536):
            answer += part
        return answer


HEAD = b"POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("sent", [
    b"",
    HEAD,
    HEAD + b"Content-Length: 2000\r\n\r\n" + body().encode(),
    HEAD + b"Content-Length: 20\r\n\r\n" + body().encode()[:20],
    b"POST /v1/workloads\r\n\r\n" + body().encode(),
    bytes(range(256)),
], ids=["nothing", "headers cut", "body cut", "body cut by its own length", "no version", "noise"])
def test_an_incomplete_request_has_no_effect_on_others(node, unchanged, sent):
    assert b"HTTP/1.1 2" not in exchanged(node, sent)
    assert node.health()["status"] == "ok"


@pytest.mark.parametrize("headers, status", [
    ({"Host": "rebound.example:8081"}, 421), ({"Host": "127.0.0.1.rebound.example"}, 421),
    ({"Host": "localhost", "Origin": "http://localhost"}, 403), ({"Host": "localhost:8081", "Origin": "null"}, 403),
    ({"Host": "localhost:8081"}, 200)])
def test_the_debug_port_is_not_for_web_pages(node, headers, status):
    """DNS rebinding shows as a name that is not the node's own, a request across origins as Origin."""
    before = node.list()
    made = node.create("15", 1, 1)
    assert node.request("DELETE", f"/v1/workloads/{made['id']}", headers=headers)[0] == status
    if status != 200:
        assert node.list() == [*before, made]
        node.delete(made["id"])
    assert node.list() == before
