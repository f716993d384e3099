"""An nrd without Onload: it offers none and refuses it in words, keeps what another nrd has stored of it, and everything
else works."""

import pytest
import yaml
from harness import NRDCTL, Node, refusal, wait_for
from test_openapi import SPEC

ABSENT = "this nrd was built without Onload"
WORKLOAD = {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}}


@pytest.fixture
def node():
    with Node() as node:
        yield node


def nrdctl(node, *arguments):
    return node.sim.run_inside([NRDCTL, "--socket", node.socket, *arguments], check=False, timeout=60)


def test_the_main_job_is_done_without_it(node):
    id = node.call("POST", "/v1/workloads", WORKLOAD)["id"]
    node.assert_consistent({id})
    node.kill9_and_start()
    node.assert_consistent({id})
    node.delete(id)
    node.assert_consistent(set())


def test_the_description_is_that_of_its_routes(node):
    described = yaml.safe_load(node.request("GET", "/v1/openapi.yaml", headers={"Accept": "application/yaml"})[1])
    left_out = {path for path in SPEC["paths"] if path.startswith("/v1/onload")}
    assert len(left_out) > 20
    assert {path: SPEC["paths"][path] for path in SPEC["paths"] if path not in left_out} == described["paths"]
    assert described["components"] == SPEC["components"]
    assert {tag for path in described["paths"].values() for verb in path.values()
            for tag in (verb.get("tags", []) if isinstance(verb, dict) else [])} == {tag["name"] for tag in described["tags"]}
    for path in left_out:
        assert node.request("GET", path.replace("{id}", "1"))[0] == 404, path
    links = node.call("GET", "/v1")["links"]
    assert links and "onload" not in str(links)
    assert {href for href in links.values()} == {path for path, verbs in described["paths"].items()
                                                 if "get" in verbs and "{" not in path and path.startswith("/v1/")}


def test_a_request_for_it_is_refused_at_its_member(node):
    refused = refusal(node.call, "POST", "/v1/workloads", {**WORKLOAD, "onload": {"profiles": ["latency"]}})
    assert refused.status == 422 and "/onload" in refused.text and ABSENT in refused.text
    node.assert_consistent(set())
    node.assert_consistent({node.call("POST", "/v1/workloads", {**WORKLOAD, "onload": None})["id"]})


def test_metrics_do_not_name_it(node):
    assert "onload" not in node.request("GET", "/metrics")[1]


@pytest.mark.parametrize("line, named", [("[onload]\nmanage = true\n", "onload"),
                                         ("[reserve.kubernetes]\nonload = true\n", "reserve.kubernetes")])
def test_its_keys_of_the_configuration_are_refused(line, named):
    with Node(start=False) as node:
        node.configure(line)
        tried = node.run_daemon("--debug")
        assert tried.returncode not in (0, None) and named in tried.stderr


def test_nrdctl_offers_nothing_of_it(node):
    for page in (["--help"], ["run", "--help"], ["workload", "create", "--help"], ["workload", "--help"]):
        shown = nrdctl(node, *page)
        assert shown.returncode == 0 and "onload" not in shown.stdout.replace(NRDCTL, "").lower(), page
    assert nrdctl(node, "onload", "status").returncode != 0
    ran = nrdctl(node, "run", "--cpus", "0", "--ways", "2", "--", "/bin/echo", "inside")
    assert (ran.returncode, ran.stdout) == (0, "inside\n"), ran.stderr
    wait_for(lambda: node.list() == [], "the end of the workload")
    node.assert_consistent(set())


def test_a_stored_workload_with_it_keeps_nrd_from_starting(node):
    node.call("POST", "/v1/workloads", WORKLOAD)
    node.terminate()
    node.change_store("""UPDATE workload SET document = json_set(document, '$.spec.onload', json('{"profiles":["latency"]}'))""")
    before = node.hardware()
    node.spawn()
    assert node.wait_dead() not in (0, -9)
    assert "the stored workload 1 uses Onload" in node.journal() and ABSENT in node.journal()
    assert node.hardware() == before


def test_records_of_another_nrd_stay(node):
    node.terminate()
    node.change_store("""INSERT INTO onload (kind, key, document) VALUES ('generation', '7', '{"of":"another nrd"}')""")
    node.start()
    node.call("POST", "/v1/workloads", WORKLOAD)
    node.kill9_and_start()
    assert node.rows("SELECT document FROM onload WHERE key = '7'") == [('{"of":"another nrd"}',)]
