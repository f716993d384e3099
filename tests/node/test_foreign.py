"""A group of others that is there before nrd is: it holds a class, and libpqos, which wants all of them, does not start."""

import json

import pytest
from harness import Node, Refused, bits, wait_for

MINE = "/sys/fs/resctrl/theirs"


def with_group_of_others(**shape):
    node = Node("[drift]\ninterval_seconds = 1\n", start=False, closids=4, **shape)
    try:
        node.sim.run_inside(["mkdir", MINE])
        node.sim.write(MINE + "/schemata", ("L3CODE:0=3\nL3DATA:0=3\n" if shape.get("cdp") else "L3:0=3\n"))
        node.sim.write(MINE + "/cpus_list", "6-7\n")
        node.start()
    except BaseException:
        node.end()
        raise
    return node


@pytest.mark.parametrize("shape", [{}, {"cdp": True}], ids=["plain", "cdp"])
def test_it_is_left_alone_and_accounted_and_workloads_are_served_beside_it(shape):
    with with_group_of_others(**shape) as node:
        assert "RDT_DIRECT" in node.journal()
        theirs = node.hardware()["theirs"]
        caches = node.call("GET", "/v1/node")["caches"]
        assert caches[0]["foreign"] == [{"group": "theirs", "ways": {"mask": "3", "ways": 2}}]
        assert node.call("GET", "/v1/node")["classes"] == {"total": 3, "used": 2}
        created = node.create("4-5", 2, 2)
        group = node.hardware()[created["cos_name"]]
        assert group["cpus"] == "4-5" and group["L3"]["0"] == created["granted_ways"]["0"]["mask"]
        assert bits(group["L3"]["0"]) == 2 and int(group["L3"]["0"], 16) & 3 == 0
        if shape:
            assert group["code"] == group["L3"]
            node.call("PATCH", f"/v1/workloads/{created['id']}", {"cache": {"code": 1}})
            apart = node.hardware()[created["cos_name"]]
            assert (bits(apart["code"]["0"]), bits(apart["L3"]["0"])) == (1, 1)
            node.call("PATCH", f"/v1/workloads/{created['id']}", {"cache": {"code": 0}})
        with pytest.raises(Refused, match=r"CPU list \[6\] has been assigned"):
            node.create("6", 1, 1)
        node.create("0", 1, 1)
        with pytest.raises(Refused):  # three classes: the root's and two of workloads
            node.create("1", 1, 1)
        node.kill9()
        node.start()
        assert node.hardware()[created["cos_name"]] == group and node.hardware()["theirs"] == theirs
        for workload in node.list():
            assert workload["status"] == "Successful"
            node.delete(workload["id"])
        assert node.hardware()["theirs"] == theirs
        assert node.hardware()["/"]["cpus"] == "0-5,8-15" and node.hardware()["/"]["L3"] == {"0": "7ff", "1": "7ff"}


def test_a_write_that_the_kernel_refuses_leaves_nothing():
    with with_group_of_others() as node:
        before = node.plain()
        for number in range(1, 4):  # two masks, and both CPUs at once
            node.sim.control("reset")
            node.sim.control(f"fault write {number} errno EIO")
            status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}})
            assert status == 500, (number, text)
            assert node.plain() == before and json.loads(node.request("GET", "/v1/workloads")[1]) == []


def test_when_it_has_gone_libpqos_serves():
    with with_group_of_others() as node:
        created = node.create("4-5", 2, 2)
        node.sim.run_inside(["rmdir", MINE])
        wait_for(lambda: node.call("GET", "/v1/node")["classes"]["total"] == 4, "the class to be found")
        assert node.list()[0]["status"] == "Successful"
        node.delete(created["id"])
        masks, classes = node.pqos_show()
        assert set(masks.values()) == {0x7ff} and set(classes.values()) == {"COS0"}
