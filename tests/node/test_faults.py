"""Every write failing once, to hardware and to disk: the request fails with a clear error, and all is as before.

Each fault gets a node of its own, so that it strikes knobs that nrd has not touched before. What the node looks like
when the request succeeds is known from a run without faults; nothing between the two is ever accepted.
"""

import errno

import pytest
from harness import Disk, Node, Refused, wait_for

# The node before, and the request.
SCENARIOS = {
    "guarantee": ([("0", 2, 1)], lambda node: node.create("4-5", 2, 2)),
    "besteffort, others give way": ([("0", 3, 1)], lambda node: node.create("4,9", 3, 1)),
    "patch": ([("4-5", 2, 2)], lambda node: node.call("PATCH", "/v1/workloads/1",
                                                      {"core_ids": ["5-6"], "cache": {"max": 3, "min": 3}})),
    "delete": ([("4-5", 2, 2), ("0", 2, 1)], lambda node: node.delete("1")),
}
CONFIG = "[cache_pools]\nshrink = true\n[drift]\ninterval_seconds = {drift}\n"


def prepared(before, drift=0, **options):
    node = Node(config=CONFIG.format(drift=drift), **options)
    for cpus, most, least in before:
        node.create(cpus, most, least)
    return node


def answered(node):
    return [{key: value for key, value in workload.items() if key not in ("created", "updated")} for workload in node.list()]


def image(node):
    return node.plain(), node.stored(), answered(node)


def image_after(before, request):
    """What the request makes of the node, and with how many writes to hardware and calls to the disk."""
    with prepared(before, faulty_disk=True) as node:
        node.sim.control("reset")
        node.disk.set()
        request(node)
        writes, calls = node.sim.writes(), node.disk.calls()
        node.assert_consistent()
        return image(node), writes, calls


def assert_one_line(text):
    assert text.endswith("\n") and text.count("\n") == 1 and "/sys" not in text and "/var" not in text, text


