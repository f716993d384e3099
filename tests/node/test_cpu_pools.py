"""CPUs of pools: requests, placement beside ways and frequencies, and where processes really run.

The node has as many CPUs as this host needs at least: masks of processes are the host kernel's own.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from cpu_pools import LARGE, POOLS, large, large_node, patch, post, put  # noqa: F401
from harness import DRIFT, Node, process, refusal, wait_for
from masks import cpus_of
from nrdctl import comm_of, nrdctl, run, start_run
from shared_node import node  # noqa: F401


@pytest.fixture(scope="module")
def shared():
    with Node(POOLS, sockets=1, cpus=2) as node:
        yield node


def allowed(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(line.split("\t")[1].strip() for line in file if line.startswith("Cpus_allowed_list"))


def test_a_command_runs_on_the_cpu_it_was_granted(node):
    script = "grep Cpus_allowed_list /proc/self/status; echo $NRD_CPUS/$NRD_CPUS_SHARED/$EXCLUSIVE_CPUS/$SHARED_CPUS/$CPU_POOLS/$NRD_WORKLOAD; exit 7"
    done = run(node, "--pool", "fast", "--count", "1", "--ways", "2", "--", "/bin/sh", "-c", script)
    assert done.returncode == 7, done
    wait_for(lambda: node.list() == [] and "OWNER_ENDED" in node.said(), "the workload to go")
    id, = re.findall(r"OWNER_ENDED.* WORKLOAD=(\d+)", node.said())
    assert done.stdout.splitlines() == ["Cpus_allowed_list:\t1", f"1//1//exclusive/{id}"]
    node.assert_consistent(set())


def test_the_answer_says_where_and_why(node):
    with process() as sleeper:
        before = allowed(sleeper.pid)
        workload = post(node, {"cpu": {"count": 1}, "task_ids": [str(sleeper.pid)], "cache": {"max": 2, "min": 2}})
        assert workload["cpu"]["enforced"] == {"by": "affinity", "effective": "1"}
        assert {key: workload["cpu"][key] for key in ("pool", "cpus", "exclusive", "shared")} == {"pool": "fast", "cpus": "1", "exclusive": "1", "shared": ""}
        assert workload["cpu"]["zone"] and workload["cpu"]["reason"]
        assert workload["cpu_request"] == {"count": 1}
        assert workload["status"] == "Successful" and "core_ids" not in workload
        assert allowed(sleeper.pid) == "1"
        node.delete(workload["id"])
        assert allowed(sleeper.pid) == before


def test_a_grant_survives_kill_9_and_its_process_keeps_its_cpu(node):
    with start_run(node, "--pool", "fast", "--count", "1", "--", "sleep", "1000") as command:
        # nrd publishes before it answers: only the command shows that nrdctl has its answer.
        wait_for(lambda: node.list() and node.list()[0]["status"] == "Successful" and comm_of(command.pid) == "sleep" and allowed(command.pid) == "1", "the grant")
        node.kill9()
        assert command.poll() is None and allowed(command.pid) == "1"
        os.sched_setaffinity(command.pid, {0, 1})  # other software, meanwhile
        node.start()
        workload, = node.list()
        assert workload["cpu"]["exclusive"] == "1" and workload["status"] == "Successful"
        assert allowed(command.pid) == "1"
    wait_for(lambda: node.list() == [], "the workload to go")
    node.assert_consistent(set())


def test_threads_are_limited_too(node):
    program = ("import threading, time, os, sys\n"
               "threads = [threading.Thread(target=time.sleep, args=(1000,), daemon=True) for _ in range(20)]\n"
               "[t.start() for t in threads]; print('ready', flush=True); sys.stdin.read()")
    process = subprocess.Popen(["/usr/bin/python3", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    masks = lambda: {allowed(f"{process.pid}/task/{thread}") for thread in os.listdir(f"/proc/{process.pid}/task")}
    before = masks()
    workload = post(node, {"cpu": {"count": 1}, "task_ids": [str(process.pid)]})
    assert masks() == {"1"}
    node.delete(workload["id"])
    assert masks() == before
    process.kill()
    process.wait()


def test_cpus_and_pools_are_shown():
    with Node(LARGE) as large:
        post(large, {"cpu": {"pool": "fast", "count": 2}, "cache": {"max": 2, "min": 2}, "name": "feed"})
        cpus = large.call("GET", "/v1/cpus")
        uses = {cpu["cpu"]: (cpu["use"], cpu["pool"], cpu["workload"]) for cpu in cpus["cpus"]}
        granted = [number for number, use in uses.items() if use[0] == "exclusive"]
        assert len(granted) == 2 and all(uses[number] == ("exclusive", "fast", "1") for number in granted)
        assert uses[0] == ("other", None, None) and uses[8] == ("shared", "common", None)
        assert cpus["isolated"] == cpus["nohz_full"] == "" and "core_kind" not in cpus["cpus"][0]
        assert cpus["huge_pages"] == [{"node": node, "bytes": 2 << 20, "free": 512} for node in (0, 1)]
        fast, common = large.call("GET", "/v1/cpus/pools")
        assert fast["name"] == "fast" and fast["workloads"] == ["1"] and fast["largest"]["machine"] >= 1
        assert common["kind"] == "shared" and "largest" not in common
        assert large.call("GET", "/v1/cpus/pools/fast") == fast
        assert large.request("GET", "/v1/cpus/pools/fat")[0] == 404
        drawn = nrdctl(large, "cpus")
        pool = nrdctl(large, "cpus", "fast")
        assert "within one node" in pool and "workloads: 1" in pool, pool
        assert " of pool fast, cache 0" in large.journal()
        assert "A  workload 1 (feed): CPUs " in drawn and "pool fast: exclusive, CPUs 2-7,10-15, free " in drawn


def test_metrics_count_the_cpus_of_each_pool(large):
    post(large, {"cpu": {"pool": "fast", "count": 2}})
    lines = large.request("GET", "/metrics")[1].splitlines()
    counts = {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith("nrd_cpu_pool_cpus{")}
    assert counts['nrd_cpu_pool_cpus{pool="fast",state="granted"}'] == 2 and counts['nrd_cpu_pool_cpus{pool="fast",state="free"}'] == 10
    assert counts['nrd_cpu_pool_cpus{pool="common",state="free"}'] == 2 and counts['nrd_cpu_pool_cpus{pool="common",state="offline"}'] == 0


@pytest.mark.parametrize("cpu, field", [
    ({"pool": "fat", "count": 1}, "/cpu/pool"), ({"count": 1}, "/cpu/pool"), ({"pool": "fast"}, "/cpu/count"),
    ({"pool": "fast", "count": 1, "cores": 1}, "/cpu/count"), ({"pool": "fast", "count": 0}, "/cpu/count"),
    ({"pool": "fast", "count": "1"}, "/cpu/count"), ({"pool": "fast", "cpus": "8"}, "/cpu/cpus"),
    ({"pool": "fast", "cpus": "2-x"}, "/cpu/cpus"), ({"pool": "fast", "count": 1, "near": ["eth99"]}, "/cpu/near/0"),
    ({"pool": "fast", "count": 1, "near": ["../../etc"]}, "/cpu/near/0"), ({"pool": "fast", "count": 1, "near": "node:0"}, "/cpu/near"),
    ({"pool": "fast", "count": 1, "near": ["node:7"]}, "/cpu/near/0"), ({"pool": "fast", "count": 1, "apart": ["9"]}, "/cpu/apart/0"),
    ({"pool": "fast", "count": 1, "level": "package"}, "/cpu/level"), ({"pool": "fast", "count": 1, "fast": True}, "/cpu/fast"),
    ({"pool": "common"}, "/task_ids"), ({"pool": "common", "count": 1}, "/cpu/count"), ([], "/cpu"), ("fast", "/cpu"),
    ({"pool": "fast", "count": 1, "near": ["node:0"] * 17}, "/cpu/near")])
def test_a_bad_request_names_its_member(large, cpu, field):
    refused = refusal(post, large, {"cpu": cpu})
    assert refused.status == 400 and f"{field}:" in refused.text, refused
    assert large.list() == []


def test_cpus_of_another_workload_are_refused(large):
    post(large, {"cpu": {"pool": "fast", "cpus": "4-5"}, "id": "w", "name": "feed"})
    status, text, _ = large.request("POST", "/v1/workloads", json.dumps({"cpu": {"pool": "fast", "cpus": "5-6"}}), headers={"Accept": "application/json", "Content-Type": "application/json"})
    problem = json.loads(text)
    assert (status, problem["code"], problem["field"]) == (400, "CpuTaken", "/cpu/cpus"), text
    assert problem["detail"] == "CPU 5 belongs to workload w (feed)"
    assert len(large.list()) == 1


def test_cpu_does_not_replace_core_ids_in_a_patch(large):
    made = large.create("9", 1, 1)
    refused = refusal(patch, large, made["id"], {"cpu": {"pool": "fast", "count": 1}})
    assert refused.status == 400 and "/cpu: the workload has core_ids" in refused.text, refused
    whole = large.call("PUT", f"/v1/workloads/{made['id']}", {"cpu": {"pool": "fast", "count": 1}})
    assert whole["cpu_request"] == {"pool": "fast", "count": 1} and "core_ids" not in whole
    refused = refusal(patch, large, made["id"], {"core_ids": ["9"]})
    assert refused.status == 400 and "/core_ids: cannot be combined with cpu" in refused.text, refused


def test_a_refusal_of_a_response_sent_back_names_its_request(large):
    made = post(large, {"cpu": {"pool": "fast", "count": 1}})
    made["cpu_request"]["count"] = 99
    for act in (patch, lambda node, id, body: node.call("PUT", f"/v1/workloads/{id}", body)):
        assert "/cpu_request/count: needs 99 CPUs" in refusal(act, large, made["id"], made).text
    assert "/cpu/count: needs 99 CPUs" in refusal(patch, large, made["id"], {"cpu": {"count": 99}}).text


def test_a_dry_run_says_what_would_change(node):
    with process() as sleeper:
        status, text, _ = node.request("POST", "/v1/workloads?dry_run=true", json.dumps({"cpu": {"count": 1}, "task_ids": [str(sleeper.pid)]}))
        assert status == 200, text
        change, = [each for each in json.loads(text)["changes"] if each["knob"] == f"CPUs of process {sleeper.pid}"]
        assert (cpus_of(change["from"]), change["to"]) == (os.sched_getaffinity(sleeper.pid), "1")
        assert node.list() == []


def test_refusals_of_nrdctl_name_the_option_of_a_list(large):
    for option, text in (("--near", "there is no device bogus"), ("--apart", "there is no workload bogus")):
        said = nrdctl(large, "workload", "create", "--pool", "fast", "--count", "1", option, "bogus", exit=1)
        assert said.startswith(f"nrdctl: {option}: {text}"), said
    assert nrdctl(large, "workload", "create", "--pool", "nopool", exit=1).startswith("nrdctl: --pool: there is no pool nopool")


def test_pools_complete_where_a_pool_is_named(large):
    for words in (("cpus",), ("cpus", "check"), ("run", "--pool"), ("workload", "create", "--pool")):
        assert "fast" in nrdctl(large, "__complete", "--", *words, "").split(), words


def test_other_software_on_cpus_of_pools_is_reported(tmp_path):
    with Node(DRIFT + LARGE) as node:
        conflicts = lambda: {conflict["name"]: conflict for conflict in node.call("GET", "/v1/cpus")["conflicts"]}
        for folder in ("/etc/default", "/var/lib", "/sys/fs/cgroup"):
            node.sim.run_inside(["mount", "-t", "tmpfs", "simulated", folder])
        cpu = post(node, {"cpu": {"pool": "fast", "count": 1}})["cpu"]["exclusive"]
        put(node, "/var/lib/kubelet/cpu_manager_state", '{"policyName": "static", "defaultCpuSet": "0-3", "checksum": 1}')
        put(node, "/sys/fs/cgroup/web.slice/cpuset.cpus", "0-15\n")
        put(node, "/sys/fs/cgroup/web.slice/cpuset.cpus.effective", "0-15\n")
        put(node, "/sys/fs/cgroup/machine.slice/cpuset.cpus", "9\n")
        put(node, "/sys/fs/cgroup/machine.slice/cpuset.cpus.partition", "isolated\n")
        put(node, "/sys/fs/cgroup/nrd.slice/cpuset.cpus", "0-15\n")
        put(node, "/sys/fs/cgroup/nrd.slice/left.service/cpuset.cpus", "\n")
        shutil.copy("/bin/sleep", tmp_path / "irqbalance")
        process = subprocess.Popen([tmp_path / "irqbalance", "1000"])
        wait_for(lambda: {name: conflict["source"] for name, conflict in conflicts().items()} == {
            "kubelet": "kubelet", "irqbalance": "irqbalance", "/machine.slice": "partition", "/web.slice": "cgroup",
            "left.service": "unit"}, "the conflicts")
        assert conflicts()["kubelet"]["cpus"] == "2-3" and conflicts()["irqbalance"]["cpus"] == "2-7,10-15"
        assert conflicts()["/web.slice"]["text"] == f"/web.slice may run on CPU {cpu} of workload 1 (cpuset.cpus 0-15)"
        assert any("irqbalance" in warning and "systemctl restart irqbalance" in warning for warning in node.health()["warnings"])
        assert 'nrd_cpu_conflicts{source="partition"} 1' in node.request("GET", "/metrics")[1]
        drawn = nrdctl(node, "cpus")
        assert f"  ! /web.slice may run on CPU {cpu} of workload 1 (cpuset.cpus 0-15)\n      remove CPU {cpu} from AllowedCPUs= of web.slice\n" in drawn
        # The remedies work.
        put(node, "/etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=2-15\n")
        put(node, "/sys/fs/cgroup/web.slice/cpuset.cpus", "0-1\n")
        put(node, "/sys/fs/cgroup/web.slice/cpuset.cpus.effective", "0-1\n")
        wait_for(lambda: set(conflicts()) == {"kubelet", "/machine.slice", "left.service"}, "two conflicts to end")
        process.kill()
        process.wait()
        assert "CPU_CONFLICT:" in node.journal() and "CPU_CONFLICT_ENDED" in node.journal()


def test_the_rest_of_the_cpus_is_a_pool():
    with Node(LARGE.replace('"8-9"', '"rest"') + '[os]\ncpus = "0"\n') as node:
        assert [pool["cpus"] for pool in node.call("GET", "/v1/cpus/pools")] == ["2-7,10-15", "1,8-9"]
        with open(node.config, "a") as file:
            file.write('[[cpu.pools]]\nname = "quiet"\ncpus = "isolated"\nkind = "exclusive"\n')
        status, text, _ = node.request("POST", "/v1/config/reload", "{}")
        assert status == 400 and "pool quiet: cpus is" in text and "isolcpus=" in text, text
