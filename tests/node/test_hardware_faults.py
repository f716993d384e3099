"""A write to the hardware failing: the request fails with a clear error, and all is as before.

Which write fails once, fault_points.py says.
"""

import contextlib

import pytest
from fault_points import kinds_of_writes, struck, struck_until_past
from fault_scenarios import SCENARIOS, assert_one_line, image, image_after, is_refused_whole, prepared
from harness import Refused, refusal, wait_for


FAULTS = ["errno EIO", "errno EINVAL", "errno ENOSPC", "lie"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_hardware_write_failing_once_changes_nothing(name, fault):
    before, request = SCENARIOS[name]
    after, writes, _ = image_after(name)
    assert len(writes) >= 3, writes
    refusals = 0
    for nth in struck(writes, turn=FAULTS.index(fault)):
        with prepared(before) as node:
            start = image(node)
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {fault}")
            refusals += is_refused_whole(node, request, image, start, after, nth)
            assert node.sim.writes() >= nth
            assert node.health()["status"] == "ok"
            node.assert_consistent()
            if image(node) == start:  # and it is not spoilt by the failure
                request(node)
                assert image(node) == after, nth
    assert refusals >= 3, refusals


@pytest.mark.parametrize("name", SCENARIOS)
def test_persistent_hardware_faults_are_reported_and_repaired_afterwards(name):
    before, request = SCENARIOS[name]
    _, writes, _ = image_after(name)
    for nth in range(1, len(writes) + 1):
        with prepared(before, drift=1) as node:
            start = image(node)
            node.sim.control("reset")
            for broken in range(nth, 200):
                node.sim.control(f"fault write {broken} errno EIO")
            refused = refusal(request, node)
            assert refused.status == 500
            assert_one_line(refused.text)
            assert node.stored() == start[1]
            if node.plain() != start[0]:
                assert node.health()["status"] == "degraded" and node.health()["hardware_problem"]
            node.sim.control("reset")
            wait_for(lambda: node.health()["status"] == "ok" and node.plain() == start[0], "the repair")
            assert image(node) == start
            node.assert_consistent()


# Files that the request of each scenario reads: of the root, of the class that was there, and of the one that is made.
ROOT, OLD, NEW = (("schemata", "cpus_list"), ("COS2/schemata", "COS2/cpus_list"), ("COS3/schemata", "COS3/cpus_list"))
READ = {"guarantee": ROOT + OLD + NEW, "besteffort, others give way": ROOT + OLD + NEW, "patch": ROOT + OLD, "delete": ROOT}


@pytest.mark.parametrize("name, path", [(name, path) for name in SCENARIOS for path in READ[name]])
def test_a_file_that_cannot_be_read_once_leaves_all_as_it_was_or_as_requested(name, path):
    before, request = SCENARIOS[name]
    after, _, _ = image_after(name)
    with prepared(before) as node:
        start = image(node)
        node.sim.control(f"fault read {path} errno EIO")
        try:
            request(node)
            assert image(node) == after
        except Refused as refused:
            assert refused.status == 500, refused
            assert_one_line(refused.text)
            assert image(node) == start
        with contextlib.suppress(FileNotFoundError):  # the class that was to be made
            node.sim.read(f"/sys/fs/resctrl/{path}")  # fails, if the request has not read it
        node.assert_consistent()


# Each start of the daemon after a reboot: libpqos makes the groups, then nrd puts back what is stored.
def test_a_hardware_write_of_a_recovery_failing_once_is_made_up_for():
    def reboot(node):
        node.kill9()
        node.sim.control("wipe")
        node.sim.control("reset")

    before = [("4-5", 2, 2), ("0,9", 3, 1), ("8", 0, 0)]
    with prepared(before) as node:
        reboot(node)
        node.start()
        writes = kinds_of_writes(node)
    for nth in struck_until_past(writes):
        with prepared(before, drift=1) as node:
            start = image(node)
            reboot(node)
            node.sim.control(f"fault write {nth} errno EIO")
            node.start()
            wait_for(lambda: node.plain() == start[0], f"the recovery after write {nth}")
            wait_for(lambda: node.health()["status"] == "ok", "its report")
            assert image(node) == start
            node.assert_consistent()
            if node.sim.writes() < nth:
                return
