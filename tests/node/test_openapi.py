"""docs/openapi.yaml against the running daemon: every operation answers as specified, and every answer validates."""

import json
import os
import re

import pytest
from harness import Node
from specified import METHODS, OPERATIONS, ROOT, SPEC, assert_specified, resolved, validator

GOOD = {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}}
JSON = {"Content-Type": "application/json", "Accept": "application/json"}

# method, path template, id or level, body, status
CALLS = [
    ("get", "/v1/workloads", None, None, 200),
    ("post", "/v1/workloads", None, GOOD, 201),
    ("post", "/v1/workloads", None, GOOD, 400),
    ("post", "/v1/workloads", None, {"core_ids": ["9"], "rdt": {"cache": {"max": 3, "min": 1}}, "uuid": "a"}, 201),
    ("post", "/v1/workloads", None, {"core_ids": ["6"], "cache": {"max": 5, "min": 5}}, 409),
    ("post", "/v1/workloads", None, {**GOOD, "backend_plugin_info": {"a": "b"}}, 422),
    ("post", "/v1/workloads", None, {**GOOD, "task_ids": ["4194304"]}, 400),
    ("post", "/v1/workloads", None, {**GOOD, "rdt": {"mba": {"percentage": 50, "mbps": 5000}}}, 400),
    ("get", "/v1/workloads", None, None, 200),
    ("get", "/v1/workloads/{id}", "1", None, 200),
    ("get", "/v1/workloads/{id}", "77", None, 404),
    ("patch", "/v1/workloads/{id}", "1", {"cache": {"max": 3, "min": 3}}, 200),
    ("patch", "/v1/workloads/{id}", "1", {"cache": {"max": 1, "min": 3}}, 400),
    ("patch", "/v1/workloads/{id}", "77", {}, 404),
    ("post", "/v1/workloads?dry_run=true", None, {"core_ids": ["13"], "cache": {"max": 0, "min": 0}}, 200),
    ("post", "/v1/workloads?dry_run=maybe", None, GOOD, 400),
    ("patch", "/v1/workloads/{id}?dry_run=true", "1", {"cache": {"max": 2, "min": 2}}, 200),
    ("get", "/v1/workloads?uuid=a&origin=REST&since=0&wait=1", None, None, 200),
    ("get", "/v1/workloads?wait=1", None, None, 400),
    ("post", "/v1/workloads", None, {**GOOD, "id": "1"}, 400),
    ("get", "/v1/node", None, None, 200),
    ("get", "/v1/cache", None, None, 200),
    ("get", "/v1/cache/{level}", "l3", None, 200),
    ("get", "/v1/cache/{level}", "l2", None, 400),
    ("get", "/v1/cache/{level}", "l9", None, 404),
    ("get", "/v1/cache/{level}/{id}", "0", None, 200),
    ("get", "/v1/cache/{level}/{id}", "0x", None, 400),
    ("get", "/v1/cache/{level}/{id}", "77", None, 404),
    ("get", "/v1/mba", None, None, 200),
    ("get", "/v1/policy", None, None, 200),
    ("post", "/v1/workloads", None, {"core_ids": ["15"], "policy": "bronze"}, 201),
    ("post", "/v1/workloads", None, {"core_ids": ["14"], "policy": "golden"}, 400),
    ("delete", "/v1/workloads/{id}", "3", None, 200),
    ("post", "/v1/hospitality", None, {"policy": "gold"}, 200),
    ("post", "/v1/hospitality", None, {"max_cache": 2, "min_cache": 1, "cache_id": 0}, 200),
    ("post", "/v1/hospitality", None, {"max_cache": 1, "min_cache": 2}, 400),
    ("post", "/v1/workloads", None, {"core_ids": ["2"], "l2": {"code": 1}}, 400),
    ("get", "/v1/health", None, None, 200),
    ("get", "/v1/config", None, None, 200),
    ("post", "/v1/config/reload", None, {"dry_run": True}, 200),
    ("post", "/v1/config/reload", None, {}, 200),
    ("post", "/v1/config/reload", None, {"dry_run": 1}, 400),
    ("get", "/metrics", None, None, 200),
    ("get", "/", None, None, 200),
    ("get", "/v1", None, None, 200),
    ("get", "/v1/openapi.yaml", None, None, 200),
    ("get", "/v1/workloads/{id}/monitoring", "1", None, 200),
    ("get", "/v1/workloads/{id}/monitoring", "77", None, 404),
    ("post", "/v1/workloads", None, {"core_ids": ["2-3"], "pstate": {"min_ratio": 12, "max_mhz": 3000}}, 400),
    ("post", "/v1/workloads", None, {"core_ids": ["2-3"], "pstate": {"min_ratio": 12, "governor": "performance"}}, 201),
    ("get", "/v1/workloads/{id}", "4", None, 200),
    ("patch", "/v1/workloads/{id}", "4", {"cache": {"max": 0, "min": 0}, "pstate": None}, 200),
    ("post", "/v1/workloads", None, {"cpu": {"pool": "fast", "count": 1, "near": ["node:1"], "strict": True, "level": "l3"}, "name": "pooled"}, 201),
    ("post", "/v1/workloads", None, {"cpu": {"pool": "fast", "count": 1}}, 409),
    ("get", "/v1/workloads?name=pooled", None, None, 200),
    ("get", "/v1/cpus", None, None, 200),
    ("get", "/v1/operations", None, None, 200),
    ("get", "/v1/operations/{id}", "1", None, 404),
    ("get", "/v1/cpus/pools", None, None, 200),
    ("get", "/v1/cpus/pools/{id}", "fast", None, 200),
    ("get", "/v1/cpus/pools/{id}", "none", None, 404),
    ("get", "/v1/cpus/pools/{id}/check", "fast", None, 200),
    ("get", "/v1/cpus/pools/{id}/check", "none", None, 404),
    ("get", "/v1/pstate", None, None, 200),
    ("get", "/v1/pstate/{id}", "3", None, 200),
    ("get", "/v1/pstate/{id}", "99", None, 404),
    ("put", "/v1/onload/profiles/{id}", "mine", {"text": "onload_set EF_POLL_USEC 0\n"}, 200),
    ("put", "/v1/onload/profiles/{id}", "shell", {"text": "if true; then onload_set EF_POLL_USEC 0; fi\n"}, 422),
    ("put", "/v1/onload/profiles/{id}", "wrong", {"text": "onload_set LD_PRELOAD x\n"}, 400),
    ("get", "/v1/onload/profiles", None, None, 200),
    ("get", "/v1/onload/profiles/{id}", "mine", None, 200),
    ("get", "/v1/onload/profiles/{id}", "nowhere", None, 404),
    ("post", "/v1/onload/render", None, {"profiles": ["mine"], "env": {"EF_INT_DRIVEN": "1"}}, 200),
    ("post", "/v1/onload/render", None, {"profiles": ["mine"], "format": "systemd"}, 200),
    ("post", "/v1/onload/render", None, {"profiles": ["nowhere"]}, 400),
    ("delete", "/v1/onload/profiles/{id}", "mine", None, 200),
    ("delete", "/v1/onload/profiles/{id}", "mine", None, 404),
    ("get", "/v1/onload/allocations", None, None, 200),
    ("post", "/v1/onload/allocations", None, {"owner": {"pid": os.getpid()}}, 409),
    ("post", "/v1/onload/allocations", None, {"profiles": []}, 400),
    ("delete", "/v1/onload/allocations/{id}", "1", None, 404),
    ("post", "/v1/workloads", None, {"core_ids": ["11"], "pstate": {"governor": "performance"}, "owner": {"pid": os.getpid()}}, 201),
    ("post", "/v1/workloads", None, {"task_ids": [str(os.getpid())], "cache": {"max": 0, "min": 0}}, 201),
    ("post", "/v1/workloads", None, {"core_ids": ["12"], "cache": {"max": 1, "min": 1}, "owner": {"caller": True}}, 400),
    ("get", "/v1/onload", None, None, 200),
    ("get", "/v1/onload/modules", None, None, 200),
    ("get", "/v1/onload/modules/{id}", "onload", None, 404),
    ("patch", "/v1/onload/modules/{id}/parameters", "onload", {"max_packets_per_stack": "1024"}, 409),
    ("patch", "/v1/onload/modules/{id}/parameters", "onload", {}, 400),
    ("get", "/v1/onload/controlplane", None, None, 200),
    ("patch", "/v1/onload/controlplane", None, {"parameters": ["-K"]}, 409),
    ("post", "/v1/onload/controlplane/restart", None, {}, 409),
    ("post", "/v1/onload/preflight", None, {"state": "loaded", "version": "9.0"}, 200),
    ("post", "/v1/onload/preflight", None, {}, 404),
    ("post", "/v1/onload/drain", None, {}, 409),
    ("post", "/v1/onload/drain", None, {"users_policy": "kill"}, 400),
    ("post", "/v1/onload/undrain", None, {}, 200),
    ("post", "/v1/onload/operations/{id}/cancel", "99", {}, 404),
    ("get", "/v1/onload/users", None, None, 200),
    ("get", "/v1/onload/stacks", None, None, 200),
    ("get", "/v1/onload/interfaces", None, None, 200),
    ("put", "/v1/onload/interfaces/{id}/acceleration", "lo", {"enabled": True}, 409),
    ("put", "/v1/onload/interfaces/{id}/afxdp", "nowhere", {"registered": True}, 404),
    ("get", "/v1/onload/versions", None, None, 200),
    ("post", "/v1/onload/versions", None, {"name": "9.0", "source": "/etc"}, 400),
    ("delete", "/v1/onload/versions/{id}", "9.0", None, 404),
    ("put", "/v1/onload", None, {"state": "loaded", "version": "9.0"}, 400),
    ("post", "/v1/onload/rollback", None, {}, 404),
    ("post", "/v1/onload/verify", None, {}, 409),
    ("put", "/v1/onload", None, {"state": "unmanaged"}, 200),
    ("delete", "/v1/onload", None, None, 202),
    ("get", "/v1/onload", None, None, 200),
    ("get", "/v1/onload/generations", None, None, 200),
    ("get", "/v1/onload/generations/{id}", "2", None, 200),
    ("get", "/v1/onload/generations/{id}", "99", None, 404),
    ("get", "/v1/onload/operations", None, None, 200),
    ("get", "/v1/onload/operations/{id}", "1", None, 200),
    ("get", "/v1/onload/operations/{id}", "99", None, 404),
    ("put", "/v1/onload/freeze", None, {"frozen": True, "reason": "trading"}, 200),
    ("put", "/v1/onload", None, {"state": "unmanaged"}, 423),
    ("put", "/v1/workloads/{id}", "feed", {"core_ids": ["13"], "cache": {"max": 0, "min": 0}, "name": "feed", "labels": {"team": "trading"}}, 201),
    ("put", "/v1/workloads/{id}", "feed", {"core_ids": ["13"], "cache": {"max": 0, "min": 0}, "name": "feed"}, 200),
    ("put", "/v1/workloads/{id}", "feed", {"core_ids": ["13"], "name": "a b"}, 400),
    ("put", "/v1/workloads/{id}", "other", {"core_ids": ["14"], "cache": {"max": 0, "min": 0}, "name": "feed"}, 409),
    ("get", "/v1/workloads?label=team&name=feed", None, None, 200),
    ("delete", "/v1/workloads/{id}", "1", None, 200),
    ("delete", "/v1/workloads/{id}", "1", None, 404),
]


