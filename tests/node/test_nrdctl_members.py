"""Each member of a request in openapi.yaml has an option of nrdctl that sends it, or a reason here why there is none."""

import os

import pytest
import yaml

from nrdctl import run_nrdctl
from servers import Handler, UnixServer, serving

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
with open(f"{ROOT}/docs/openapi.yaml") as file:
    SCHEMAS = yaml.safe_load(file)["components"]["schemas"]

SAME = {"/rdt/cache": "/cache", "/plugins/pstate": "/pstate"}  # nrdctl sends the second

# Options of `workload create` and `workload update`, and what they set.
OPTIONS = {
    "/core_ids": ["--cpus", "4-5"], "/task_ids": ["--task-ids", "4711"],
    "/cache/max": ["--max", "2"], "/cache/min": ["--min", "2"], "/cache/code": ["--code-ways", "1"],
    "/cpu/pool": ["--pool", "fast"], "/cpu/count": ["--count", "2"], "/cpu/cores": ["--cores", "2"], "/cpu/cpus": ["--pool-cpus", "4-6"],
    "/cpu/near": ["--near", "eth1", "--near", "node:1"], "/cpu/strict": ["--near", "eth1", "--strict"], "/cpu/apart": ["--apart", "7"],
    "/cpu/level": ["--apart", "7", "--apart-level", "l3"],
    "/cpu/request_milli": ["--request-milli", "500"], "/cpu/limit_milli": ["--request-milli", "500", "--limit-milli", "1000"],
    "/cpu/among": ["--among", "4-9"], "/cpu/enforce": ["--enforce", "runtime"], "/cpu/memory": ["--memory", "near"], "/cpu/migrate": ["--memory", "near", "--migrate"],
    "/l2/ways": ["--l2-ways", "4"], "/l2/code": ["--l2-ways", "4", "--l2-code-ways", "1"],
    "/rdt/mba/percentage": ["--mba-percentage", "50"], "/rdt/mba/mbps": ["--mba-mbps", "2000"],
    "/pstate/min_ratio": ["--min-ratio", "12"], "/pstate/max_ratio": ["--max-ratio", "30"],
    "/pstate/min_mhz": ["--min-mhz", "1200"], "/pstate/max_mhz": ["--max-mhz", "3000"],
    "/pstate/governor": ["--governor", "performance"], "/pstate/epp": ["--epp", "performance"],
    "/pstate/ratio": ["--adaptive", "1.5"], "/pstate/monitoring": ["--monitoring", "off"],
    "/pstate/turbo": ["--no-turbo"], "/pstate/shared_domain": ["--allow-shared-domain"],
    "/policy": ["--policy", "gold"], "/name": ["--name", "feed"], "/labels": ["--label", "team=x"],
}
CREATE_ONLY = {"/unit": ["--unit", "feed.service"], "/cgroup": ["--cgroup", "/x/y"], "/id": ["--id", "feed"], "/uuid": ["--uuid", "u-1"], "/owner/pid": ["--owner", "4711"],
    "/owner/cgroup": ["--owner", "cgroup"], "/owner/within_seconds": ["--owner", "cgroup", "--within-seconds", "60"]}
REMOVALS = {"/cpu": "--no-cpu", "/cache": "--no-cache", "/rdt/cache": "--no-cache", "/rdt/mba": "--no-mba", "/l2": "--no-l2", "/pstate": "--no-frequency",
            "/plugins/pstate": "--no-frequency", "/task_ids": "--no-tasks", "/name": "--no-name", "/onload": "--no-onload"}

# Members without an option, and why.
WITHOUT = {
    "/owner/start": "for clients on another host, whose PIDs are not those of nrd", "/owner/caller": "the caller is nrdctl, which ends at once; nrdctl run",
    "/onload/profile": "nrdctl run --onload; otherwise --file", "/onload/profiles": "nrdctl run --onload; otherwise --file",
    "/onload/env": "nrdctl run --env; otherwise --file", "/onload/force": "nrdctl run --force-profiles; otherwise --file",
    "/backend_plugin_info": "only the empty value is allowed, for clients of RMD",
    "/cpu_request": "of an answer that is sent back; what it asks for has options of its own",
}
WITHOUT_REMOVAL = {"/labels": "--no-label KEY removes one; all at once is rare and not to be mistyped",
                   "/rdt": "RMD's other place for cache", "/plugins": "RMD's other place for pstate"}


