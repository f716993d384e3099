"""CPUs, CPU time and memory of units, scopes and cgroups. Cgroups and systemd are simulated."""

import os
import subprocess
import time

import pytest

from cpu_host import FEED, PATHS, POOLS, TARGETS, Host, ask, assert_refused, host, share  # noqa: F401
from cpu_pools import patch, post
from harness import refusal, wait_for
from nrdctl import CLEAN, nrdctl, run, start_run
from systemd import bits_of


@pytest.mark.parametrize("target", TARGETS)
def test_a_unit_or_cgroup_gets_cpus_and_later_what_it_had(host, target):
    before = host.traces()
    workload = post(host.node, ask(target))
    assert workload["cpu"]["enforced"] == {"by": target, "name": list(TARGETS[target].values())[0], "effective": workload["cpu"]["cpus"]}
    assert host.cpus(PATHS[target]) == workload["cpu"]["cpus"] == "2-3"
    patch(host.node, workload["id"], {"cpu": {"count": 3}})
    assert host.cpus(PATHS[target]) == "2-4"
    host.node.delete(workload["id"])
    assert host.traces() == before


@pytest.mark.parametrize("target", TARGETS)
def test_a_cpu_that_was_offline_is_given_back_as_well(host, target):
    before = host.traces()
    host.sim.control("offline 12")
    workload = post(host.node, ask(target))
    host.node.delete(workload["id"])
    host.sim.control("online 12")
    assert host.traces() == before


def narrow_unit(host):
    def limit(unit, last):
        host.systemd.SetUnitProperties(unit, True, [("AllowedCPUs", ("ay", bits_of(range(last + 1))))])

    limit("system.slice", 6)
    limit("feed.service", 11)
    return "feed.service", FEED


def narrow_cgroup(host):
    os.mkdir(host.cgroup("/outer"))
    host.write("/outer", "cpuset.cpus", "0-6")
    host.write("/outer", "cgroup.subtree_control", "+cpuset +cpu +memory")
    os.mkdir(host.cgroup("/outer/jobs"))
    host.write("/outer/jobs", "cgroup.procs", str(host.sleeper()))
    host.write("/outer/jobs", "cpuset.cpus", "0-11")
    return "/outer/jobs", "/outer/jobs"


@pytest.mark.parametrize("target, narrow", [("unit", narrow_unit), ("cgroup", narrow_cgroup)])
def test_a_list_with_more_cpus_than_the_cgroup_above_has_is_given_back(host, target, narrow):
    name, path = narrow(host)
    assert (host.read(path, "cpuset.cpus"), host.cpus(path)) == ("0-11", "0-6")
    workload = post(host.node, {**ask(target), target: name})
    assert host.cpus(path) == "2-3"
    host.node.delete(workload["id"])
    assert (host.read(path, "cpuset.cpus"), host.cpus(path)) == ("0-11", "0-6")


def test_a_unit_that_is_unknown_for_a_while_gets_back_what_it_had(host):
    before = host.traces()
    workload = post(host.node, {**ask("unit"), "cpu": [{"pool": "fast", "count": 2}, {"pool": "common", "request_milli": 500}]})
    feed = host.systemd.units.pop("feed.service")
    stored = host.node.stored()
    time.sleep(2.5)  # two drift checks
    assert host.node.stored() == stored
    host.systemd.units["feed.service"] = feed
    wait_for(lambda: host.node.list()[0]["status"] == "Successful", "the unit")
    host.node.delete(workload["id"])
    assert host.traces() == before


@pytest.mark.parametrize("first, second", [
    ({"cgroup": "/jobs"}, {"cgroup": "/jobs/box"}), ({"cgroup": "/jobs/box"}, {"cgroup": "/jobs"}),
    ({"unit": "feed.service"}, {"cgroup": FEED + "/box"}), ({"cgroup": FEED + "/box"}, {"unit": "feed.service"})])
