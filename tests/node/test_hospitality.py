"""Hospitality scores, and what new workloads then get."""

import json

import pytest
from harness import Node, Refused


@pytest.fixture(scope="module")
def small():
    with Node(sockets=1, cpus=1) as node:
        yield node


def score(node, **question):
    return node.call("POST", "/v1/hospitality", question)["score"]["l3"]


def test_scores_are_answered_as_rmd_does():
    with Node(cache_ids="4,0") as node:
        status, text, headers = node.request("POST", "/v1/hospitality", {"max_cache": 6, "min_cache": 2})
        assert (status, text, headers["Content-Type"]) == (200, '{"score":{"l3":{"0":50,"4":50}}}', "application/json")
        assert score(node, max_cache=2, min_cache=2, cache_id=4) == {"4": 100}
        assert score(node, max_cache=2, min_cache=2, cache_id=9) == {}
        assert score(node) == score(node, max_cache=0, min_cache=0, policy="", cache_id=None) == {"0": 100, "4": 100}


def test_hospitality_scores_match_what_workloads_get():
    with Node("[cache_pools]\nshared = 0\n", closids=4) as node:
        cpus = iter(range(8))
        for most, least in [(3, 3), (2, 2), (1, 1), (4, 2), (4, 1), (2, 2), (0, 0), (9, 9)]:
            planned = score(node, max_cache=most, min_cache=least, cache_id=0)
            try:
                workload = node.create(str(next(cpus)), most, least)
                assert planned == {"0": 100 * workload["granted_ways"]["0"]["ways"] // most}
            except Refused:
                assert planned.get("0", 0) == 0, (most, least)
        assert score(node) == {}  # no such pool
        assert len(node.list()) == 3  # as many as there are classes


@pytest.mark.parametrize("body, line", [
    ({"max_cache": 1, "min_cache": 2}, "Bad request, max_cache=1, min_cache=2\n"),
    ({"max_cache": 1}, "Bad request, max_cache=1, min_cache=0\n"),
    ({"max_cache": -1}, "/max_cache: expected a whole number, found -1 (allowed: 0 to 4294967295)\n"),
    ({"max_cach": 1}, '/max_cach: unknown key "max_cach"; did you mean "max_cache"? (allowed: max_cache)\n'),
    ([], "expected an object such as {\"max_cache\": 2, \"min_cache\": 2}, found an array "
         "(allowed: an object such as {\"max_cache\": 2, \"min_cache\": 2})\n"),
])
def test_a_wrong_question_is_refused(small, body, line):
    assert small.request("POST", "/v1/hospitality", body)[:2] == (400, line)


def test_a_refusal_names_the_member_of_the_question(small):
    body, accept = json.dumps({"max_cache": 1, "min_cache": 2}), {"Content-Type": "application/json", "Accept": "application/json"}
    problem = json.loads(small.request("POST", "/v1/hospitality", body, accept)[1])
    assert (problem["field"], problem["detail"]) == ("/min_cache", "min is 2, but max is only 1")


def test_a_question_changes_nothing_and_leaves_no_line_in_the_audit():
    with Node() as node:
        before = json.dumps(node.call("GET", "/v1/node")), node.hardware()
        score(node, max_cache=2, min_cache=1)
        assert (json.dumps(node.call("GET", "/v1/node")), node.hardware()) == before
        assert "AUDIT" not in node.journal()


def test_a_node_without_rdt_has_no_capacity():
    with Node(rdt=False) as node:
        assert score(node, max_cache=1, min_cache=1) == {}