@pytest.mark.parametrize("fault", ["errno EIO", "errno EINVAL", "errno ENOSPC", "lie"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_hardware_write_failing_once_changes_nothing(name, fault):
    before, request = SCENARIOS[name]
    after, writes, _ = image_after(before, request)
    assert writes >= 3, writes
    refusals = 0
    for nth in range(1, writes + 1):
        with prepared(before) as node:
            start = image(node)
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {fault}")
            try:
                request(node)
                assert image(node) == after, nth
            except Refused as refused:
                refusals += 1
                assert refused.status == 500 and ("did not take" in refused.text or "did not move" in refused.text)
                assert_one_line(refused.text)
                assert image(node) == start, nth
            assert node.sim.writes() >= nth
            assert node.health()["status"] == "ok"
            node.assert_consistent()
            if image(node) == start:  # and it is not spoilt by the failure
                request(node)
                assert image(node) == after, nth
    assert refusals >= 3, refusals


@pytest.mark.parametrize("name", SCENARIOS)
def test_hardware_that_stays_broken_is_told_and_mended_when_it_works_again(name):
    before, request = SCENARIOS[name]
    _, writes, _ = image_after(before, request)
    for nth in range(1, writes + 1):
        with prepared(before, drift=1) as node:
            start = image(node)
            node.sim.control("reset")
            for broken in range(nth, 200):
                node.sim.control(f"fault write {broken} errno EIO")
            with pytest.raises(Refused) as refused:
                request(node)
            assert refused.value.status == 500
            assert_one_line(refused.value.text)
            assert node.stored() == start[1]
            if node.plain() != start[0]:
                assert node.health()["status"] == "degraded" and node.health()["hardware_problem"]
            node.sim.control("reset")
            wait_for(lambda: node.health()["status"] == "ok" and node.plain() == start[0], "the repair")
            assert image(node) == start
            node.assert_consistent()


@pytest.mark.parametrize("path", ["schemata", "cpus", "COS2/schemata", "COS2/cpus", "COS3/schemata", "COS3/cpus"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_cannot_be_read_back_is_not_acknowledged(name, path):
    before, request = SCENARIOS[name]
    after, _, _ = image_after(before, request)
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
        node.sim.control("reset")
        node.assert_consistent()


# Each start of the daemon after a reboot: libpqos makes the groups, then nrd puts back what is stored.
def test_every_hardware_write_of_a_recovery_failing_once_is_made_up_for():
    before = [("4-5", 2, 2), ("0,9", 3, 1), ("8", 0, 0)]
    for nth in range(1, 200):
        with prepared(before, drift=1) as node:
            start = image(node)
            node.kill9()
            node.sim.control("wipe")
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} errno EIO")
            node.start()
            wait_for(lambda: node.plain() == start[0], f"the recovery after write {nth}")
            wait_for(lambda: node.health()["status"] == "ok", "its report")
            assert image(node) == start
            node.assert_consistent()
            if node.sim.writes() < nth:
                return
    raise AssertionError("the recovery never ended")


# What happens to the disk: from the n-th call on, or once; counted in all calls, or in syncs only.
DISK = {
    "I/O error once": dict(kind=Disk.FAIL_ONCE, errno=errno.EIO),
    "I/O error at sync once": dict(kind=Disk.FAIL_ONCE, errno=errno.EIO, only_sync=True),
    "broken from then on": dict(kind=Disk.FAIL_ON, errno=errno.EIO),
    "full from then on": dict(kind=Disk.FAIL_ON, errno=errno.ENOSPC),
}


def assert_settled(node, start, after, refused):
    """What a client was told is so: now, and after the next start."""
    def settled():
        if refused is None:
            return image(node) == after
        if "nothing was changed" in refused.text:
            return image(node) == start
        return image(node) in (start, after)
    assert settled(), refused
    node.assert_consistent()
    held = image(node)
    node.kill9()
    node.start()
    assert image(node) == held
    node.assert_consistent()


@pytest.mark.parametrize("fault", DISK)
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_disk_call_failing_is_answered_with_the_truth(name, fault):
    before, request = SCENARIOS[name]
    after, _, calls = image_after(before, request)
    refusals = 0
    for nth in range(1, calls + 2):
        with prepared(before, faulty_disk=True) as node:
            start = image(node)
            node.disk.set(at=nth, **DISK[fault])
            refused = None
            try:
                request(node)
            except Refused as answer:
                refused = answer
                refusals += 1
                assert refused.status == 503
                assert_one_line(refused.text)
                assert "nothing was changed" in refused.text or "outcome is unknown" in refused.text, refused.text
                assert answered(node) == start[2]  # whoever reads sees what was acknowledged
            struck = node.disk.calls() >= nth
            node.disk.set()
            # Any next write finds out what became of this one, and asks for nothing itself.
            node.call("PATCH", f"/v1/workloads/{start[2][-1]['id']}", {})
            assert node.health()["status"] == "ok" and not node.health()["writes_frozen"]
            assert_settled(node, start, after, refused)
            if not struck:
                assert refused is None
                break
    else:
        raise AssertionError("the disk is never done")
    assert refusals >= 1, refusals


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_full_disk_refuses_the_change_and_serves_again_with_room(name):
    before, request = SCENARIOS[name]
    after, _, _ = image_after(before, request)
    with prepared(before, faulty_disk=True) as node:
        start = image(node)
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.ENOSPC)
        with pytest.raises(Refused) as refused:
            request(node)
        assert refused.value.status == 503 and "nothing was changed" in refused.value.text
        assert_one_line(refused.value.text)
        assert image(node) == start
        node.disk.set()
        request(node)
        assert image(node) == after
        node.assert_consistent()


def test_a_disk_that_stays_broken_freezes_writes_and_not_reads():
    with prepared([("0", 2, 2)], faulty_disk=True) as node:
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.EIO)
        for _ in range(3):
            with pytest.raises(Refused) as refused:
                node.create("1", 1, 1)
            assert refused.value.status == 503
        assert [workload["id"] for workload in node.list()] == ["1"]
        node.disk.set()
        assert node.create("1", 1, 1)
        node.assert_consistent()


# Starting on a bad disk: the daemon serves the truth or says in one line why it does not, and spoils nothing.
@pytest.mark.parametrize("fault", DISK)
@pytest.mark.parametrize("state", ["new", "after a kill", "after a reboot"])
def test_each_disk_call_of_a_start_failing_spoils_nothing(state, fault):
    for nth in range(1, 200):
        with Node(config=CONFIG.format(drift=0), faulty_disk=True, start=False) as node:
            known = set()
            if state != "new":
                node.start()
                known = {node.create("4-5", 2, 2)["id"], node.create("0,9", 3, 1)["id"]}
                node.kill9()
            if state == "after a reboot":
                node.sim.control("wipe")
            node.disk.set(at=nth, **DISK[fault])
            node.spawn()
            wait_for(lambda: node.answers() or node.daemon.poll() is not None, "the daemon to answer or end")
            if node.daemon.poll() is None:
                assert {workload["id"] for workload in node.list()} == known
                node.kill9()
            else:
                assert node.wait_dead() == 1, node.journal()
                said = [line for line in node.journal().splitlines() if line.startswith("nrd: ")]
                assert len(said) == 1, said
            struck = node.disk.calls() >= nth
            node.disk.set()
            node.start()
            node.assert_consistent(known)
            if not struck:
                return
    raise AssertionError("the start never ended")