def test_a_group_inside_that_of_another_workload_is_refused(host, first, second):
    for path in (FEED, "/jobs"):
        os.mkdir(host.cgroup(path + "/box"))
    ways = {"cache": {"max": 2, "min": 2}}
    workload = post(host.node, {**first, **ways})
    refused = refusal(post, host.node, {**second, **ways})
    assert refused.status == 409 and f"belongs to workload {workload['id']}" in refused.text, refused
    host.node.delete(workload["id"])
    post(host.node, {**second, **ways})


def test_an_alias_of_a_unit_is_refused(host):
    host.systemd.aliases["input.service"] = "feed.service"
    assert_refused(host, {**ask("unit"), "unit": "input.service"}, 400, "/unit", "input.service is an alias of feed.service")


def test_a_workload_keeps_its_request_only_where_it_can_be_enforced(host):
    made = host.node.call("PUT", "/v1/workloads/feed", {"unit": "feed.service", **share()})
    for elsewhere in ({"task_ids": [str(host.sleeper())]}, {}):
        refused = refusal(host.node.call, "PUT", "/v1/workloads/feed", {**share(), **elsewhere})
        assert refused.status in (400, 422), refused
    assert host.node.list() == [made]


def test_a_change_of_a_cgroup_by_other_software_is_repaired(host):
    post(host.node, ask("cgroup"))
    host.write("/jobs", "cpuset.cpus", "0-3")
    wait_for(lambda: host.cpus("/jobs") == "2-3", "the drift check")


@pytest.mark.parametrize("target", TARGETS)
def test_a_container_whose_list_overlaps_in_part_is_refused_and_later_reported(host, target):
    post(host.node, ask(target, count=1))  # the controller is enabled
    host.node.delete(host.node.list()[0]["id"])
    before = host.traces()
    box = PATHS[target] + "/box"
    os.mkdir(host.cgroup(box))
    for process in host.read(PATHS[target], "cgroup.procs").split():
        host.write(box, "cgroup.procs", process)
    host.write(PATHS[target], "cgroup.subtree_control", "+cpuset")
    host.write(box, "cpuset.cpus", "3-5")
    assert_refused(host, ask(target), 409, f"{box} below it has cpuset.cpus 3-5, so that it would run on CPU 3, not on 2-3")
    assert host.traces() == before
    host.write(box, "cpuset.cpus", "3")
    assert post(host.node, ask(target))["status"] == "Successful"
    host.write(box, "cpuset.cpus", "3-5")
    wait_for(lambda: host.node.list()[0]["status"] != "Successful", "the drift check")
    assert host.node.health()["hardware_problem"] == ""


def test_the_next_command_does_not_get_the_scope_of_a_refused_one(tmp_path):
    script = ("import json, socket, sys, time; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
              "body = json.dumps({'owner': {'caller': True}, 'cpu': {'pool': 'fast', 'count': 2}, 'pstate': {'max_ratio': 20}})\n"
              "s.sendall(f'POST /v1/workloads HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}'.encode())\n"
              "print(s.recv(4096).decode().split()[1], flush=True); time.sleep(1000)")
    clients = []

    def request():
        clients.append(subprocess.Popen(["python3", "-c", script, host.node.socket], env=CLEAN, stdout=subprocess.PIPE, text=True))
        host.stack.callback(clients[-1].wait)
        host.stack.callback(clients[-1].kill)
        return int(clients[-1].stdout.readline())

    with Host(tmp_path, cpufreq="intel_pstate") as host:
        refused = 0
        for nth in range(1, 15):
            host.sim.control("reset")
            host.sim.control(f"fault write {nth} errno EIO")
            if request() == 201:
                break
            refused += 1
        host.sim.control("reset")
        assert refused > 0
        assert host.node.list() or request() == 201
        workload = host.node.list()[0]
        scope = f"/nrd.slice/{workload['cpu']['enforced']['name']}"
        assert workload["cpu"]["enforced"]["by"] == "scope"
        assert host.read(scope, "cgroup.procs").split() == [str(clients[-1].pid)]


