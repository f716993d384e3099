"""Memory bandwidth: MB lines of a kernel that uses percent, MB/s, or AMD's eighths of GB/s."""

import contextlib

import pytest
from fault_scenarios import assert_one_line, refusals_of_each_write
from harness import Node, refusal, wait_for
from nrdctl import nrdctl

CONFIG = "[drift]\ninterval_seconds = {drift}\n"
SMALL = {"closids": 4, "sockets": 2, "cpus": 8}


def limited(unit="percent", drift=0, **more):
    return Node(CONFIG.format(drift=drift), mb_unit=unit, **{**SMALL, **more})


def create(node, cpus, mba, most=2, least=2):
    return node.call("POST", "/v1/workloads",
                     {"core_ids": [cpus], "rdt": {"cache": {"max": most, "min": least}, "mba": mba}})


def limits(node, name="COS2"):
    return {cache: int(value) for cache, value in node.hardware()[name]["MB"].items()}


def image(node):
    return {name: (group["L3"], group["MB"], group["cpus"]) for name, group in node.hardware().items()}


def refused(node, cpus, mba, **more):
    error = refusal(create, node, cpus, mba, **more)
    assert_one_line(error.text)
    assert error.status in (400, 422), error
    return error.text.removeprefix("Failed to validate workload. Reason: ").rstrip("\n")


def test_a_guarantee_is_limited_in_percent_and_no_longer_after_its_deletion():
    with limited() as node:
        before = image(node)
        workload = create(node, "0-1", {"percentage": 45})
        assert workload["rdt"]["mba"] == {"percentage": 45} and workload["granted_bandwidth"] == {"0": {"percentage": 50}}
        assert limits(node) == {"0": 50, "1": 100}
        assert workload["status"] == "Successful"
        node.kill9_and_start()
        assert node.call("GET", "/v1/workloads/1") == workload and limits(node) == {"0": 50, "1": 100}
        node.reboot()
        assert limits(node) == {"0": 50, "1": 100}
        patched = node.call("PATCH", "/v1/workloads/1", {"rdt": {"mba": {"percentage": 20}}})
        assert patched["rdt"]["cache"] == {"max": 2, "min": 2} and limits(node) == {"0": 20, "1": 100}
        assert node.call("PATCH", "/v1/workloads/1", {"rdt": {"mba": None}})["rdt"]["mba"] == {}
        assert limits(node) == {"0": 100, "1": 100}
        node.call("PATCH", "/v1/workloads/1", {"rdt": {"mba": {"percentage": 20}}})
        node.delete("1")
        assert image(node) == before


def test_impossible_limits_are_refused_with_rmds_text():
    with limited() as node:
        before = image(node)
        assert refused(node, "0", {"mbps": 5000}) == "Please provide MBA in Percentage"
        only = "MBA only supported for Guaranteed Request and not for BestEffort and Shared"
        assert refused(node, "0", {"percentage": 50}, most=3, least=1) == only
        assert refused(node, "0", {"percentage": 50}, most=0, least=0) == only
        assert refused(node, "0", {"percentage": 100}, most=0, least=0) == "MBA forbidden for shared group"
        assert refused(node, "0", {"percentage": 101}).startswith("MBA values in should range from 1 to 100")
        assert refused(node, "0", {"percentage": 50, "mbps": 5000}) == "Please provide MBA in Percentage"
        status, text, _ = node.request("POST", "/v1/workloads", {"core_ids": ["0"], "rdt": {"mba": {"percentage": 50}}})
        assert (status, text) == (400, "Failed to validate workload. Reason: Need to provide both cache and mba for better "
                                       "performance\n")
        assert image(node) == before and node.list() == []
        assert create(node, "0", {"percentage": 100}, most=3, least=1)["pool"] == "besteffort"
    with limited(mb=False) as node:
        assert refused(node, "0", {"percentage": 50}) == "This machine supports only cache and not MBA"
        assert refusal(create, node, "0", {"percentage": 50}).status == 422


