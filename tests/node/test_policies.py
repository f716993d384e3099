"""Policies by name: the file, what it shows, what a workload gets by it, and the operator's way of asking for one."""

import contextlib
import json
import os
import tempfile

import pytest
from harness import NRD, Node, Refused, wait_for

TOML = """
[default.gold.cache]
max = 2
min = 2
[default.silver.cache]
max = 3
min = 1
[default.bronze.cache]
max = 0
min = 0
[default.fast.pstate]
max_ratio = 30
[default.thrifty.cache]
max = 1
min = 1
[default.thrifty.mba]
percentage = 50
"""
YAML = """
default:
  gold: {cache: {max: 2, min: 2}}
  silver: {cache: {max: 3, min: 1}}
  bronze: {cache: {max: 0, min: 0}}
  fast: {pstate: {max_ratio: 30}}
  thrifty: {cache: {max: 1, min: 1}, mba: {percentage: 50}}
"""
SHOWN = ('{"bronze":{"cache":{"max":0,"min":0}},"fast":{"pstate":{"max_ratio":30}},"gold":{"cache":{"max":2,"min":2}},'
         '"silver":{"cache":{"max":3,"min":1}},"thrifty":{"cache":{"max":1,"min":1},"mba":{"percentage":50}}}')


@contextlib.contextmanager
def policies(text=TOML, suffix=".toml", **shape):
    with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
        file.write(text)
        file.flush()
        with Node(f'[policy]\nfile = "{file.name}"\n', **shape) as node:
            node.policy_file = file.name
            yield node


def by_policy(node, cpus, name, **more):
    return node.call("POST", "/v1/workloads", {"core_ids": [cpus], "policy": name, **more})


@pytest.mark.parametrize("text, suffix", [(TOML, ".toml"), (YAML, ".yaml")])
def test_policies_are_shown_as_the_file_has_them(text, suffix):
    with policies(text, suffix) as node:
        status, body, headers = node.request("GET", "/v1/policy")
        assert (status, body, headers["Content-Type"]) == (200, SHOWN, "application/json")
        wait_for(lambda: "SECTION=default" in node.journal(), "the line, which comes after the sockets are open")


def test_without_policies_the_answer_is_rmds():
    with policies("[nobodys.gold.cache]\nmax = 1\nmin = 1\n") as node:
        assert node.request("GET", "/v1/policy")[:2] == (404, "Failed to load policy\n")
        status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": ["1"], "policy": "gold"})
        assert (status, text) == (400, "Failed to validate workload. Reason: Could not find the Policy. "
                                       "Can not find specified policy gold\n")
        assert json.loads(node.request("GET", "/v1/cache/l3/0")[1])["available_policy"] == {}


def test_the_section_of_this_cpu_goes_before_the_default():
    text = TOML + "[broadwell.gold.cache]\nmax = 4\nmin = 4\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("p.toml", text), ("m.toml", "title = \"x\"\n[[Broadwell]]\nfamily = 6\nmodel = 85\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(content)
        config = f'[policy]\nfile = "{folder}/p.toml"\ncpu_map = "{folder}/m.toml"\n'
        with Node(config, msr="perf") as node:  # cpuinfo of family 6, model 85
            assert node.call("GET", "/v1/policy") == {"gold": {"cache": {"max": 4, "min": 4}}}


def test_a_workload_gets_what_its_policy_says_and_keeps_it():
    with policies() as node:
        # As the operator sends it: a policy, and a cache of 0/0 because none is set.
        gold = by_policy(node, "4-5", "gold", status="", cos_name="", origin="", rdt={"cache": {"max": 0, "min": 0}, "mba": {}})
        assert (gold["policy"], gold["rdt"]["cache"], gold["pool"]) == ("gold", {"max": 2, "min": 2}, "guarantee")
        assert list(gold)[:4] == ["id", "core_ids", "policy", "status"]
        assert by_policy(node, "6", "bronze")["pool"] == "shared"
        node.assert_consistent({"1", "2"})
        # It sends the same again and again.
        node.sim.control("reset")
        revision = node.health()["revision"]
        again = node.call("PATCH", "/v1/workloads/1", {"policy": "gold", "rdt": {"cache": {"max": 0, "min": 0}}})
        assert again == gold and node.health()["revision"] == revision and node.sim.writes() == 0
        with open(node.policy_file, "w") as file:
            file.write("[default.gold.cache]\nmax = 1\nmin = 1\n")
        node.kill9_and_start()
        assert node.call("GET", "/v1/workloads/1") == gold
        assert node.call("PATCH", "/v1/workloads/1", {"policy": "gold"}) == gold
        assert by_policy(node, "7", "gold")["cache"] == {"max": 1, "min": 1}
        node.assert_consistent({"1", "2", "3"})