@pytest.mark.parametrize("confine", ["slices", "partition"])
def test_a_stopped_service_can_have_the_cpus_of_its_slice(tmp_path, confine):
    with Host(tmp_path, f'[cpu]\nconfine = "{confine}"\n{POOLS}') as host:
        for name, slice in (("far.service", "system.slice"), ("near.service", "nrd.slice"), ("deep.service", "nrd-deep.slice")):
            host.systemd.add(name, slice=slice)
        assert_refused(host, {"unit": "far.service", "cpu": {"pool": "fast", "cpus": "2-3"}}, 409,
                       "/unit: far.service is in system.slice (0-1,9,12-15), which has no CPU 2-3", "nrdctl export unit far.service")
        for name in ("near.service", "deep.service"):
            post(host.node, {"unit": name, "cpu": {"pool": "fast", "count": 2}})


@pytest.mark.parametrize("target", TARGETS)
def test_a_unit_or_cgroup_gets_cpu_time_and_later_what_it_had(host, target):
    before = host.traces()
    workload = post(host.node, {**share(), **TARGETS[target]})
    assert (host.cpus(PATHS[target]), host.read(PATHS[target], "cpu.weight"), host.read(PATHS[target], "cpu.max")) == ("10-11", "20", "80000 100000")
    host.node.delete(workload["id"])
    assert host.traces() == before


def near(**more):
    return {"cpu": {"pool": "fast", "count": 2, "memory": "near"}, **more}


def test_a_command_gets_memory_near_its_cpus(host):
    with start_run(host.node, "--pool", "fast", "--count", "2", "--memory", "near", "--", "sleep", "1000"):
        wait_for(lambda: host.node.list(), "the workload")
        workload = host.node.list()[0]
        assert workload["cpu"]["mems"] == workload["cpu"]["enforced"]["mems"] == "0"
        assert workload["cpu_request"]["memory"] == "near"
        name = f"nrd-{workload['id']}.scope"
        assert host.read(f"/nrd.slice/{name}", "cpuset.mems") == host.property(name, "AllowedMemoryNodes") == "0"
        host.node.delete(workload["id"])
        wait_for(lambda: (host.read(f"/nrd.slice/{name}", "cpuset.mems.effective"), host.property(name, "AllowedMemoryNodes")) == ("0-1", ""), "the release")


def test_memory_of_all_nodes_is_bound_as_well(host):
    os.mkdir(host.cgroup("/new"))
    workload = post(host.node, {"cgroup": "/new", "cpu": {"pool": "wide", "cpus": "7,8", "memory": "near"}})
    assert host.read("/new", "cpuset.mems") == workload["cpu"]["mems"] == "0-1"
    host.node.delete(workload["id"])
    assert host.read("/new", "cpuset.mems") == ""


def test_a_cgroup_gets_memory_near_its_cpus_before_it_has_processes(host):
    os.mkdir(host.cgroup("/new"))
    workload = post(host.node, near(cgroup="/new"))
    assert host.read("/new", "cpuset.mems") == workload["cpu"]["enforced"]["mems"] == "0"
    host.write("/new", "cgroup.procs", str(host.sleeper()))
    wait_for(lambda: host.node.list()[0]["status"] == "Successful", "the status")
    host.node.delete(workload["id"])
    wait_for(lambda: host.read("/new", "cpuset.mems.effective") == "0-1", "the release")


def test_a_unit_gets_memory_near_its_cpus_before_it_starts(host):
    host.systemd.add("later.service")
    workload = post(host.node, near(unit="later.service"))
    assert host.property("later.service", "AllowedMemoryNodes") == "0"
    host.systemd.add("later.service", host.sleeper(), **host.systemd.units["later.service"].properties)
    assert host.read("/system.slice/later.service", "cpuset.mems.effective") == "0"
    host.node.delete(workload["id"])
    wait_for(lambda: host.property("later.service", "AllowedMemoryNodes") == "", "the release")
    assert host.read("/system.slice/later.service", "cpuset.mems.effective") == "0-1"
    assert host.property("later.service") == ""


