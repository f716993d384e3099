"""The daemon dies, alone or with the whole node, before each of its writes to disk while Onload goes from one release to
another. Accepted changes are kept, and no release is loaded in part.

tests/disk/faulty_disk.c kills it. Every record of a step is a commit and every commit a sync, so dying at each sync is
dying before and after each step."""

import os
import struct

import pytest

from onload_node import LONG, NEW, OLD, STATE

FAULTY_DISK = os.environ["NRD_FAULTY_DISK"]
CONTROL = "/run/nrd-disk"
KILL = 1
# An upgrade has twelve steps with two records each; before them the spec is stored, and after them its outcome. The last
# test of all knows if there are more.
SYNCS = 26


def set_disk(node, at=0):
    numbers = struct.pack("5q", 0, at, KILL, 0, 1)
    node.vm.run(["python3", "-I", "-c", "import sys; open(sys.argv[1], 'r+b').write(bytes.fromhex(sys.argv[2]))", CONTROL, numbers.hex()])


def syncs(node):
    return int(node.vm.run(["od", "-An", "-t", "d8", "-N", "8", CONTROL]).stdout)


@pytest.fixture
def mortal(node):
    """OLD is loaded, by a daemon that its disk can kill."""
    node.terminate()
    node.vm.run(["truncate", "-s", "40", CONTROL])
    node.environment = {"LD_PRELOAD": FAULTY_DISK, "NRD_DISK_DIR": STATE, "NRD_DISK_CONTROL": CONTROL,
                        "ASAN_OPTIONS": "verify_asan_link_order=0"}
    node.start()
    node.load(OLD)
    node.back_up()
    return node


def die_at(node, sync):
    """Requests NEW. The operation, None if it died before it had answered."""
    set_disk(node, at=sync)
    status, answer = node.request("PUT", "/v1/onload", {"state": "loaded", "version": NEW})
    node.daemon.wait(timeout=120)
    assert status in (0, 202), answer
    node.environment = {}
    return answer["operation"] if status == 202 else None


def assert_consistent(node, promised):
    """After the next start: an accepted change is complete; an unanswered one is complete or has had no effect."""
    node.vm.wait_until(lambda: node.onload()["effective_generation"] == node.onload()["generation"] and node.condition("DeviceAccessOpen"),
                       timeout=120, what="the end of the operation")
    operations = node.get("/v1/onload/operations")
    assert {operation["outcome"] for operation in operations} == {"succeeded"}, operations
    # Not from how many operations there were: after a power cut one more loads again what had arrived.
    release = {1: OLD, 2: NEW}[node.onload()["generation"]]
    assert promised is None or release == NEW
    node.assert_loaded(release)
    assert node.request("POST", "/v1/onload/verify", {})[1]["verified"] is True


@pytest.mark.parametrize("sync", [pytest.param(sync, marks=[] if sync == 12 else LONG) for sync in range(1, SYNCS + 1)])
def test_killed_at_any_write_it_goes_on_at_the_next_start(mortal, sync):
    promised = die_at(mortal, sync)
    mortal.start()
    assert_consistent(mortal, promised)


@pytest.mark.parametrize("sync", [pytest.param(sync, marks=[] if sync == 16 else LONG) for sync in range(1, SYNCS + 1)])
def test_after_a_power_cut_at_any_write_the_operation_is_completed(mortal, sync):
    promised = die_at(mortal, sync)
    mortal.vm.power_cut()
    mortal.restore()
    mortal.start()
    assert_consistent(mortal, promised)


@LONG
def test_an_upgrade_writes_no_more_often_than_it_is_killed_above(mortal):
    set_disk(mortal)
    mortal.load(NEW)
    assert syncs(mortal) == SYNCS
