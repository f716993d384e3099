"""resctrl belongs to the host: in a mount namespace of its own, as nrd.service has one, nrd neither mounts nor unmounts it."""

import json

import pytest
from harness import DRIFT, Node, process, refusal, wait_for
from mounted_nodes import HostNode, ServiceNode

CURE = "systemctl start sys-fs-resctrl.mount"


def is_asked_to_mount(node):
    return any(CURE in warning for warning in node.health()["warnings"])


def test_an_unmounted_tree_is_reported_and_not_mounted():
    with ServiceNode() as node:
        node.start()
        assert node.mount_calls() == []
        assert is_asked_to_mount(node), node.health()
        assert any(CURE in sentence for sentence in node.call("GET", "/v1/node")["capabilities"]["missing"])
        assert CURE in node.journal()
        assert CURE in refusal(node.create, "4", 2, 2).text
        assert node.mount_calls() == []


def test_a_tree_that_the_host_mounts_later_is_used_without_a_restart():
    with ServiceNode() as node:
        node.start()
        node.mount()
        wait_for(lambda: not is_asked_to_mount(node), "the tree to be found")
        created = node.create("4", 2, 2)
        assert created["status"] == "Successful" and node.mount_calls() == []


def test_workloads_survive_a_restart_of_the_mount_unit():
    with ServiceNode() as node:
        node.mount()
        node.start()
        id = node.create("4", 2, 2)["id"]
        node.unmount()
        wait_for(lambda: CURE in node.health()["hardware_problem"], "the missing tree to be noticed")
        assert node.health()["status"] == "degraded" and node.mount_calls() == []
        node.mount()
        wait_for(lambda: node.health()["status"] == "ok", "the tree to be found again")
        node.assert_consistent({id})


@pytest.mark.parametrize("cache", [{"max": 2, "min": 2}, None], ids=["with ways", "without"])
@pytest.mark.parametrize("config", [DRIFT, "[drift]\ninterval_seconds = 3600\n"], ids=["looks", "never"])
def test_frequencies_are_granted_while_the_tree_is_unmounted(config, cache):
    with ServiceNode(config, cpufreq="intel_pstate") as node, process() as sleeper:
        node.mount()
        node.start()
        held = [node.call("POST", "/v1/workloads", {"core_ids": ["4-5"], "cache": cache, "pstate": {"max_ratio": 20}})]
        if cache:
            held.append(node.call("POST", "/v1/workloads", {"task_ids": [str(sleeper.pid)], "cache": cache}))
        node.unmount()
        if config == DRIFT:
            wait_for(lambda: is_asked_to_mount(node), "the missing tree to be noticed")
        frequency = {"core_ids": ["6"], "pstate": {"max_ratio": 25}}
        assert node.call("POST", "/v1/workloads?dry_run=true", frequency)["changes"]
        made = node.call("POST", "/v1/workloads", frequency)
        assert made["status"] == "Successful" and node.sim.freq()["6"]["max"] == 2_500_000
        assert CURE in refusal(node.create, "8", 2, 2).text
        node.delete(made["id"])
        assert node.sim.freq()["6"]["max"] == 3_500_000 and node.mount_calls() == []
        node.mount()
        assert node.create("8", 2, 2)["status"] == "Successful"
        if config == DRIFT:
            wait_for(lambda: node.health()["status"] == "ok" and not is_asked_to_mount(node), "the tree to be found again")
            assert {each["status"] for each in node.list()} == {"Successful"}
        assert [each["id"] for each in node.list()][:len(held)] == [each["id"] for each in held]
        if cache and config == DRIFT:
            assert sleeper.pid in node.hardware()[held[1]["cos_name"]]["tasks"]


@pytest.mark.parametrize("stop", [lambda node: None, ServiceNode.kill9_and_start], ids=["running", "restarted"])
def test_a_workload_ends_with_its_tasks_while_the_tree_is_unmounted(stop):
    with ServiceNode(DRIFT + "[tasks]\ninterval_seconds = 1\n") as node, process() as short, process() as long:
        node.mount()
        node.start()
        for each in short, long:
            node.call("POST", "/v1/workloads", {"task_ids": [str(each.pid)], "cache": {"max": 2, "min": 2}})
        node.unmount()
        wait_for(lambda: is_asked_to_mount(node), "the missing tree to be noticed")
        stop(node)
        short.kill()
        short.wait()
        wait_for(lambda: [each["task_ids"] for each in node.list()] == [[str(long.pid)]], "the end of the first workload")
        node.mount()
        wait_for(lambda: node.health()["status"] == "ok", "the tree to be found again")
        assert long.pid in node.hardware()[node.list()[0]["cos_name"]]["tasks"]


@pytest.mark.parametrize("flags", [[], ["--force-config"]], ids=["plain", "forced"])
def test_another_mode_takes_a_drop_in_for_the_mount_unit(flags):
    with ServiceNode('[rdt]\nmba_mode = "mbps"\n', flags=flags) as node:
        node.mount()
        said = node.failure_to_start()
        assert "resctrl is mounted with the other unit" in said and node.mount_calls() == [], said
        for needed in ("/etc/systemd/system/sys-fs-resctrl.mount.d/", '"[Mount]"',
                       '"Options=nosuid,nodev,noexec,relatime,mba_MBps"', "systemctl restart sys-fs-resctrl.mount"):
            assert needed in said, said
        node.unmount()
        said = node.failure_to_start()
        assert "resctrl is not mounted" in said and ",mba_MBps" in said and node.mount_calls() == [], said


def test_started_by_hand_in_the_namespace_of_the_host_libpqos_mounts():
    with HostNode() as node:
        node.start()
        assert [call.split()[0] for call in node.mount_calls()][:1] == ["mount"]


def test_a_node_without_rdt_does_not_ask_for_a_mount():
    with Node(DRIFT, rdt=False) as node:
        assert CURE not in json.dumps(node.health()) + node.journal()


def test_the_simulated_node_is_its_own_host():
    with HostNode() as node:
        own, init = (node.sim.run_inside(["cat", f"/proc/{pid}/mountinfo"]).stdout for pid in ("self", "1"))
        assert own == init
