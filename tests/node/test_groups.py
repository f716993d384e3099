"""Groups of the configuration beside workloads: the operating system's CPUs, the infrastructure, who may share."""

import os
import subprocess

import pytest

from harness import Node, Refused, wait_for

GROUPS = """
[cache_pools]
infra = 2
max_allowed_shared = 2
[os]
cpus = "0"
[infra]
cpus = "2-3"
[drift]
interval_seconds = 1
"""


def group(node, name):
    shown = node.hardware()[name]
    return shown["L3"], shown["cpus"]


def test_the_kernel_and_pqos_show_the_infrastructure_in_its_class():
    with Node(config=GROUPS) as node:
        assert group(node, "COS1") == ({"0": "600", "1": "7ff"}, "2-3")
        assert group(node, "/")[0] == {"0": "1ff", "1": "7ff"}
        masks, classes = node.pqos_show()
        assert masks[0, "COS1"] == 0x600 and {cpu for cpu, name in classes.items() if name == "COS1"} == {2, 3}
        shown = node.call("GET", "/v1/node")
        assert shown["groups"] == {"os_cpus": "0", "infra_cpus": "2-3", "infra_processes": [], "max_allowed_shared": 2}
        assert [cache["infra"]["mask"] for cache in shown["caches"]] == ["600", "0"]
        cache = node.call("GET", "/v1/cache/l3/0")
        assert cache["available_cpus"] == "1,4-7" and cache["available_ways"] == "1fe"
        node.terminate()
        node.configure("")
        node.start()
        assert "COS1" not in node.hardware()
        assert group(node, "/") == ({"0": "7ff", "1": "7ff"}, "0-15")


def test_workloads_and_others_keep_away_from_groups():
    with Node(config=GROUPS) as node:
        for cpu, owner in (("0", r"operating system, by the configuration \(os.cpus\)"),
                           ("3", r"infrastructure, by the configuration \(infra.cpus\)")):
            with pytest.raises(Refused, match=rf"400: .* CPU list \[{cpu}\] has been assigned to the {owner}"):
                node.create(cpu, 1, 1)
        assert node.create("1,4", 2, 2)["cos_name"] != "COS1"
        node.sim.write("/sys/fs/resctrl/cpus_list", "0,2-3,5-15\n")
        node.sim.write("/sys/fs/resctrl/COS1/schemata", "L3:0=c0\n")
        wait_for(lambda: group(node, "COS1") == ({"0": "600", "1": "7ff"}, "2-3"), "the infrastructure to be put back")


def test_ways_of_an_infrastructure_that_goes_offline_return_to_the_os():
    with Node(config=GROUPS) as node:
        for _ in range(3):
            for cpu in "2", "3":
                node.sim.control(f"offline {cpu}")
            wait_for(lambda: "COS1" not in node.hardware() and group(node, "/")[0] == {"0": "7ff", "1": "7ff"}, "all ways of the OS")
            for cpu in "2", "3":
                node.sim.control(f"online {cpu}")
            wait_for(lambda: "COS1" in node.hardware() and group(node, "COS1") == ({"0": "600", "1": "7ff"}, "2-3"), "the infrastructure")
            assert group(node, "/")[0] == {"0": "1ff", "1": "7ff"}
        assert "CLAIM_DROPPED" not in node.journal()


def test_processes_of_the_infrastructure_are_followed():
    word = f"nrd-test-{os.getpid()}"  # of this node alone: processes are the host's

    def a_process():
        return subprocess.Popen(["sh", "-c", f": {word}; while :; do sleep 60; done"], start_new_session=True)

    def infra(node):
        return set(node.hardware()["COS1"]["tasks"])

    config = f"[cache_pools]\ninfra = 2\n[infra]\nprocesses = [\"sh -c : {word};*\"]\n[tasks]\ninterval_seconds = 1\n"
    first = a_process()
    second = None
    try:
        with Node(config=config) as node:
            assert first.pid in infra(node)
            assert group(node, "COS1")[0] == {"0": "600", "1": "600"}
            assert node.call("GET", "/v1/node")["groups"]["infra_processes"] == [first.pid]
            second = a_process()
            wait_for(lambda: second.pid in infra(node), "the newcomer to be found")
            body = {"task_ids": [str(second.pid)], "cache": {"max": 1, "min": 1}}
            assert node.request("POST", "/v1/workloads", body)[0] == 409
            node.terminate()
            node.configure("")
            node.start()
            assert "COS1" not in node.hardware()
    finally:
        for process in filter(None, (first, second)):
            os.killpg(process.pid, 9)
            process.wait()


def test_a_users_process_is_not_of_the_infrastructure_whatever_it_is_called():
    word = f"nrd-test-{os.getpid()}"
    config = f"[cache_pools]\ninfra = 2\n[infra]\nprocesses = [\"{word}*\"]\nusers = %s\n[tasks]\ninterval_seconds = 1\n"

    def called_so(*ids):
        """A process of this name with these real and effective user ids."""
        return subprocess.Popen(["setpriv", *ids, "--clear-groups", "bash", "-c", f"exec -a {word} sleep 1000"])

    def infra(node):
        return set(node.call("GET", "/v1/node")["groups"]["infra_processes"])

    roots, users = called_so(), called_so("--reuid", "65534")
    setuid, other = called_so("--ruid", "65534"), called_so("--reuid", "1")
    try:
        with Node(config=config % '["root"]') as node:
            wait_for(lambda: infra(node) == {roots.pid}, "root's alone")
            assert set(node.hardware()["COS1"]["tasks"]) == {roots.pid}
            late = called_so("--reuid", "65534")
            last = called_so()
            wait_for(lambda: infra(node) == {roots.pid, last.pid}, "root's newcomer")
            body = {"task_ids": [str(users.pid)], "cache": {"max": 1, "min": 1}}
            assert node.request("POST", "/v1/workloads", body)[0] == 201
            for process in (late, last):
                process.kill()
                process.wait()
        with Node(config=config % '["daemon"]') as node:
            wait_for(lambda: infra(node) == {other.pid}, "those of the user that is named")
        with Node(config=config % '["nobody-of-this-name"]', start=False) as node:
            refused = node.run_daemon()
            assert refused.returncode == 78 and "infra.users: user nobody-of-this-name not found" in refused.stderr, refused.stderr
    finally:
        for process in (roots, users, setuid, other):
            process.kill()
            process.wait()


def test_the_shared_class_is_full_at_its_limit():
    with Node(config=GROUPS) as node:
        question = {"max_cache": 0, "min_cache": 0}
        first, _ = (node.create(cpu, 0, 0)["id"] for cpu in ("4", "5"))
        with pytest.raises(Refused, match="409: .*shared class is full \\(limit: 2 workloads\\)"):
            node.create("6", 0, 0)
        assert set(node.call("POST", "/v1/hospitality", question)["score"]["l3"].values()) == {0}
        node.delete(first)
        assert set(node.call("POST", "/v1/hospitality", question)["score"]["l3"].values()) == {100}
        node.create("6", 0, 0)