@pytest.mark.parametrize("target", TARGETS)
def test_memory_of_a_running_target_is_a_conflict_with_its_size(host, target):
    before = host.traces()
    size = "memory" if target == "unit" else "128 MiB of memory"  # systemd has not enabled the controller
    assert_refused(host, near(**TARGETS[target]), 409, "/cpu/memory: ", f"runs and has {size} of node 0-1, not of 0")
    assert host.traces() == before


def test_a_service_with_an_affinity_of_pool_cpus_is_a_conflict(tmp_path):
    with Host(tmp_path, start=False) as host:
        host.systemd.add("pinned.service", CPUAffinity=bits_of([0, 3]))
        host.systemd.add("shared.service", CPUAffinity=bits_of([10]))
        host.systemd.add("near.service", slice="nrd.slice", CPUAffinity=bits_of([3]))
        host.node.start()

        def of_units():  # a test beside this one may start an irqbalance
            return [conflict for conflict in host.node.call("GET", "/v1/cpus")["conflicts"] if conflict["source"] == "unit"]

        wait_for(lambda: of_units() == [{
            "source": "unit", "name": "pinned.service", "cpus": "3",
            "text": "pinned.service is configured to run on CPU 3 (CPUAffinity=0,3)",
            "remedy": "remove CPU 3 from CPUAffinity= of pinned.service, or create a workload for it"}], "the conflict")


def test_memory_of_single_tasks_cannot_be_bound(host):
    assert_refused(host, near(task_ids=[str(host.feed)]), 422, "/cpu/memory", "single tasks")


def test_memory_that_is_elsewhere_is_reported_and_not_moved(host):
    os.mkdir(host.cgroup("/new"))
    post(host.node, near(cgroup="/new"))
    host.write("/new", "cgroup.procs", str(host.sleeper()))
    host.write("/new", "cpuset.mems", "1")
    wait_for(lambda: host.node.list()[0]["cpu"]["enforced"]["mems"] == "1", "the drift check")
    assert host.node.list()[0]["status"] != "Successful"
    post(host.node, ask("unit"))  # other requests succeed
    assert host.read("/new", "cpuset.mems") == "1"


def test_a_unit_gets_cpus_of_several_pools(host):
    before = host.traces()
    workload = post(host.node, {"unit": "feed.service", "cpu": [{"pool": "fast", "count": 2}, {"pool": "common", "request_milli": 500}], "cache": {"max": 2, "min": 2}})
    assert set(workload["granted_ways"]) == {"0", "1"}  # wherever its tasks may run
    assert [(each["pool"], each["cpus"], each["exclusive"], each["shared"]) for each in workload["cpu"]] == [("fast", "2-3", "2-3", ""), ("common", "10-11", "", "10-11")]
    assert workload["cpu"][0]["enforced"]["effective"] == host.cpus(FEED) == "2-3,10-11" and "enforced" not in workload["cpu"][1]
    assert workload["cpu_request"] == [{"pool": "fast", "count": 2}, {"pool": "common", "request_milli": 500}]
    assert patch(host.node, workload["id"], workload)["updated"] == workload["updated"]  # an answer sent back
    changed = patch(host.node, workload["id"], {"cpu": [{"pool": "common"}, {"pool": "fast", "count": 1}]})
    assert changed["cpu"][1]["exclusive"] in ("2", "3") and host.cpus(FEED) == changed["cpu"][1]["exclusive"] + ",10-11"
    host.node.delete(workload["id"])
    assert host.traces() == before


