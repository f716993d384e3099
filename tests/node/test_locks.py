"""Foreign locks: changes wait for a moment, are refused with the name of the holder, and succeed after its release."""

import os
import subprocess
import time

import pytest
from harness import Node, refusal

TREE, FILE = "/sys/fs/resctrl", "/run/lock/libpqos"
ASKED = {"core_ids": ["4"], "cache": {"max": 2, "min": 2}}
LONG = 5  # seconds: what is bounded ends sooner
HOLD = """
import fcntl, os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
{take}
print("held", flush=True)
time.sleep(1000)
"""
OF_TREE, OF_FILE = "fcntl.flock(file, fcntl.LOCK_SH)", "fcntl.lockf(file, fcntl.LOCK_SH)"


class Holder:
    """A process on the node that has opened a file to read it, and locks it."""

    def __init__(self, node, path, take):
        self.process = subprocess.Popen(node.sim.inside(["/usr/bin/python3", "-c", HOLD.format(take=take), path]), text=True,
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "held\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def node():
    """With a /run/lock of its own."""
    node = Node(start=False)
    with node:
        node.sim.run_inside(["mount", "-t", "tmpfs", "-o", "mode=1777", "locks", "/run/lock"])
        yield node


def refused(node, method, path, body=None):
    begun = time.monotonic()
    error = refusal(node.call, method, path, body)
    assert time.monotonic() - begun < LONG and error.status == 503, error
    return error.text


def test_a_shared_lock_of_the_tree_stops_changes_and_is_reported(node):
    node.start()
    made = node.create("8", 1, 1)["id"]
    with Holder(node, TREE, OF_TREE) as holder:
        wanted = f"the resctrl tree is locked by python3 ({holder.process.pid})"
        assert wanted in refused(node, "POST", "/v1/workloads", ASKED)
        assert wanted in refused(node, "DELETE", f"/v1/workloads/{made}")
        assert any(wanted in warning for warning in node.health()["warnings"])
        assert [workload["id"] for workload in node.list()] == [made]
    node.delete(node.call("POST", "/v1/workloads", ASKED)["id"])
    node.delete(made)
    assert node.health()["status"] == "ok" and not any("locked" in warning for warning in node.health()["warnings"])


def test_a_lock_of_libpqos_stops_changes_and_nothing_else(node):
    node.start()
    with Holder(node, FILE, OF_FILE) as holder:
        assert f"/run/lock/libpqos is locked by python3 ({holder.process.pid})" in refused(node, "POST", "/v1/workloads", ASKED)
        assert node.list() == [] and node.health()["writes_frozen"] is False
    node.delete(node.call("POST", "/v1/workloads", ASKED)["id"])


@pytest.mark.parametrize("made_by", [65534, 0], ids=["by somebody else", "by root for all to read"])
def test_the_file_is_roots_alone(node, made_by):
    node.sim.run_inside(["/usr/bin/install", "-m", "644", "-o", str(made_by), "/dev/null", FILE])
    node.start()
    owner = node.sim.run_inside(["/usr/bin/stat", "-c", "%u %a", FILE]).stdout.strip()
    assert owner == "0 600"
    assert ("RDT_LOCK_FILE" in node.journal()) == (made_by != 0)


def mode_of(node):
    return oct(os.stat(node.sim.path(TREE)).st_mode & 0o777)


def reset(node):
    node.terminate()
    done = node.run_daemon("--reset")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("config, before, while_served, after", [
    ("", 0o555, "0o700", "0o555"),
    ('[rdt]\ntree_mode = "0750"\n', 0o555, "0o750", "0o555"),
    ('[rdt]\ntree_mode = "0555"\n', 0o555, "0o555", "0o555"),
    ("", 0o711, "0o711", "0o711"),  # chosen by another program
])
def test_the_tree_can_be_opened_by_root_only(config, before, while_served, after):
    with Node(config, start=False) as node:
        os.chmod(node.sim.path(TREE), before)
        node.start()
        assert mode_of(node) == while_served
        node.kill9_and_start()
        assert mode_of(node) == while_served
        reset(node)
        assert mode_of(node) == after