def test_a_patch_changes_or_ends_the_policy():
    with policies() as node:
        by_policy(node, "4-5", "gold")
        silver = node.call("PATCH", "/v1/workloads/1", {"policy": "silver"})
        assert (silver["policy"], silver["cache"], silver["pool"]) == ("silver", {"max": 3, "min": 1}, "besteffort")
        own = node.call("PATCH", "/v1/workloads/1", {"cache": {"max": 1, "min": 1}})
        assert "policy" not in own and own["pool"] == "guarantee"
        node.assert_consistent({"1"})
        with pytest.raises(Refused, match="400: .*specified policy platinum"):
            node.call("PATCH", "/v1/workloads/1", {"policy": "platinum"})
        assert node.call("GET", "/v1/workloads/1") == own


def test_requests_of_a_policy_are_granted_or_refused_as_a_whole():
    with policies(cpufreq="intel_pstate") as node:
        fast = by_policy(node, "4", "fast")
        assert fast["pstate"] == {"max_ratio": 30} and node.sim.freq()["4"]["max"] == 3_000_000
        node.create("6", 4, 4)
        with pytest.raises(Refused, match="409: Not enough cache left on cache_id 0. .*policy gold"):
            by_policy(node, "7", "gold")
        assert [w["id"] for w in node.list()] == ["1", "2"]
    with policies() as node:  # without a cpufreq driver
        with pytest.raises(Refused, match="422: .*/policy: policy fast, pstate"):
            by_policy(node, "4", "fast")


def test_the_cache_view_and_hospitality_know_policies():
    with policies(mb_unit="percent") as node:
        fits = node.call("GET", "/v1/cache/l3/0")["available_policy"]
        assert fits == {"bronze": 8, "fast": 0, "gold": 2, "silver": 1, "thrifty": 5}
        for cpu, more in (("0", 1), ("1", 0)):
            assert node.call("POST", "/v1/hospitality", {"policy": "gold", "cache_id": 0}) == {"score": {"l3": {"0": 100}}}
            by_policy(node, cpu, "gold")
            assert node.call("GET", "/v1/cache/l3/0")["available_policy"]["gold"] == more
        assert node.call("POST", "/v1/hospitality", {"policy": "gold"}) == {"score": {"l3": {"0": 0, "1": 100}}}
        for question, status, line in (
                ({"policy": "x"}, 400, "Can not find Policy. Details: Can not find specified policy x\n"),
                ({"policy": "fast"}, 400, "/policy: policy fast requests no cache\n"),
                ({"policy": 1}, 400, "/policy: expected a string, found a number (allowed: a string)\n")):
            assert node.request("POST", "/v1/hospitality", question)[:2] == (status, line)


@pytest.mark.parametrize("suffix, text, complaint", [
    (".toml", "[a.b.cache]\nmax = 1\n", "/a/b/cache/min: is missing"),
    (".toml", "[a.b.cache\n", ":1: "),
    (".yaml", "a: {b: {cache: [1]}}\n", "/a/b/cache: expected a section, found an array"),
])
def test_an_invalid_file_is_reported_before_any_change(suffix, text, complaint):
    with policies() as node:
        node.terminate()
        wrong = os.path.join(node.folder, "wrong" + suffix)
        with open(node.config, "w") as config, open(wrong, "w") as file:
            config.write(f'[policy]\nfile = "{wrong}"\n')
            file.write(text)
        for flags in ([], ["--check-config"]):
            ended = node.sim.run_inside([NRD, "--config", node.config, "--state-dir", node.folder + "/new", *flags], check=False)
            assert ended.returncode == 78 and ended.stderr.startswith(f"nrd: {wrong}") and complaint in ended.stderr
            assert not os.path.exists(node.folder + "/new")
