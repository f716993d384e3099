"""The main job on each machine that tests/simnode/machines describes: on one cache, on two, and nothing left behind."""

import os

import pytest
from harness import Node
from masks import cpus_of

MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "simnode", "machines")
NAMES = sorted(name.removesuffix(".conf") for name in os.listdir(MACHINES))


def cpus_of_caches(node):
    """Two CPUs of each of the first two caches; of the only one, where there is no other."""
    caches = sorted(node.call("GET", "/v1/node")["caches"], key=lambda cache: cache["id"])
    return [[str(cpu) for cpu in sorted(cpus_of(cache["cpus"]))[2:4]] for cache in caches[:2]]


def trees(node):
    """Masks, bandwidth and CPUs of the groups that were there before nrd."""
    groups = node.hardware()
    return {name: {key: value for key, value in groups[name].items() if key != "tasks"} for name in groups}


@pytest.mark.parametrize("name", NAMES)
def test_the_main_job(name):
    with Node(machine=name) as node:
        before = trees(node)
        caches = cpus_of_caches(node)
        created = [node.create(caches[0], 3, 3)]
        assert len(created[0]["granted_ways"]) == 1
        node.assert_consistent({created[0]["id"]})
        assert node.delete(created.pop()["id"]) is None
        created.append(node.create([cpu for cpus in caches for cpu in cpus], 2, 2))
        assert len(created[0]["granted_ways"]) == len(caches)
        node.assert_consistent({created[0]["id"]})
        node.delete(created[0]["id"])
        node.assert_consistent(set())
        assert trees(node) == before
        assert node.health()["status"] == "ok"


@pytest.mark.skipif(not os.environ.get("NRD_LONG"), reason="part of tests/long")
@pytest.mark.parametrize("name", NAMES)
def test_grants_last_through_kill_reboot_and_patch(name):
    with Node(machine=name) as node:
        before = trees(node)
        caches = cpus_of_caches(node)
        ids = {node.create([cpus[0]], 2, 2)["id"] for cpus in caches}
        shared = node.create([cpus[1] for cpus in caches], 0, 0)["id"]
        granted = node.list()
        node.kill9_and_start()
        assert node.list() == granted
        node.assert_consistent(ids | {shared})
        node.reboot()
        assert node.list() == granted
        node.assert_consistent(ids | {shared})
        for id in ids:
            node.call("PATCH", f"/v1/workloads/{id}", {"cache": {"max": 3, "min": 3}})
        node.assert_consistent(ids | {shared})
        for id in ids | {shared}:
            node.delete(id)
        node.assert_consistent(set())
        assert trees(node) == before