def test_limits_in_mbps():
    with limited("mbps") as node:
        assert node.call("GET", "/v1/mba")["mba_request"] == "mbps"
        assert node.call("GET", "/v1/node")["capabilities"]["mba"]["mba_unit"] == "MB/s"
        assert refused(node, "0", {"percentage": 50}) == "Please provide MBA in Mbps"
        assert refused(node, "0", {"percentage": 50, "mbps": 5000}) == "Please provide MBA in Mbps"
        workload = create(node, "4", {"mbps": 5001})
        assert workload["granted_bandwidth"] == {"1": {"mbps": 5010}}
        assert limits(node)["1"] == 5010
        node.delete("1")
        assert "COS2" not in node.hardware()


def test_nrdctl_has_a_column_for_limits_if_there_are_any():
    with limited() as node:
        def listed():
            return nrdctl(node, "workload", "list").splitlines()

        node.create("0", 1, 1)
        assert "BANDWIDTH" not in listed()[0]
        id = create(node, "4", {"percentage": 50})["id"]
        head, free, held = listed()
        at = head.index("BANDWIDTH")
        assert [free[at:].split()[0], held[at:].split()[0]] == ["-", "50%"]
        assert {line.index("Successful") for line in (free, held)} == {head.index("STATUS")}
        node.delete(id)
        assert "BANDWIDTH" not in listed()[0]


def test_limits_on_amd_are_eighths_of_a_gigabyte():
    with limited("amd") as node:
        assert node.call("GET", "/v1/mba")["mba_unit"] == "GB/s / 8"
        assert refused(node, "0", {"percentage": 50}) == "Please provide MBA in Mbps"
        assert "1 to 256000" in refused(node, "0", {"mbps": 256001})
        assert create(node, "0", {"mbps": 5001})["granted_bandwidth"] == {"0": {"mbps": 5125}}
        assert limits(node)["0"] == 41
        node.delete("1")
        assert "COS2" not in node.hardware()


def test_limits_do_not_depend_on_that_of_the_root_class():
    """With mba_MBps neither, which the options of the mount say, that the simulated node does not have."""
    with limited("amd", start=False) as node:
        node.sim.run_inside(["sh", "-c", "echo 'MB:0=8;1=8' > /sys/fs/resctrl/schemata"])
        node.start()
        assert create(node, "0", {"mbps": 5000})["granted_bandwidth"] == {"0": {"mbps": 5000}}


def test_percent_is_never_written_where_numbers_are_mbps():
    with limited(drift=1) as node:
        create(node, "0", {"percentage": 50})
        node.sim.control("remount mbps")
        wait_for(lambda: node.health()["status"] == "degraded", "the report")
        assert "no longer uses" in node.health()["hardware_problem"]
        assert node.list()[0]["status"] == "Failed"
        assert set(limits(node).values()) == {4294967295}
        node.delete("1")
        wait_for(lambda: node.health()["status"] == "ok", "the end of it")
        assert "COS2" not in node.hardware()


def test_a_remount_just_before_a_request_is_seen():
    with limited() as node:
        node.sim.control("remount mbps")
        assert refused(node, "0", {"percentage": 50}) == "Please provide MBA in Mbps"
        node.sim.control("remount percent")
        assert refused(node, "0", {"mbps": 5000}) == "Please provide MBA in Percentage"
        assert create(node, "0", {"percentage": 50})["granted_bandwidth"] == {"0": {"percentage": 50}}


def test_foreign_changes_are_reverted():
    with limited(drift=1) as node:
        create(node, "0", {"percentage": 50})
        node.sim.run_inside(["sh", "-c", "echo MB:0=80 > /sys/fs/resctrl/COS2/schemata"])
        wait_for(lambda: limits(node)["0"] == 50, "the repair")


SCENARIOS = {
    "create": (False, lambda node: create(node, "0-1", {"percentage": 50})),
    "delete": (True, lambda node: node.delete("1")),
    "patch": (True, lambda node: node.call("PATCH", "/v1/workloads/1", {"rdt": {"mba": {"percentage": 30}}})),
}