@pytest.mark.parametrize("cpu, status, field", [
    ([], 400, "/cpu"), ([{}], 400, "/cpu/0"), ([{"count": 1}] * 9, 400, "/cpu"), ([{"pool": "fast", "count": 1}, 7], 400, "/cpu/1"),
    ([{"pool": "fast", "count": 1}, {"pool": "common", "near": ["node:0"]}], 400, "/cpu/1/near"),
    ([{"pool": "fast", "count": 1}, {"pool": "common", "count": 1}], 400, "/cpu/1/count"),
    ([{"pool": "fast", "count": 6}, {"pool": "common"}], 400, "/cpu/0/count"),
    ([{"pool": "fast", "count": 1}, {"pool": "common", "request_milli": 2001}], 409, "/cpu/1/request_milli"),
])
def test_a_list_of_pools_is_refused_at_the_item(host, cpu, status, field):
    before = host.traces()
    assert_refused(host, {"unit": "feed.service", "cpu": cpu}, status, field)
    assert host.traces() == before


def test_a_command_has_cpus_of_several_pools(host):
    script = "echo $NRD_CPUS/$NRD_CPUS_SHARED/$EXCLUSIVE_CPUS/$SHARED_CPUS/$CPU_POOLS; exec sleep 1000"
    pools = ("--pool", "fast=2", "--pool", "common=500m")
    with start_run(host.node, *pools, "--", "/bin/sh", "-c", script, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout.readline() == "2-3/10-11/2,3/10,11/exclusive&shared\n"
        scope = f"/nrd.slice/nrd-{host.node.list()[0]['id']}.scope"
        assert (host.cpus(scope), host.read(scope, "cpu.weight")) == ("2-3,10-11", "98")


@pytest.mark.parametrize("pool", ["fast=", "fast=x", "=2", "common=500n"])
def test_a_pool_with_a_bad_number_is_a_usage_error(host, pool):
    done = run(host.node, "--pool", pool, "--", "true")
    assert (done.returncode, f"{pool}: expected POOL, POOL=CPUS or POOL=MILLIm" in done.stderr) == (2, True), done

@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cpu", [{"pool": "fast", "count": 2}, [{"pool": "fast", "count": 2, "memory": "any"}, {"pool": "common", "request_milli": 500}]])
def test_an_exported_workload_of_pools_is_applied_again(host, tmp_path, target, cpu):
    workload = post(host.node, {**TARGETS[target], "cpu": cpu, "name": "feed", "owner": {"cgroup": True}})
    document = tmp_path / "feed.yaml"
    document.write_text(nrdctl(host.node, "export"))
    assert nrdctl(host.node, "diff", "-f", str(document)) == ""
    host.node.delete(workload["id"])
    nrdctl(host.node, "apply", "-f", str(document))
    same = ("cpu", "cpu_request", "owner", "name", target)
    assert [host.node.list()[0][key] for key in same] == [workload[key] for key in same]
    exclusive = host.node.list()[0]["cpu"]
    exclusive = (exclusive[0] if isinstance(cpu, list) else exclusive)["exclusive"]
    assert nrdctl(host.node, "export", "irqbalance") == f"IRQBALANCE_BANNED_CPULIST={exclusive}\n"
    assert f"isolated_cores={exclusive}\n" in nrdctl(host.node, "export", "tuned")


@pytest.mark.parametrize("target", TARGETS)
def test_a_dry_run_looks_at_the_target_and_writes_nothing(host, target):
    """As the first request about it, before anything of it is known."""
    before = host.traces()
    host.sim.control("reset")

    def dry_run(workload):
        return host.node.call("POST", "/v1/workloads?dry_run=true", workload)

    planned = dry_run(ask(target))
    name = list(TARGETS[target].values())[0]
    assert planned["workload"]["cpu"]["cpus"] == "2-3"
    assert {"knob": f"CPUs of {name}", "from": host.cpus(PATHS[target]), "to": "2-3"} in planned["changes"]
    for refused, status in (({**ask(target), **{target: {"unit": "none.service", "cgroup": "/none"}[target]}}, 400),
                            (ask(target, memory="near"), 409)):
        dry = refusal(dry_run, refused)
        real = refusal(post, host.node, refused)
        assert dry.status == real.status == status and dry.text == real.text
    assert host.sim.writes() == 0 and host.traces() == before
    assert post(host.node, ask(target))["cpu"]["cpus"] == "2-3"
