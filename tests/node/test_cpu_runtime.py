"""CPUs of a container whose runtime writes the cpuset: nrd chooses them, and reads back what the container has."""

import json
import os

import pytest

from cpu_host import assert_refused, host  # noqa: F401
from cpu_pools import patch, post
from harness import wait_for
from masks import cpus_of

POD = "/pod"


def asked(**cpu):
    return {"cgroup": POD, "cpu": {"pool": "fast", "count": 2, "enforce": "runtime", **cpu}}


def enforced(host):
    return host.node.list()[0]["cpu"].get("enforced")


def lists(host):
    """All writes to cpusets, of nrd and of this test."""
    return [line for line in host.sim.log() if "cpuset" in line]


def start(host, cpus):
    """As a runtime does: the list, then the process."""
    os.makedirs(host.cgroup(POD), exist_ok=True)
    host.write(POD, "cpuset.cpus", cpus)
    host.write(POD, "cgroup.procs", str(host.sleeper()))


def test_the_list_that_a_runtime_writes_is_read_back(host):
    host.sim.control("reset")
    workload = post(host.node, asked())  # before the runtime makes the cgroup
    assert workload["cpu"]["cpus"] == workload["cpu"]["exclusive"] == "2-3" and "enforced" not in workload["cpu"]
    assert workload["cpu_request"]["enforce"] == "runtime" and workload["status"] == "Successful"
    assert lists(host) == []
    start(host, "2-3")
    wait_for(lambda: enforced(host) == {"by": "runtime", "name": POD, "effective": "2-3"}, "the list to be read")
    assert host.node.list()[0]["status"] == "Successful"
    host.node.delete(workload["id"])
    assert host.read(POD, "cpuset.cpus") == "2-3"


def test_a_list_that_is_not_the_granted_one_is_reported_and_left(host):
    workload = post(host.node, asked())
    start(host, "2-5")
    wait_for(lambda: (enforced(host) or {}).get("effective") == "2-5", "the list to be read")
    host.sim.control("reset")
    assert host.node.list()[0]["status"] != "Successful"
    # The runtime follows the answer.
    changed = patch(host.node, workload["id"], {"cpu": {"count": 4}})
    assert changed["cpu"]["cpus"] == "2-5" == changed["cpu"]["enforced"]["effective"] and changed["status"] == "Successful"
    changed = patch(host.node, workload["id"], {"cpu": {"count": 3}})
    assert len(cpus_of(changed["cpu"]["cpus"])) == 3 and changed["status"] != "Successful"
    assert lists(host) == [] and host.read(POD, "cpuset.cpus") == "2-5"
    host.write(POD, "cpuset.cpus", changed["cpu"]["cpus"])
    wait_for(lambda: host.node.list()[0]["status"] == "Successful", "the list to be read")


def test_a_kill_and_a_start_leave_the_list_to_the_runtime(host):
    post(host.node, asked())
    start(host, "2-3")
    host.node.kill9()
    host.write(POD, "cpuset.cpus", "2-4")
    host.sim.control("reset")
    host.node.start()
    wait_for(lambda: enforced(host) == {"by": "runtime", "name": POD, "effective": "2-4"}, "the list to be read")
    assert host.node.list()[0]["status"] != "Successful" and lists(host) == []


@pytest.mark.parametrize("body", [{"unit": "feed.service"}, {}], ids=["unit", "no target"])
def test_a_runtime_limits_cgroups_only(host, body):
    assert_refused(host, {"cpu": asked()["cpu"], **body}, 400, "/cpu/enforce: a container runtime limits cgroups only")


def test_the_choice_among_cpus_of_a_runtime_is_a_dry_run(host):
    def dry_run(**cpu):
        status, text, _ = host.node.request("POST", "/v1/workloads?dry_run=true", json.dumps(asked(**cpu)))
        return status, text

    status, text = dry_run(among="4-6,9")  # what kubelet's topology manager still allows
    assert status == 200 and json.loads(text)["workload"]["cpu"]["exclusive"] == "4-5", text
    status, text = dry_run(among="6-9")
    assert status == 409 and "/cpu/count: " in text, text
    assert_refused(host, asked(among="4-6"), 400, "/cpu/among: is only allowed in a dry run")
    several = {**asked(), "cpu": [{"pool": "fast", "count": 1, "among": "4-6"}, {"pool": "common"}]}
    assert_refused(host, several, 400, "/cpu/0/among: is only allowed in a dry run")
    workload = post(host.node, asked())
    status, text, _ = host.node.request("PATCH", f"/v1/workloads/{workload['id']}", json.dumps({"cpu": {"among": "4-6"}}))
    assert status == 400 and "/cpu/among: is only allowed in a dry run" in text, text
    assert host.node.list()[0]["cpu"]["exclusive"] == "2-3"