@pytest.mark.parametrize("fault", ["errno EINVAL", "lie"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_write_failing_leaves_all_as_it_was_or_as_asked_for(name, fault):
    has_workload, request = SCENARIOS[name]

    @contextlib.contextmanager
    def node_before():
        with limited() as node:
            if has_workload:
                create(node, "0-1", {"percentage": 50})
            node.sim.control("reset")
            yield node

    refusals = refusals_of_each_write(node_before, request, image, fault)
    assert refusals >= 1, refusals


def test_a_policy_limits_bandwidth():
    policy = "[default.thrifty.cache]\nmax = 1\nmin = 1\n[default.thrifty.mba]\npercentage = 50\n"
    with Node("", start=False, mb_unit="percent", **SMALL) as node:
        node.configure(f'[policy]\nfile = "{node.folder}/policy.toml"\n')
        with open(f"{node.folder}/policy.toml", "w") as file:
            file.write(policy)
        node.start()
        workload = node.call("POST", "/v1/workloads", {"core_ids": ["0"], "policy": "thrifty"})
        assert workload["rdt"]["mba"] == {"percentage": 50} and limits(node)["0"] == 50
        assert node.call("GET", "/v1/cache/l3/0")["available_policy"]["thrifty"] > 0


# CPUs 0 and 1, 2 and 3, … are threads of one core.
@pytest.mark.parametrize("mode, cpus, mba, siblings", [
    ("max", "1-2", {"percentage": 50}, "0,3"),
    ("max", "2-3", {"percentage": 50}, None),
    ("max", "2-4", {"percentage": 50}, "5"),
    ("max", "1-2", {"percentage": 100}, None),
    ("max", "1-2", {"percentage": 91}, None),  # in steps of 10
    ("per-thread", "1-2", {"percentage": 50}, None),
    ("none", "1-2", {"percentage": 50}, None)])
def test_a_limit_that_slows_others_threads_is_said(mode, cpus, mba, siblings):
    with limited(thread_throttle=mode, threads=2, cpus=16) as node:
        has = node.call("GET", "/v1/node")["capabilities"]["mba"]
        assert has["thread_throttle_mode"] == (None if mode == "none" else mode)
        assert ("other threads of its core" in (has["note"] or "")) == (mode == "max")
        workload = create(node, cpus, mba)
        assert workload.get("throttled_siblings") == siblings
        assert node.call("GET", "/v1/workloads/1").get("throttled_siblings") == siblings


def test_threads_that_go_offline_are_slowed_no_longer():
    with limited(thread_throttle="max", threads=2, cpus=16, drift=1) as node:
        create(node, "1-2", {"percentage": 50})
        node.sim.write("/sys/devices/system/cpu/cpu3/online", "0\n")
        wait_for(lambda: node.call("GET", "/v1/workloads/1").get("throttled_siblings") == "0", "the next look")


def reboot_as(node, **shape):
    node.kill9()
    node.sim.stop()
    node.power_on(**SMALL, **shape)
    node.start()


def test_a_limit_that_the_node_no_longer_has_is_rounded_up_as_a_new_one():
    with limited() as node:
        id = create(node, "0-1", {"percentage": 30})["id"]
        other = node.create("4", 2, 2)["id"]
        reboot_as(node, mb_unit="percent", mb_step=20)
        assert limits(node)["0"] == 40 and node.health()["status"] == "ok"
        assert node.call("GET", f"/v1/workloads/{id}")["granted_bandwidth"] == {"0": {"percentage": 40}}
        node.delete(other)
        reboot_as(node, mb_unit="percent")
        assert limits(node)["0"] == 40 and node.list()[0]["status"] == "Successful"


def test_a_kernel_that_no_longer_limits_bandwidth_is_named():
    with limited() as node:
        id = create(node, "0-1", {"percentage": 30})["id"]
        reboot_as(node, mb=False)
        assert node.list()[0]["status"] == "Failed"
        assert f"the memory bandwidth of workload {id} is not limited" in node.health()["hardware_problem"]
        assert node.call("PATCH", f"/v1/workloads/{id}", {"rdt": {"mba": None}})["status"] == "Successful"
        assert node.health()["status"] == "ok"
