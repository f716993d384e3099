"""Every write failing once, to hardware and to disk: the request fails with a clear error, and all is as before."""

import errno

import pytest
from harness import Disk, Node, Refused

# The node before, the request, and how many resctrl writes it makes on a warm node (so that the count cannot be zero).
SCENARIOS = {
    "guarantee": ([("0", 2, 1)], lambda node: node.create("4-5", 2, 2)),
    "besteffort, others give way": ([("0", 3, 1)], lambda node: node.create("4,9", 3, 1)),
    "patch": ([("4-5", 2, 2)], lambda node: node.call("PATCH", "/v1/workloads/1",
                                                      {"core_ids": ["5-6"], "cache": {"max": 3, "min": 3}})),
    "delete": ([("4-5", 2, 2), ("0", 2, 1)], lambda node: node.delete("1")),
}
CONFIG = "[cache_pools]\nshrink = true\n[drift]\ninterval_seconds = 0\n"


def prepared(before, **options):
    node = Node(config=CONFIG, **options)
    for cpus, most, least in before:
        node.create(cpus, most, least)
    return node


def image(node):
    return node.plain(), node.stored(), node.list()


@pytest.mark.parametrize("fault", ["errno EIO", "errno EINVAL", "errno ENOSPC", "lie"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_hardware_write_failing_once_changes_nothing(name, fault):
    before, request = SCENARIOS[name]
    failures = 0
    with prepared(before) as node:
        start = image(node)
        ids = {workload["id"] for workload in node.list()}
        for nth in range(1, 100):
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} {fault}")
            try:
                request(node)
            except Refused as refused:
                failures += 1
                assert refused.status == 500 and ("did not take" in refused.text or "did not move" in refused.text)
                assert "\n" not in refused.text.rstrip("\n") and "/sys" not in refused.text
                assert image(node) == start, nth
                assert node.health()["status"] == "ok"
                node.assert_consistent(ids)
                continue
            break  # the fault lies beyond the last write
    assert failures >= 3, failures


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_full_disk_refuses_the_change_and_serves_again_with_room(name):
    before, request = SCENARIOS[name]
    with prepared(before, faulty_disk=True) as node:
        start = image(node)
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.ENOSPC)
        with pytest.raises(Refused) as refused:
            request(node)
        assert refused.value.status == 503 and "nothing was changed" in refused.value.text
        node.disk.set()
        assert image(node) == start
        request(node)
        node.assert_consistent()


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_disk_call_failing_once_is_answered_with_the_truth(name):
    before, request = SCENARIOS[name]
    failures = 0
    for nth in range(1, 100):
        with prepared(before, faulty_disk=True) as node:
            start = image(node)
            node.disk.set(at=nth, kind=Disk.FAIL_ONCE, errno=errno.EIO)
            try:
                request(node)
            except Refused as refused:
                assert refused.status == 503
                assert image(node) == start, nth
            node.assert_consistent()
            struck = node.disk.calls() >= nth
            failures += struck
            node.kill9()
            node.disk.set()
            held = node.plain()
            node.start()
            node.assert_consistent()
            assert node.plain() == held
            if not struck:
                break
    assert failures >= 2, failures


def test_an_error_at_sync_is_settled_by_reading_the_store_again():
    with prepared([("0", 2, 2)], faulty_disk=True) as node:
        node.disk.set(at=1, kind=Disk.FAIL_ONCE, errno=errno.EIO, only_sync=True)
        acknowledged = {"1"}
        try:
            acknowledged.add(node.create("1", 1, 1)["id"])
        except Refused as refused:
            assert refused.status == 503
        node.disk.set()
        node.assert_consistent(acknowledged)
        node.kill9()
        node.start()
        node.assert_consistent(acknowledged)


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