@pytest.mark.parametrize("shape", [{}, {"cache_ids": "4,0", "shareable": "600"}])
def test_every_answer_is_as_specified(shape):
    config = f'[policy]\nfile = "{os.path.abspath(ROOT)}/etc/policy.toml"\n[[cpu.pools]]\nname = "fast"\ncpus = "15"\nkind = "exclusive"\n'
    with Node(config, cpufreq="intel_pstate", **shape) as node:
        for method, path, id, body, status in CALLS:
            level = "llc" if "{id}" in path else id or ""
            url = path.replace("{id}", id or "").replace("{level}", level)
            got, text, headers = node.request(method.upper(), url, body, JSON if body is not None else {"Accept": "application/json"})
            assert got == status, (method, url, text)
            assert_specified(method, path.partition("?")[0], got, headers.get_content_type() if text else None, text)


def test_answers_about_both_levels_are_as_specified():
    with Node(l2_cat=True, l2_cdp=True) as node:
        for method, path, url, body, status in [
                ("post", "/v1/workloads", "/v1/workloads", {"core_ids": ["4"], "l2": {"ways": 4, "code": 1}}, 201),
                ("get", "/v1/workloads/{id}", "/v1/workloads/1", None, 200),
                ("get", "/v1/node", "/v1/node", None, 200),
                ("get", "/v1/cache/{level}", "/v1/cache/l2", None, 200),
                ("get", "/v1/cache/{level}/{id}", "/v1/cache/l2/4", None, 200),
                ("patch", "/v1/workloads/{id}", "/v1/workloads/1", {"l2": {"ways": 16}}, 400)]:
            got, text, headers = node.request(method.upper(), url, body, JSON if body is not None else {"Accept": "application/json"})
            assert got == status, (method, url, text)
            assert_specified(method, path, got, headers.get_content_type(), text)


