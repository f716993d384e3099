"""Pools that a configuration or a host does not allow, and what is left of each pool."""

import pytest

from cpu_pools import POOLS, post, put
from harness import DRIFT, Node, refusal, wait_for
from masks import cpus_of
from nrdctl import run

TWO = """[[cpu.pools]]
name = "fast"
cpus = "2-7"
kind = "exclusive"

[[cpu.pools]]
name = "common"
cpus = "{}"
kind = "shared"
"""


@pytest.mark.parametrize("cpus, problem", [
    ("7-8", "pool common: cpus: CPU 7 is also in pool fast"),  # the files alone tell
    ("99", "pool common: CPU 99 does not exist"),  # the node tells
    ("isolated", 'pool common: cpus is "isolated", but the kernel isolates no CPU')])
def test_an_error_of_the_second_pool_names_its_line_at_reload_and_start(cpus, problem):
    with Node(TWO.format("8-9")) as node:
        node.configure(TWO.format(cpus))
        expected = f"nrd.toml:6: cpu.pools: {problem}"
        status, text, _ = node.request("POST", "/v1/config/reload", "{}")
        assert status == 400 and expected in text, text
        assert [pool["cpus"] for pool in node.call("GET", "/v1/cpus/pools")] == ["2-7", "8-9"]
        node.terminate()
        node.spawn()
        assert node.wait_dead() == 78
        assert f"nrd: {node.config}:6: cpu.pools: {problem}" in node.journal()


def test_offline_cpus_of_a_pool_are_a_warning_at_start_and_reload():
    with Node(TWO.format("8-9") + DRIFT, offline="3,9") as node:
        warnings = ["CPU pool fast cannot use CPU 3, which is offline", "CPU pool common cannot use CPU 9, which is offline"]
        assert [text for text in node.health()["warnings"] if text.startswith("CPU pool ")] == warnings
        assert all(f"CPU_POOL_WARNING: {sentence}" in node.journal() for sentence in warnings), node.journal()
        before = node.journal().count("CPU_POOL_WARNING")
        assert node.request("POST", "/v1/config/reload", "{}")[0] == 200
        assert node.journal().count("CPU_POOL_WARNING") == before + 2
        node.sim.control("online 3")
        wait_for(lambda: "fast" not in "".join(node.health()["warnings"]), "the warning to end")


@pytest.mark.parametrize("controllers, reason", [
    (None, "cgroup version 2 is not mounted at /sys/fs/cgroup"),
    ("cpu io memory pids\n", "the cpuset controller is not in cgroup version 2")])
def test_without_cpusets_a_command_runs_by_affinity_and_the_rest_is_refused(controllers, reason):
    with Node(POOLS, sockets=1, cpus=2, start=False) as node:
        node.sim.run_inside(["mount", "-t", "tmpfs", "simulated", "/sys/fs/cgroup"])
        if controllers:
            put(node, "/sys/fs/cgroup/cgroup.controllers", controllers)
        node.start()
        for target in ({"unit": "feed.service"}, {"cgroup": "/jobs"}):
            refused = refusal(post, node, {"cpu": {"count": 1}, **target})
            field, = target
            assert refused.status == 422 and f"/{field}: {reason}" in refused.text, refused.text
        assert node.list() == []
        shows = "import json, os, sys; print(os.sched_getaffinity(0)); sys.stdout.flush(); sys.stdin.read()"
        done = run(node, "--pool", "fast", "--count", "1", "--", "/usr/bin/python3", "-c", shows, stdin=-3)
        assert (done.returncode, done.stdout) == (0, "{1}\n"), done
        with open(node.config, "a") as file:
            file.write('[cpu]\nconfine = "slices"\n')
        status, text, _ = node.request("POST", "/v1/config/reload", "{}")
        assert status == 400 and "cpu.confine" in text and reason in text, text


LEVEL = """
[[cpu.pools]]
name = "fast"
cpus = "2-7,10-13"
kind = "exclusive"
threads = "{}"
within = "!{}"
"""


@pytest.mark.parametrize("threads, step, largest", [
    ("any", 1, {"machine": 9, "package": 5, "node": 5, "l3": 5, "core": 2}),
    ("one", 1, {"machine": 4, "package": 2, "node": 2, "l3": 2, "core": 1}),
    ("all", 2, {"machine": 8, "package": 4, "node": 4, "l3": 4, "core": 2})])
def test_the_largest_request_of_each_level_is_granted_and_no_larger_one(threads, step, largest):
    with Node(LEVEL.format(threads, "machine"), threads=2) as node:
        post(node, {"cpu": {"cpus": "2-3" if threads == "all" else "2"}})
        for level, number in largest.items():
            node.configure(LEVEL.format(threads, level))
            assert node.request("POST", "/v1/config/reload", "{}")[0] == 200
            shown = node.call("GET", "/v1/cpus/pools/fast")["largest"]
            assert shown[level] == number and ("machine" in shown) == (level == "machine"), (level, shown)
            refused = refusal(post, node, {"cpu": {"count": number + step}})
            assert refused.status in (400, 409) and "/cpu/count" in refused.text, level
            workload = post(node, {"cpu": {"count": number}})
            granted = cpus_of(workload["cpu"]["exclusive"])
            zones = [cpus_of(zone["cpus"]) for zone in node.call("GET", "/v1/cpus")["zones"] if zone["level"] == level]
            assert len(granted) == number and (level == "machine" or any(granted <= zone for zone in zones)), (level, granted)
            node.delete(workload["id"])
