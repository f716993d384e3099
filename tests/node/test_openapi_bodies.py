"""Random requests by docs/openapi.yaml, valid ones and others: what a schema refuses the daemon refuses, it finds no fault with the form of
what the schema allows, and each answer is declared and validates. NRD_BODIES_SEED=N for other ones."""

import json
import os
import random
import re

from harness import Node
from random_bodies import Bodies
from specified import OPERATIONS, ROOT, assert_specified, validator

SEED = int(os.environ.get("NRD_BODIES_SEED", "1"))
ROUNDS = 200 if os.environ.get("NRD_LONG") else 8
CONFIG = f"""
[policy]
file = "{os.path.abspath(ROOT)}/etc/policy.toml"
[[cpu.pools]]
name = "fast"
cpus = "12-15"
kind = "exclusive"
"""
BODIES = {key: operation["requestBody"]["content"]["application/json"]["schema"] for key, operation in OPERATIONS.items()
          if "requestBody" in operation}
JSON = {"Content-Type": "application/json", "Accept": "application/json"}

# The form is wrong, whatever else nrd would say.
FORM = re.compile(r"found |unknown key|expected |is missing|read-only|too many|not a valid (path|param|arg|module|variable|version)"
                  r"|is no (name|path) of|invalid characters|is too long|is only allowed with|has \d+ items|contains no parameter")
# What a schema does not say: several members together, RMD's plugins, and a CPU that no kernel has.
UNCLEAR = re.compile(r"differs from|No task or core id|Need to provide both|No RDT/Plugins|cannot be combined|bounds in two units"
                     r"|requires ratio|has both percentage|is required with|counts for all pools|is empty|plugins are not supported"
                     r"|module that is not loaded|does not exist; Linux|not the name of a device|^/version: is (missing|allowed only)")
# nrd takes any empty value of these, as RMD does.
EMPTY_MEMBERS = {"ratio", "percentage", "mbps", "plugins", "backend_plugin_info"}


def takes_form(status, answer):
    """Whether nrd found no fault with the form; None: unknown, because it did not get that far."""
    if status < 400:
        return True
    problem = json.loads(answer)
    said = f"{problem.get('field', '')}: {problem['detail']}"
    if status in (404, 412, 423) or UNCLEAR.search(said):
        return None
    return not (status in (400, 422) and FORM.search(said))


def is_lenient(errors):
    return all(EMPTY_MEMBERS & set(error.absolute_path) for error in errors)


def request(node, method, path, url, text=None):
    status, answer, headers = node.request(method.upper(), url, text, JSON)
    assert status < 500 or status == 503, (method, url, text, answer)
    assert_specified(method, path, status, headers.get_content_type() if answer else None, answer)
    return status, answer


def test_the_daemon_and_the_schemas_refuse_the_same_bodies():
    dice = random.Random(SEED)
    bodies = Bodies(dice)
    taken = {True: 0, False: 0, None: 0}
    with Node(CONFIG, cpufreq="intel_pstate", mb_unit="percent") as node:
        node.create("0", 1, 1)
        for _ in range(ROUNDS):
            for (method, path), schema in BODIES.items():
                for _ in range(12 if "workloads" in path else 3):
                    body = bodies.by(schema)
                    body = bodies.with_a_fault(body) if dice.random() < 0.5 else body
                    url = path.replace("{id}", dice.choice(["1", "new"]) if "workloads" in path else "lo")
                    errors = list(validator(schema).iter_errors(body))
                    status, answer = request(node, method, path, url, json.dumps(body))
                    is_taken = takes_form(status, answer)
                    taken[is_taken] += 1
                    if is_taken is not None and not (is_taken and is_lenient(errors)):
                        assert is_taken == (not errors), (method, url, body, [error.message for error in errors], status, answer)
            for workload in node.list()[1:]:
                request(node, "delete", "/v1/workloads/{id}", f"/v1/workloads/{workload['id']}")
    assert min(taken.values()) > 50, taken


SENT = [
    {"core_ids": ["4"], "pstate": {"max_ratio": 20, "min_ratio": 10, "ratio": "2.5", "monitoring": "off"}},
    {"core_ids": ["5"], "pstate": {"turbo": False, "governor": "powersave"}, "name": "slow", "labels": {"team": "a"}},
    {"core_ids": ["6"], "rdt": {"cache": {"max": 1, "min": 1}, "mba": {"percentage": 50}}, "id": "feed", "uuid": "f"},
    {"core_ids": ["7"], "policy": "bronze", "owner": {"pid": os.getpid()}},
    {"task_ids": [str(os.getpid())], "cache": {"max": 0, "min": 0}},
    {"cpu": {"pool": "fast", "count": 1}},
    {"cpu": [{"pool": "fast", "count": 2, "near": ["node:1"]}], "cache": {"max": 2, "min": 1}},
]


def test_an_answer_is_a_body_for_put_and_patch():
    with Node(CONFIG, cpufreq="intel_pstate", mb_unit="percent") as node:
        for body in SENT:
            created = node.call("POST", "/v1/workloads", body)
            for method in ("put", "patch"):
                validator(BODIES[method, "/v1/workloads/{id}"]).validate(created)
                status, answer = request(node, method, "/v1/workloads/{id}", f"/v1/workloads/{created['id']}", json.dumps(created))
                assert (status, json.loads(answer)) == (200, created)
