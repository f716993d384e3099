"""CPU pools of the simulated node, and requests for their CPUs."""

import os

import pytest

from harness import Node
from shared_node import emptied

POOLS = """
[drift]
interval_seconds = 1
[os]
cpus = "0"
[[cpu.pools]]
name = "fast"
cpus = "1"
kind = "exclusive"
"""
# A larger machine, for what needs no process on its CPUs.
LARGE = """
[[cpu.pools]]
name = "fast"
cpus = "2-7,10-15"
kind = "exclusive"
[[cpu.pools]]
name = "common"
cpus = "8-9"
kind = "shared"
"""


@pytest.fixture(scope="module")
def large_node():
    with Node(LARGE) as node:
        yield node


@pytest.fixture
def large(large_node):
    """One node with LARGE for all tests of a module. After each it has no workload, and these pools."""
    yield from emptied(large_node)
    reload(large_node, LARGE)


def post(node, workload):
    return node.call("POST", "/v1/workloads", workload)


def patch(node, id, changes):
    return node.call("PATCH", f"/v1/workloads/{id}", changes)


def reload(node, text):
    """Takes it as its configuration, or refuses it."""
    node.configure(text)
    return node.call("POST", "/v1/config/reload", {})


def put(node, path, text):
    """A file that only this daemon sees: its folder is a tmpfs of the node."""
    os.makedirs(os.path.dirname(node.sim.path(path)), exist_ok=True)
    with open(node.sim.path(path), "w") as file:
        file.write(text)