def test_answers_of_newer_kernels_are_as_specified():
    with Node(kernel="6.18", mbm_counters=3, nodes_per_socket=2, snc=True, threads=2, mb_unit="percent",
              thread_throttle="max") as node:
        workload = {"core_ids": ["1-2"], "rdt": {"cache": {"max": 2, "min": 2}, "mba": {"percentage": 50}}}
        status, text, headers = node.request("POST", "/v1/workloads", workload)
        assert status == 201 and "throttled_siblings" in text
        assert_specified("post", "/v1/workloads", status, headers.get_content_type(), text)
        for method, path, url, has in [
                ("get", "/v1/workloads/{id}/monitoring", "/v1/workloads/1/monitoring", "all 3 counters of domain 0"),
                ("get", "/v1/node", "/v1/node", '"assigned_counters":3'),
                ("get", "/v1/cache/{level}", "/v1/cache/l3", '"location_on_node":"0-1"')]:
            status, content_type, text = answered(node, url, 200)
            assert has in text
            assert_specified(method, path, status, content_type, text)


def answered(node, path, status):
    got, text, headers = node.request("GET", path)
    assert got == status, text
    return got, headers.get_content_type(), text


def test_a_node_without_rdt_answers_as_specified():
    with Node(rdt=False) as node:
        assert_specified("get", "/v1/policy", *answered(node, "/v1/policy", 404))
        for path in ("/v1/node", "/v1/health", "/v1/workloads", "/v1/cache", "/v1/mba"):
            got, text, headers = node.request("GET", path)
            assert_specified("get", path, got, headers.get_content_type(), text)


