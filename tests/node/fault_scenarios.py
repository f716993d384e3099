"""What the fault tests try: a node, a request, and what the node looks like when the request succeeds.

Each fault gets a node of its own, so that it strikes knobs that nrd has not touched before. What success looks like is
known from a run without faults; nothing between before and after is ever accepted.
"""

import contextlib
import functools
import re

from fault_points import kinds_of_writes
from harness import Node, Refused

# The node before, and the request.
SCENARIOS = {
    "guarantee": ([("0", 2, 1)], lambda node: node.create("4-5", 2, 2)),
    "besteffort, others give way": ([("0", 3, 1)], lambda node: node.create("4,9", 3, 1)),
    "patch": ([("4-5", 2, 2)], lambda node: node.call("PATCH", "/v1/workloads/1",
                                                      {"core_ids": ["5-6"], "cache": {"max": 3, "min": 3}})),
    "delete": ([("4-5", 2, 2), ("0", 2, 1)], lambda node: node.delete("1")),
}
CONFIG = "[cache_pools]\nshrink = true\n[drift]\ninterval_seconds = {drift}\n"
CLASSES = 5  # more than are used; libpqos makes and reads all of them at each start


@contextlib.contextmanager
def prepared(before, drift=0, **options):
    with Node(config=CONFIG.format(drift=drift), closids=CLASSES, **options) as node:
        for cpus, most, least in before:
            node.create(cpus, most, least)
        yield node


def answered(node):
    return [{key: value for key, value in workload.items() if key not in ("created", "updated")} for workload in node.list()]


def image(node):
    return node.plain(), node.stored(), answered(node)


@functools.cache
def image_after(name):
    """What the request of a scenario makes of the node, with which writes to hardware and which calls to the disk."""
    before, request = SCENARIOS[name]
    with prepared(before, faulty_disk=True) as node:
        node.sim.control("reset")
        node.disk.set()
        request(node)
        writes, calls = kinds_of_writes(node), node.disk.kinds()
        node.assert_consistent()
        return image(node), writes, calls


def assert_one_line(text):
    said = re.sub(r"rmdir '/sys/fs/resctrl/[^/']+'", "", text)  # a remedy
    assert said.endswith("\n") and said.count("\n") == 1 and "/sys" not in said and "/var" not in said, text


def is_refused_whole(node, request, image, start, after, nth):
    """Asks while write `nth` fails: the node is as `after`, or as at the `start` and it is said why. Whether that is it."""
    try:
        request(node)
        assert image(node) == after, nth
        return False
    except Refused as error:
        says_what = any(words in error.text for words in ("did not take", "did not move", "cannot create the resctrl group", "cannot remove group"))
        has_no_class = error.status == 409 and "the kernel cannot create another resctrl group" in error.text  # mkdir said ENOSPC
        assert error.status == 500 and says_what or has_no_class, error
        assert_one_line(error.text)
        assert image(node) == start, nth
        return True


def refusals_of_each_write(node_before, request, image, fault):
    """Each write of `request` fails in turn: the node is as before or as after it. How often it was refused."""
    with node_before() as node:
        request(node)
        after, writes = image(node), node.sim.writes()
    refusals = 0
    for nth in range(1, writes + 1):
        with node_before() as node:
            start = image(node)
            node.sim.control(f"fault write {nth} {fault}")
            refusals += is_refused_whole(node, request, image, start, after, nth)
            assert node.health()["status"] == "ok"
    return refusals
