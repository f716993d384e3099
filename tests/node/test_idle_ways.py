"""The OS has the longest run of free ways, wherever it lies, or all of them where masks may have holes. The tree is the witness, the arithmetic is this test's own."""

import json
import random

import pytest
from harness import DRIFT, Node, Refused, wait_for
from masks import longest_run

ALL = 0x7FFF  # 15 ways: OS 1, guarantee 6, best effort 5, shared 3


def os_mask(node):
    return int(node.hardware()["/"]["L3"]["0"], 16)


def shows_os(node, mask):
    """In the kernel's file and, a moment later, in the answer."""
    [cache] = node.call("GET", "/v1/node")["caches"]
    return os_mask(node) == mask == int(cache["os"]["mask"], 16)


def taken(node, foreign=0):
    ways = foreign
    for workload in node.list():
        ways |= int(workload["granted_ways"].get("0", {"mask": "0"})["mask"], 16)
    return ways


def assert_idle(node, foreign=0):
    """Idle are the free ways outside the longest run of these; without a workload the OS has all ways."""
    shown = node.call("GET", "/v1/node")
    mask, [cache], cat = os_mask(node), shown["caches"], shown["capabilities"]["l3_cat"]
    assert int(cache["os"]["mask"], 16) == mask
    free = ALL & ~taken(node, foreign)
    if taken(node) == 0:
        assert mask == ALL and cache["idle"]["ways"] == 0, cache
        return
    assert cache["longest_run"] == longest_run(free), cache
    if cat["sparse_masks"]:
        assert mask == free and cache["idle"]["ways"] == 0, (hex(mask), cache)
    else:
        assert mask & ~free == 0 and mask.bit_count() == longest_run(mask) == longest_run(free), (hex(mask), cache)
        assert cache["idle"]["ways"] == free.bit_count() - longest_run(free), cache
    pools = cache["pools"].values()
    assert sum(pool["ways"] for pool in pools) == 15 and sum(pool["free"] for pool in pools) == free.bit_count(), cache
    assert sum(pool["idle"] for pool in pools) == cache["idle"]["ways"], cache


def refusal(node, cpu, ways):
    status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": [cpu], "cache": {"max": ways, "min": ways}})
    assert status == 409, text
    return text


def test_guarantees_of_four_and_two_leave_one_way_idle_of_fifteen():
    with Node(sockets=1, ways=15) as node:
        node.create("0", 4, 4)
        node.create("1", 2, 2)
        assert os_mask(node) == 0x7F80
        [cache] = node.call("GET", "/v1/node")["caches"]
        assert (cache["longest_run"], cache["idle"]) == (8, {"mask": "1", "ways": 1})
        assert cache["pools"] == {
            "os": {"ways": 1, "free": 1, "longest_run": 1, "idle": 1},
            "guarantee": {"ways": 6, "free": 0, "longest_run": 0, "idle": 0},
            "besteffort": {"ways": 5, "free": 5, "longest_run": 5, "idle": 0},
            "shared": {"ways": 3, "free": 3, "longest_run": 3, "idle": 0}}
        assert "the guarantee pool has 0 of 6 ways left; 8 free ways belong to besteffort and shared" in refusal(node, "2", 1)
        assert_idle(node)
        _, text, _ = node.request("GET", "/metrics")
        assert 'nrd_cache_ways_idle{level="3",cache="0"} 1\n' in text, text


def test_the_run_moves_to_the_other_end_and_back():
    with Node(sockets=1, ways=15) as node:
        first = node.create("0", 6, 6)["id"]
        assert os_mask(node) == 0x7F80
        node.create("1", 5, 1)
        node.create("2", 0, 0)
        assert os_mask(node) == 0x1
        node.delete(first)
        assert os_mask(node) == 0x7F
        assert_idle(node)
        node.kill9_and_start()
        assert os_mask(node) == 0x7F
        for workload in node.list():
            node.delete(workload["id"])
        assert os_mask(node) == ALL


@pytest.mark.parametrize("when", ["before start", "after start", "after the grant"])
def test_ways_of_a_foreign_group_are_not_the_os(when):
    def comes(now):
        if now == when:
            node.sim.run_inside(["mkdir", "/sys/fs/resctrl/theirs"])
            node.sim.write("/sys/fs/resctrl/theirs/schemata", "L3:0=700\n")

    with Node(DRIFT, start=False, sockets=1, ways=15, closids=4) as node:
        comes("before start")
        node.start()
        comes("after start")
        node.create("0", 2, 2)  # beside the group on ways 5-6, without it on ways 1-2
        comes("after the grant")
        beside, alone = (0xF8, 0x7FF8) if when == "after the grant" else (0x1F, 0x7F80)
        wait_for(lambda: shows_os(node, beside), "the OS to leave the ways of the group")
        assert_idle(node, foreign=0x700)
        node.sim.run_inside(["rmdir", "/sys/fs/resctrl/theirs"])
        wait_for(lambda: shows_os(node, alone), "the OS to have the ways of the group")
        assert_idle(node)
        assert node.health()["drift_repairs"] == 0


@pytest.mark.parametrize("seed, shape", [(0, {}), (1, {"shareable": "6000"}), (2, {"sparse_masks": True})])
def test_after_any_request_only_ways_that_fit_no_mask_are_idle(seed, shape):
    dice = random.Random(seed)
    with Node(f"[cache_pools]\nshrink = {'true' if seed else 'false'}\n", sockets=1, ways=15, **shape) as node:
        assert node.call("GET", "/v1/node")["capabilities"]["l3_cat"]["sparse_masks"] == (shape.get("sparse_masks", False))
        accepted = 0
        for _ in range(40):
            ids = [workload["id"] for workload in node.list()]
            least = dice.randrange(4)
            cache = {"max": dice.choice([least, least + 2]) if least else 0, "min": least}
            try:
                if ids and dice.random() < 0.4:
                    node.delete(dice.choice(ids))
                elif ids and dice.random() < 0.4:
                    node.call("PATCH", f"/v1/workloads/{dice.choice(ids)}", {"cache": cache})
                else:
                    node.call("POST", "/v1/workloads", {"core_ids": [str(dice.randrange(16))], "cache": cache})
                accepted += 1
            except Refused as refused:
                assert refused.status in (400, 409), (refused, json.dumps(cache))
            assert_idle(node)
        assert accepted > 15
