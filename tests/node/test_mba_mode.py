"""rdt.mba_mode and --force-config: resctrl is mounted as the configuration wants it, or nrd does not start."""

import pytest
from harness import DRIFT, Node, wait_for

MBPS = '[rdt]\nmba_mode = "mbps"\n' + DRIFT
LIMITED = {"core_ids": ["4"], "rdt": {"cache": {"max": 2, "min": 2}, "mba": {"percentage": 50}}}


def intel(config="", **more):
    return Node(config, mounts=True, mb_unit="percent", **more)


def configure(node, text):
    node.configure(text)


@pytest.mark.parametrize("shape, options", [({}, "mba_MBps"), ({"cdp": True}, "mba_MBps,cdp")], ids=["plain", "cdp"])
def test_the_other_mode_is_refused_and_forced_once(shape, options):
    with intel(MBPS, start=False, **shape) as node:
        said = node.failure_to_start()
        assert 'rdt.mba_mode is "mbps"' in said and "--force-config" in said and "with mba_MBps" in said, said
        assert node.mount_calls() == []
        node.flags = ["--force-config"]
        node.start()
        assert node.mount_calls() == ["umount ", f"mount {options}"] and "RDT_MOUNTED" in node.journal()
        assert node.call("GET", "/v1/mba")["mba_request"] == "mbps"
        created = node.call("POST", "/v1/workloads",
                            {"core_ids": ["4"], "rdt": {"cache": {"max": 2, "min": 2}, "mba": {"mbps": 5000}}})
        assert node.hardware()[created["cos_name"]]["MB"]["0"] == "5000"
        node.kill9()
        node.start()  # it is as it is wanted, so nothing is mounted, whatever the flag
        assert len(node.mount_calls()) == 2 and node.list()[0]["status"] == "Successful"


def test_workloads_of_the_other_mode_are_kept_and_named():
    with intel() as node:
        limited = node.call("POST", "/v1/workloads", LIMITED)
        plain = node.create("5", 1, 1)
        node.kill9()
        configure(node, MBPS)
        node.flags = ["--force-config"]
        node.start()
        assert {w["id"]: w["status"] for w in node.list()} == {limited["id"]: "Failed", plain["id"]: "Successful"}
        assert f"workload {limited['id']} was granted in a unit that resctrl no longer uses" in node.health()["hardware_problem"]
        group = node.hardware()[limited["cos_name"]]
        assert group["L3"]["0"] == limited["granted_ways"]["0"]["mask"] and group["MB"]["0"] == "4294967295"
        node.call("PATCH", f"/v1/workloads/{limited['id']}", {"rdt": {"mba": {"mbps": 3000}}})
        wait_for(lambda: node.health()["status"] == "ok", "the problem to be gone")
        assert node.hardware()[limited["cos_name"]]["MB"]["0"] == "3000"


def test_a_group_of_others_is_not_unmounted():
    with intel(MBPS, start=False, flags=["--force-config"]) as node:
        node.sim.run_inside(["mkdir", "/sys/fs/resctrl/theirs"])
        said = node.failure_to_start()
        assert "foreign group theirs" in said and node.mount_calls() == [], said
        assert "theirs" in node.hardware()


def test_a_second_mount_is_reported(monkeypatch):
    monkeypatch.setenv("NRD_RESCTRL_BUSY", "1")
    with intel(MBPS, start=False, flags=["--force-config"]) as node:
        said = node.failure_to_start()
        assert "mount it there with these options" in said, said


def test_a_refused_mode_leaves_resctrl_mounted_as_before(monkeypatch):
    monkeypatch.setenv("NRD_RESCTRL_NO_MBPS", "1")
    with intel(MBPS, start=False, flags=["--force-config"]) as node:
        said = node.failure_to_start()
        assert "Invalid argument" in said and "mbm_local_bytes" in said and "unset rdt.mba_mode" in said, said
        assert node.mount_calls() == ["umount ", "mount mba_MBps", "mount "]


def test_without_bandwidth_allocation_only_percent_is_accepted():
    with Node('[rdt]\nmba_mode = "percentage"\n', mb=False) as node:
        assert node.health()["status"] == "ok"
    with intel(MBPS, start=False, mb=False) as node:
        assert "allocates no memory bandwidth" in node.failure_to_start()
    with Node(MBPS, start=False, mb_unit="amd") as node:
        node.start()
        assert node.call("GET", "/v1/mba")["mba_unit"] == "GB/s / 8"


def test_an_unknown_mode_is_refused_with_the_valid_ones():
    with Node('[rdt]\nmba_mode = "MBps"\n', start=False) as node:
        done = node.run_daemon("--check-config")
        assert done.returncode == 78 and 'rdt.mba_mode: expected "as-mounted", "percentage" or "mbps"' in done.stderr
