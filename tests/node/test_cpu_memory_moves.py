"""Memory of running units and cgroups moves in operations. Cgroups and systemd are simulated."""

import concurrent.futures
import time

import pytest

from cpu_host import PATHS, TARGETS, host  # noqa: F401
from cpu_pools import patch, post
from harness import Refused, refusal, wait_for
from nrdctl import nrdctl

NEAR = {"memory": "near", "migrate": True}
UNIT = PATHS["unit"]


def asking(target, **more):
    return {"cpu": {"pool": "fast", "count": 2, **more}, **TARGETS[target]}


def operation(host, workload, wait=30):
    return host.node.call("GET", f"/v1/operations/{workload['operation']['id']}?wait={wait}")


def is_bound(workload):
    return workload["cpu_request"].get("memory") == "near"


@pytest.fixture
def moving(host):
    """A workload for the unit, whose memory moves until systemd.memory_may_move is set."""
    host.systemd.memory_may_move.clear()
    workload = post(host.node, asking("unit", **NEAR))
    wait_for(lambda: host.systemd.has_memory_to_move, "the request to systemd")
    yield workload
    host.systemd.memory_may_move.set()


@pytest.mark.parametrize("target", TARGETS)
def test_memory_of_a_running_target_moves(host, target):
    before = host.traces()
    status, body, headers = host.node.request("POST", "/v1/workloads", asking(target, **NEAR))
    workload = host.node.list()[0]
    assert status == 202 and headers["Location"].startswith("/v1/operations/"), body
    done = host.node.call("GET", headers["Location"] + "?wait=30")
    assert (done["workload"], done["state"], done["from"], done["to"], done["message"]) == (workload["id"], "succeeded", "0-1", "0", "")
    after = host.node.list()[0]
    assert after["cpu"]["enforced"]["mems"] == host.read(PATHS[target], "cpuset.mems") == "0"
    assert is_bound(after) and after["status"] == "Successful" and "operation" not in after
    host.node.delete(after["id"])
    wait_for(lambda: host.traces() == before, "the release")


def test_a_workload_is_as_before_while_memory_moves_for_its_change(host):
    before = post(host.node, asking("unit"))
    host.systemd.memory_may_move.clear()
    status, _, _ = host.node.request("PATCH", f"/v1/workloads/{before['id']}", {"cpu": NEAR})
    meanwhile = host.node.list()[0]
    assert status == 202 and meanwhile["operation"]["state"] == "moving"
    assert meanwhile["cpu_request"] == before["cpu_request"] and meanwhile["status"] == "Successful"
    # The change that waits would overwrite the others.
    for change in ({"cpu": {"count": 3}}, {"labels": {"team": "a"}}):
        with pytest.raises(Refused, match="moves the memory of feed.service") as refused:
            patch(host.node, before["id"], change)
        assert refused.value.status == 409
    host.systemd.memory_may_move.set()
    assert operation(host, meanwhile)["state"] == "succeeded"
    assert is_bound(host.node.list()[0])


def test_other_requests_are_served_while_memory_moves(host, moving):
    began = time.monotonic()
    assert operation(host, moving, wait=0)["state"] == "moving"
    assert not is_bound(moving) and moving["status"] == "Successful"
    patch(host.node, moving["id"], {"labels": {"team": "a"}})
    post(host.node, {"core_ids": ["9"], "cache": {"max": 2, "min": 2}})
    for refuse in (lambda: post(host.node, {"cgroup": "/jobs", "cpu": {"pool": "wide", "count": 1}}), lambda: host.node.delete(moving["id"])):
        with pytest.raises(Refused, match="moves the memory of feed.service") as refused:
            refuse()
        assert refused.value.status == 503
    assert time.monotonic() - began < 5
    host.systemd.memory_may_move.set()
    assert operation(host, moving)["state"] == "succeeded"
    host.node.delete(moving["id"])
    wait_for(lambda: host.property("feed.service", "AllowedMemoryNodes") == "", "the release")


def test_memory_that_does_not_move_leaves_the_workload_as_it_was(host):
    before = post(host.node, asking("unit"))
    host.systemd.mode = "idle"
    host.node.request("PATCH", f"/v1/workloads/{before['id']}", {"cpu": NEAR})
    number = host.node.call("GET", "/v1/operations")[0]["id"]
    done = host.node.call("GET", f"/v1/operations/{number}?wait=30")
    assert done["state"] == "failed" and "feed.service has memory of node 0-1, not of 0" in done["message"]
    after = host.node.list()[0]
    assert after["cpu_request"] == before["cpu_request"] and after["status"] == "Successful"


def test_after_a_death_while_memory_moves_nothing_is_bound(host, moving):
    host.node.kill9()
    host.systemd.memory_may_move.set()
    wait_for(lambda: host.property("feed.service", "AllowedMemoryNodes") == "0", "the end of the move")
    host.node.start()
    wait_for(lambda: host.property("feed.service", "AllowedMemoryNodes") == "", "the release")
    assert host.read(UNIT, "cpuset.mems.effective") == "0-1"
    assert not is_bound(host.node.list()[0]) and host.node.call("GET", "/v1/operations") == []
    assert refusal(operation, host, moving).status == 404


def test_a_stop_does_not_wait_for_memory_that_moves(host, moving):
    began = time.monotonic()
    assert host.node.terminate() == 0
    assert time.monotonic() - began < 5


def test_a_reset_ends_when_memory_has_been_released(host):
    operation(host, post(host.node, asking("unit", **NEAR)))
    host.node.kill9()
    host.systemd.memory_may_move.clear()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        reset = pool.submit(host.node.run_daemon, "--reset")
        wait_for(lambda: host.systemd.has_memory_to_move, "the request to systemd")
        with pytest.raises(concurrent.futures.TimeoutError):
            reset.result(timeout=3)
        host.systemd.memory_may_move.set()
        done = reset.result()
    assert done.returncode == 0, done.stderr
    assert host.property("feed.service", "AllowedMemoryNodes") == ""


def test_a_reset_says_that_memory_was_not_released(host):
    operation(host, post(host.node, asking("unit", **NEAR)))
    host.node.kill9()
    host.systemd.mode = "idle"
    done = host.node.run_daemon("--reset")
    assert done.returncode == 1 and "feed.service" in done.stderr.splitlines()[-1], done.stderr


def test_nrdctl_waits_for_the_memory(host):
    words = ["workload", "create", "--unit", "feed.service", "--pool", "fast", "--count", "2", "--memory", "near", "--migrate"]
    assert "moving memory of feed.service from node 0-1 to node 0" in nrdctl(host.node, *words)
    assert is_bound(host.node.list()[0])