def resolved(schema):
    """With what it refers to, and all alternatives of an object as one."""
    while "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**SCHEMAS[schema["$ref"].rpartition("/")[2]], **rest}
    properties = dict(schema.get("properties", {}))
    for kind in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(kind, []):
            properties.update(resolved(each).get("properties", {}))
    return {**schema, "properties": properties}


def members(schema, path=""):
    """Of an object and the objects in it: {"/cache/max": schema}; only what nrd reads."""
    found = {}
    for name, value in resolved(SCHEMAS[schema] if isinstance(schema, str) else schema)["properties"].items():
        value, place = resolved(value), f"{path}/{name}"
        if value.get("description") == "ignored":
            continue
        found[place] = value
        found.update(members(value, place))
    return found


def leaves(schema):
    all_members = members(schema)
    return {place for place in all_members if not any(other.startswith(place + "/") for other in all_members)}


def as_sent(place):
    for there, here in SAME.items():
        if place.startswith(there + "/") or place == there:
            return here + place[len(there):]
    return place


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """Runs nrdctl and returns the body that it sent."""

    class Recorder(Handler):
        methods = ("GET", "POST", "PATCH")

        def answer(self):
            if self.body is not None:
                bodies.append(self.body)
            self.reply(200, '{"id": "1", "cache": {}}')

    def run(*words):
        bodies.clear()
        done = run_nrdctl("--socket", path, *words)
        assert done.returncode == 0, (words, done.stderr)
        return bodies[-1]

    bodies, path = [], str(tmp_path_factory.mktemp("recorder") / "sock")
    with serving(UnixServer(path, Recorder)):
        yield run


def has(body, place):
    for name in place[1:].split("/"):
        if not isinstance(body, dict) or name not in body:
            return False
        body = body[name]
    return body is not None


def at(body, place):
    for name in place[1:].split("/"):
        body = body[name]
    return body


def test_the_schemas_are_read_whole():
    assert {"/cache/max", "/rdt/cache/max", "/rdt/mba/mbps", "/pstate/epp", "/owner/caller", "/onload/env", "/labels"} <= leaves("WorkloadRequest")
    assert len(leaves("WorkloadPatch")) > 30


@pytest.mark.parametrize("schema,options", [("WorkloadRequest", {**OPTIONS, **CREATE_ONLY}), ("WorkloadPatch", OPTIONS)])
def test_each_member_has_an_option_or_a_reason(schema, options):
    known = {as_sent(place) for place in leaves(schema)}
    assert known - set(options) - set(WITHOUT) == set()
    assert set(options) - known == set(), "these are in the schema no longer"
    assert not set(options) & set(WITHOUT)


def test_each_reason_is_about_a_member():
    assert set(WITHOUT) <= leaves("WorkloadRequest") | leaves("WorkloadPatch")


@pytest.mark.parametrize("place", [*OPTIONS, *CREATE_ONLY])
def test_an_option_of_create_sends_its_member(sent, place):
    options = {**OPTIONS, **CREATE_ONLY}[place]
    base = [] if place == "/core_ids" or place.startswith("/cpu/") else ["--cpus", "4"]
    if not place.startswith(("/cache/", "/l2/", "/policy")):
        base += ["--ways", "1"]
    assert has(sent("workload", "create", *base, *options), place)


@pytest.mark.parametrize("place", OPTIONS)
def test_an_option_of_update_sends_its_member(sent, place):
    body = sent("workload", "update", "1", *OPTIONS[place])
    assert has(body, place) and set(body) == {place.split("/")[1]}


def removable():
    return {place for place, schema in members("WorkloadPatch").items() if "null removes" in schema.get("description", "")} | {"/onload", "/cache"}


def test_each_part_that_a_patch_removes_has_an_option_or_a_reason():
    assert removable() - set(REMOVALS) - set(WITHOUT_REMOVAL) == set()
    assert {"/l2", "/rdt/mba", "/task_ids", "/pstate"} <= removable()


@pytest.mark.parametrize("place", REMOVALS)
def test_an_option_of_update_removes_a_part(sent, place):
    assert at(sent("workload", "update", "1", REMOVALS[place]), as_sent(place)) is None


@pytest.mark.parametrize("words", [["-K"], ["-K", "--time-to-live=7", "-h", "8"], ["-K -t 5"]])
def test_arguments_of_control_plane_servers_are_sent_as_they_are(sent, words):
    assert sent("onload", "controlplane", "set", *words) == {"parameters": " ".join(words).split()}