# JSON pointer: its schema.
PARTS = {"/cache": "CacheRequest", "/l2": "L2", "/rdt/mba": "Bandwidth", "/pstate": "FrequencyRequest"}


def allowed_by(schema):
    """What the daemon says of a member that is neither of the type nor in the range of its schema."""
    for each in schema.get("anyOf", ()):
        if each != {"type": "null"}:
            return allowed_by(resolved(each))
    if "maximum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    if "enum" in schema:
        return " or ".join(f'"{name}"' for name in sorted(filter(None, schema["enum"]), key="allow refuse on off".find))
    if "maxLength" in schema:
        return f"a string of at most {schema['maxLength']} bytes"
    return "true or false" if schema["type"] == "boolean" else "above 0"


def test_every_member_of_a_request_has_the_specified_range():
    with Node() as node:
        for part, name in PARTS.items():
            for member, schema in SPEC["components"]["schemas"][name]["properties"].items():
                body = {member: {"no": "value"}}
                for key in reversed(part.split("/")[1:]):
                    body = {key: body}
                status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": ["4"], **body}, JSON)
                problem = json.loads(text)
                # 0 counts as absent.
                allowed = allowed_by(resolved(schema)).replace("0 to", "1 to") if name == "Bandwidth" else allowed_by(resolved(schema))
                assert (status, problem["field"], problem["allowed"]) == (400, f"{part}/{member}", allowed)


def test_a_client_may_send_the_defaults_of_parameters():
    with Node() as node:
        for (method, path), operation in OPERATIONS.items():
            for parameter in map(resolved, operation.get("parameters", ())):
                if method == "get" and "default" in parameter["schema"]:
                    url = f"{path.replace('{id}', '1')}?{parameter['name']}={parameter['schema']['default']}"
                    assert node.request("GET", url)[0] in (200, 404), url


def test_every_operation_is_tried():
    tried = {(method, path.partition("?")[0]) for method, path, *_ in CALLS}
    assert tried == set(OPERATIONS)


def test_every_operation_has_a_unique_id_and_a_declared_tag():
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]*)+", id) for id in ids), ids
    declared = [tag["name"] for tag in SPEC["tags"]]
    assert all(tag["description"] for tag in SPEC["tags"])
    assert all(len(operation["tags"]) == 1 for operation in OPERATIONS.values())
    assert sorted({operation["tags"][0] for operation in OPERATIONS.values()}) == sorted(declared)


# The fixed fields of OpenAPI 3.1, those that this description uses.
FIELDS = {
    "path": {"parameters", *METHODS},
    "operation": {"operationId", "tags", "summary", "description", "parameters", "requestBody", "responses", "security"},
    "parameter": {"name", "in", "required", "description", "schema"},
    "body": {"required", "content", "description"},
    "response": {"description", "headers", "content"},
    "header": {"description", "schema"},
    "media": {"schema", "examples"},
    "example": {"summary", "value"},
    "schema": {"$ref", "type", "enum", "const", "description", "default", "format", "properties", "required", "items", "pattern",
               "additionalProperties", "propertyNames", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems",
               "maxItems", "minProperties", "maxProperties", "oneOf", "anyOf", "allOf"},
}


