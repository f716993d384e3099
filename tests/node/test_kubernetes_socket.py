"""What nrd has for a Kubernetes client: a reserve, and the capacity of the node. Its socket: tests/wire/test_access.py."""

import json
import os
import socket
import threading
import time

import pytest

from cpu_pools import LARGE
from harness import DEADLINE, DRIFT, Node, Refused, wait_for
from shared_node import node  # noqa: F401

CONFIG = DRIFT + LARGE + """
[reserve.kubernetes]
ways = 3
onload = 50
pools = {fast = "4-7", common = 1}
[cpu]
default_pool = "common"
"""


@pytest.fixture(scope="module")
def shared():
    with Node(CONFIG) as node:
        yield node


def poll(node, since, wait, answers):
    answers.append(node.call("GET", f"/v1/node?since={since}&wait={wait}")["capacity"])


def test_the_node_says_who_it_is_and_what_is_reserved(node):
    answer = node.call("GET", "/v1/node")
    assert answer["host_name"] == socket.gethostname()
    assert answer["boot_id"]
    machine = "/etc/machine-id"
    assert answer["machine_id"] == (open(machine).read().strip() or None if os.path.exists(machine) else None)
    capacity = answer["capacity"]
    assert capacity.pop("revision") > 1_600_000_000_000
    assert capacity == {"default_pool": "common", "reserves": {"kubernetes": {
        "ways": {"reserved": 3, "usable": 3}, "onload": 50,
        "pools": {"fast": {"kind": "exclusive", "reserved": "4-7", "usable": "4-7"},
                  "common": {"kind": "shared", "reserved_milli": 1000, "usable_milli": 1000}}}}}


def test_a_long_poll_of_the_node_ends_when_the_capacity_changes_and_not_before(node):
    since = node.call("GET", "/v1/node")["capacity"]["revision"]
    assert node.call("GET", f"/v1/node?since={since - 1}&wait=60")["capacity"]["revision"] == since
    answers = []
    waiting = threading.Thread(target=poll, args=(node, since, 60, answers))
    waiting.start()
    node.create("2", 2, 2)  # another workload is no news
    time.sleep(0.5)
    assert answers == [] and node.call("GET", "/v1/node")["capacity"]["revision"] == since
    node.sim.control("offline 6")
    waiting.join(DEADLINE)
    assert answers[0]["revision"] > since
    assert answers[0]["reserves"]["kubernetes"]["pools"]["fast"]["usable"] == "4-5,7"
    begun = time.monotonic()
    poll(node, answers[0]["revision"], 1, answers)
    assert answers[1] == answers[0] and time.monotonic() - begun >= 1
    with pytest.raises(Refused, match="requires since"):
        node.call("GET", "/v1/node?wait=1")
    node.sim.control("online 6")
    wait_for(lambda: node.call("GET", "/v1/node")["cpus"]["online"] == "0-15", "the CPU to be known again")


def test_the_revision_of_the_capacity_grows_over_a_restart(node):
    since = node.call("GET", "/v1/node")["capacity"]["revision"]
    node.kill9_and_start()
    assert node.call("GET", "/v1/node")["capacity"]["revision"] > since


def test_clients_without_the_origin_get_nothing_of_the_reserve(node):
    def refusal(workload):
        status, text, _ = node.request("POST", "/v1/workloads", workload, {"Content-Type": "application/json", "Accept": "application/json"})
        problem = json.loads(text)
        assert problem["status"] == status
        return status, problem["field"], problem["allowed"], problem["detail"]
    *known, detail = refusal({"core_ids": ["2"], "cache": {"max": 3, "min": 3}})
    assert known == [409, "/cache/max", "at most 2"]
    assert "3 ways are reserved for origin kubernetes (reserve.kubernetes.ways)" in detail
    status, field, _, detail = refusal({"cpu": {"pool": "fast", "count": 9}})
    assert (status, field) == (400, "/cpu/count")
    assert "CPU 4-7 of pool fast is reserved for origin kubernetes (reserve.kubernetes.pools)" in detail
    assert node.list() == []
