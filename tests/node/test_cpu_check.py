"""The check of a CPU pool lists what may delay tasks on its CPUs, and changes nothing."""

import concurrent.futures
import json

import pytest

from harness import Node
from nrdctl import nrdctl

CONFIG = """
[[cpu.pools]]
name = "fast"
cpus = "2-7"
kind = "exclusive"
low_noise = true
[[cpu.pools]]
name = "any"
cpus = "10-15"
kind = "exclusive"
threads = "any"
"""
PATH = "/v1/cpus/pools/{}/check"


@pytest.fixture(scope="module")
def node():
    with Node(config=CONFIG) as running:
        yield running


def found(node, pool):
    check = node.call("GET", PATH.format(pool))
    assert check["pool"] == pool
    return {(each["source"], each["name"]): each for each in check["disturbances"]}


def test_managed_interrupts_are_listed_by_device(node):
    listed = found(node, "fast")
    nvme = listed["interrupt", "nvme0"]
    assert nvme["cpus"] == "2-3"
    assert nvme["text"] == "2 interrupts of nvme0 may arrive (30, 31); the kernel does not move them"
    assert [name for source, name in listed if source == "interrupt"] == ["nvme0"]
    assert not [source for source, _ in listed if source in ("new_interrupts", "workqueues", "watchdog")]


def test_a_pool_without_low_noise_has_all_interrupts(node):
    listed = found(node, "any")
    assert listed["interrupt", "eth0-rx"]["remedy"] == "low_noise = true in the pool"
    assert listed["new_interrupts", None]["cpus"] == "10-15"


def test_the_tick_is_listed(node):
    assert found(node, "fast")["tick", None]["cpus"] == "2-7"


def test_a_check_writes_nothing(node):
    node.sim.control("reset")
    before = node.sim.writes()
    found(node, "fast")
    assert node.sim.writes() == before


def test_there_is_no_check_of_an_unknown_pool(node):
    assert node.request("GET", PATH.format("none"))[0] == 404


def test_many_checks_at_once_are_answered(node):
    with concurrent.futures.ThreadPoolExecutor(24) as clients:
        statuses = list(clients.map(lambda _: node.request("GET", PATH.format("fast"))[0], range(48)))
    assert set(statuses) <= {200, 503} and 200 in statuses
    assert node.call("GET", "/v1/health")["status"] == "ok"


def test_nrdctl_shows_one_pool_or_all(node):
    one = nrdctl(node, "cpus", "check", "fast")
    assert one.startswith("pool fast, CPUs 2-7\n")
    assert "  interrupt, CPUs 2-3: 2 interrupts of nvme0 may arrive" in one and "isolcpus=managed_irq,2-3" in one
    everything = nrdctl(node, "cpus", "check")
    assert "pool fast, CPUs 2-7\n" in everything and "pool any, CPUs 10-15\n" in everything
    assert json.loads(nrdctl(node, "--json", "cpus", "check", "fast"))["pool"] == "fast"
    assert [each["pool"] for each in json.loads(nrdctl(node, "--json", "cpus", "check"))] == ["fast", "any"]