def of_schema(where, schema):
    if isinstance(schema, bool):
        return
    yield "schema", where, schema
    for name in ("items", "additionalProperties", "propertyNames"):
        if name in schema:
            yield from of_schema(f"{where}/{name}", schema[name])
    for name in ("oneOf", "anyOf", "allOf"):
        for number, each in enumerate(schema.get(name, ())):
            yield from of_schema(f"{where}/{name}/{number}", each)
    for name, each in schema.get("properties", {}).items():
        yield from of_schema(f"{where}/{name}", each)


def of_content(where, node):
    for kind, media in node.get("content", {}).items():
        yield "media", f"{where}/{kind}", media
        yield from of_schema(f"{where}/{kind}/schema", media["schema"])
        for name, example in media.get("examples", {}).items():
            yield "example", f"{where}/{kind}/{name}", example


def of_named(kind, where, node):
    if set(node) == {"$ref"}:
        return
    yield kind, where, node
    yield from of_content(where, node)
    if "schema" in node:
        yield from of_schema(f"{where}/schema", node["schema"])
    for name, header in node.get("headers", {}).items():
        yield from of_named("header", f"{where}/{name}", header)


def objects():
    """Each object of the description whose fields the standard fixes: kind, place, object."""
    for path, item in SPEC["paths"].items():
        yield "path", path, item
        for parameter in item.get("parameters", ()):
            yield from of_named("parameter", f"{path} {parameter.get('name')}", parameter)
    for (method, path), operation in OPERATIONS.items():
        where = f"{method} {path}"
        yield "operation", where, operation
        for parameter in operation.get("parameters", ()):
            yield from of_named("parameter", f"{where} {parameter.get('name')}", parameter)
        if "requestBody" in operation:
            yield from of_named("body", f"{where} body", operation["requestBody"])
        for status, response in operation["responses"].items():
            yield from of_named("response", f"{where} {status}", response)
    for group, kind in (("parameters", "parameter"), ("headers", "header"), ("responses", "response")):
        for name, node in SPEC["components"][group].items():
            yield from of_named(kind, name, node)
    for name, schema in SPEC["components"]["schemas"].items():
        yield from of_schema(name, schema)


def test_no_object_has_an_unknown_key():
    # An unquoted comma in a flow mapping makes a key without a value.
    unknown = [(kind, where, sorted(set(node) - FIELDS[kind])) for kind, where, node in objects() if set(node) - FIELDS[kind]]
    assert unknown == []
    assert len({kind for kind, *_ in objects()}) == len(FIELDS)


def test_every_reference_points_to_something():
    for kind, where, node in objects():
        if "$ref" in node:
            assert resolved({"$ref": node["$ref"]}), (kind, where)


def examples():
    for kind, where, node in objects():
        if kind == "media":
            for name, example in node.get("examples", {}).items():
                yield f"{where} {name}", node["schema"], example["value"]


def test_every_example_is_valid():
    assert len(list(examples())) > 40
    for where, schema, value in examples():
        for error in validator(schema).iter_errors(value):
            raise AssertionError(f"{where}: {error.message}")


def test_every_request_body_has_an_example():
    for (method, path), operation in OPERATIONS.items():
        if "requestBody" in operation:
            assert operation["requestBody"]["content"]["application/json"].get("examples"), (method, path)


def bodies(method, path):
    content = OPERATIONS[method, path]["requestBody"]["content"]["application/json"]
    return [example["value"] for example in content["examples"].values()]


def test_the_daemon_accepts_the_examples_for_workloads():
    config = f'[policy]\nfile = "{os.path.abspath(ROOT)}/etc/policy.toml"\n'
    with Node(config, machine="sapphire-rapids", cpufreq="intel_pstate") as node:
        for body in bodies("post", "/v1/workloads"):
            assert node.request("POST", "/v1/workloads?dry_run=true", body, JSON)[0] == 200, body
        workload = {"core_ids": ["4-7"], "cache": {"max": 3, "min": 3}, "pstate": {"max_ratio": 20}}
        assert node.request("POST", "/v1/workloads", workload, JSON)[0] == 201
        for body in bodies("patch", "/v1/workloads/{id}"):
            assert node.request("PATCH", "/v1/workloads/1", body, JSON)[0] == 200, body
        for body in bodies("post", "/v1/hospitality"):
            assert node.request("POST", "/v1/hospitality", body, JSON)[0] == 200, body
