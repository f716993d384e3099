"""CPUs of pools on a real kernel: masks of real threads, beside ways and frequencies in real registers."""

import signal
import time

import pytest

from pool_node import PoolNode, pooled
from rdt_node import started
from masks import cpus_of
from shape import Shape

# 2 sockets of 2 cores with 2 threads: 0-3 and 4-7; the threads of a core are neighbours.
CONFIG = pooled("0-1", "2-7", drift=1, tasks=1)


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(PoolNode, tmp_path_factory, CONFIG, cpu=Shape()) as node:
        yield node


def test_a_command_has_cpus_ways_and_frequency_and_all_is_free_after_it(node):
    tree, masks = node.tree(), node.masks()
    process, workload = node.launch("--pool", "fast", "--count", "2", "--near", "cpu:4", "--ways", "2", "--min-ratio", "10", "--max-ratio", "20")
    assert workload["cpu"]["exclusive"] == "4,6" and workload["cpu"]["idle_siblings"] == "5,7", workload
    assert "l3 1" in workload["cpu"]["zone"], workload
    assert node.mask_of(process.pid) == {4, 6}
    assert list(workload["granted_ways"]) == ["1"]
    node.assert_agree()  # registers: class and masks of CPUs 4 and 6, and their windows
    now = node.masks()
    assert {pid: mask for pid, mask in now.items() if pid in masks} == {pid: mask for pid, mask in masks.items() if pid in now}
    process.kill(signal.SIGKILL)
    process.wait()
    node.wait_for_none()
    assert node.tree() == tree


def test_the_second_of_two_commands_gets_other_cores(node):
    first, a = node.launch("--pool", "fast", "--count", "1")
    second, b = node.launch("--pool", "fast", "--cores", "1")
    of_both = [cpus_of(w["cpu"]["exclusive"], w["cpu"]["idle_siblings"]) for w in (a, b)]
    assert not of_both[0] & of_both[1] and node.mask_of(second.pid) == cpus_of(b["cpu"]["exclusive"]) and len(cpus_of(b["cpu"]["exclusive"])) == 2
    status, refusal = node.request("POST", "/v1/workloads", {"cpu": {"pool": "fast", "count": 2}})
    assert status == 409 and "/cpu/count" in str(refusal), refusal
    for process in (first, second):
        process.kill()
        process.wait()
    node.wait_for_none()


def test_a_deleted_workload_leaves_the_mask_that_its_process_had(node):
    sleeper = node.vm.spawn(["taskset", "-c", "0,3,5", "sleep", "infinity"])
    node.vm.wait_until(lambda: node.mask_of(sleeper.pid) == {0, 3, 5}, what="taskset")
    made = node.act("POST", "/v1/workloads", {"cpu": {"pool": "fast", "count": 2}, "task_ids": [str(sleeper.pid)], "cache": {"max": 2, "min": 2}})
    assert node.mask_of(sleeper.pid) == cpus_of(made["cpu"]["exclusive"])
    grown = node.act("PATCH", f"/v1/workloads/{made['id']}", {"cpu": {"count": 3}})
    assert cpus_of(made["cpu"]["exclusive"]) < node.mask_of(sleeper.pid) == cpus_of(grown["cpu"]["exclusive"])
    node.delete(made)
    assert node.mask_of(sleeper.pid) == {0, 3, 5}
    sleeper.kill()


def test_kill_9_of_the_daemon_keeps_the_grant_and_its_baseline(node):
    sleeper = node.vm.spawn(["taskset", "-c", "0-3", "sleep", "infinity"])
    node.vm.wait_until(lambda: node.mask_of(sleeper.pid) == {0, 1, 2, 3}, what="taskset")
    made = node.act("POST", "/v1/workloads", {"cpu": {"pool": "fast", "count": 1}, "task_ids": [str(sleeper.pid)]})
    node.kill9()
    assert node.mask_of(sleeper.pid) == cpus_of(made["cpu"]["exclusive"])
    node.start()
    assert node.get("/v1/workloads")[0]["cpu"] == made["cpu"]
    node.delete(made)
    assert node.mask_of(sleeper.pid) == {0, 1, 2, 3}
    sleeper.kill()


def test_one_and_all_cpus_offline_and_online_again(node):
    process, workload = node.launch("--pool", "fast", "--count", "2", "--near", "cpu:4")
    node.online(6, False)
    node.vm.wait_until(lambda: node.get("/v1/workloads")[0]["cpu"]["cpus"] == "4,6" and node.mask_of(process.pid) == {4}, timeout=60, what="one CPU less")
    node.online(4, False)
    node.vm.wait_until(lambda: "are offline" in str(node.get("/v1/health")), timeout=60, what="the problem")
    ends = time.monotonic() + 4  # the scan of tasks passes, which must not take the sleeping process for ended
    node.vm.wait_until(lambda: time.monotonic() > ends or "TASKS_ENDED" in node.daemon.output(), timeout=60, what="scans")
    assert "TASKS_ENDED" not in node.daemon.output()
    node.online(4, True)
    node.online(6, True)
    node.vm.wait_until(lambda: node.mask_of(process.pid) == {4, 6} and node.get("/v1/workloads")[0]["status"] == "Successful", timeout=60, what="both CPUs")
    assert "are offline" not in str(node.get("/v1/health"))
    process.kill()
    process.wait()
    node.wait_for_none()


def test_the_threads_of_a_process_that_starts_more_are_all_limited(node):
    program = ("import threading, time\n"
               "def more():\n"
               "  while True:\n"
               "    threading.Thread(target=time.sleep, args=(5,), daemon=True).start(); time.sleep(0.01)\n"
               "more()")
    process = node.vm.spawn(["python3", "-c", program])
    # A thread that ends between the listing and the read is no error.
    listed = f"(grep -hs Cpus_allowed_list /proc/{process.pid}/task/*/status || true) | sort -u | cut -f 2"
    threads = lambda: node.vm.run(listed).stdout.split()
    node.vm.wait_until(lambda: int(node.vm.run(f"ls /proc/{process.pid}/task | wc -l").stdout) > 50, timeout=60, what="threads")
    made = node.act("POST", "/v1/workloads", {"cpu": {"pool": "fast", "count": 1}, "task_ids": [str(process.pid)]})
    assert threads() == [made["cpu"]["exclusive"]]
    node.delete(made)
    assert threads() == ["0-7"]
    process.kill()


CGROUPS = "/sys/fs/cgroup"


def test_a_cgroup_has_cpus_and_ways_with_whatever_starts_in_it(node):
    vm = node.vm
    vm.run(f"echo +cpuset > {CGROUPS}/cgroup.subtree_control; mkdir -p {CGROUPS}/x/y; echo +cpuset > {CGROUPS}/x/cgroup.subtree_control")
    inside = vm.spawn(["bash", "-c", f"echo $$ > {CGROUPS}/x/y/cgroup.procs; taskset -pc 3,6 $$; sleep infinity & exec sleep infinity"])
    vm.wait_until(lambda: vm.read(f"/proc/{inside.pid}/comm") == "sleep\n", timeout=60, what="the process in the cgroup")
    effective = lambda: cpus_of(vm.read(f"{CGROUPS}/x/y/cpuset.cpus.effective"))
    before, tree = effective(), node.tree()
    made = node.act("POST", "/v1/workloads", {"cgroup": "/x/y", "cpu": {"count": 2}, "cache": {"max": 2, "min": 2}})
    granted = cpus_of(made["cpu"]["exclusive"])
    assert made["cpu"]["enforced"] == {"by": "cgroup", "name": "/x/y", "effective": made["cpu"]["exclusive"]}, made
    assert effective() == granted and len(granted) == 2
    processes = vm.read(f"{CGROUPS}/x/y/cgroup.procs").split()
    assert len(processes) == 2 and set(processes) <= set(vm.read(f"/sys/fs/resctrl/{made['cos_name']}/tasks").split())
    node.assert_agree()
    assert node.mask_of(inside.pid) == {3, 6} & granted  # before Linux 6.2 the kernel would have overwritten its choice
    # Others change it: drift.
    vm.write(f"{CGROUPS}/x/y/cpuset.cpus", "0-7\n")
    vm.wait_until(lambda: effective() == granted, timeout=60, what="the repair")
    node.delete(made)
    assert effective() == before and node.tree() == tree
    inside.kill(signal.SIGKILL)
    inside.wait()


def test_a_cgroup_has_its_share_of_a_shared_pool(node):
    vm = node.vm
    node.kill9()
    node.config = CONFIG.replace('"2-7"', '"2-5"') + '[[cpu.pools]]\nname = "common"\ncpus = "6-7"\nkind = "shared"\n'
    node.start()
    vm.run(f"echo '+cpuset +cpu' > {CGROUPS}/cgroup.subtree_control; mkdir -p {CGROUPS}/batch")
    vm.write(f"{CGROUPS}/batch/cpu.weight", "250\n")
    files = lambda: tuple(vm.read(f"{CGROUPS}/batch/{name}").strip() for name in ("cpu.weight", "cpu.max"))
    before = files()
    asked = {"cgroup": "/batch", "cpu": {"pool": "common", "request_milli": 500, "limit_milli": 1500}}
    made = node.act("POST", "/v1/workloads", asked)
    assert made["cpu"]["enforced"] == {"by": "cgroup", "name": "/batch", "effective": "6-7", "weight": 20, "limit_milli": 1500}, made
    assert files() == ("20", "150000 100000")
    vm.write(f"{CGROUPS}/batch/cpu.weight", "100\n")  # others change it: drift
    vm.wait_until(lambda: files() == ("20", "150000 100000"), timeout=60, what="the repair")
    status, refused = node.request("POST", "/v1/workloads", {"cgroup": "/other", "cpu": {"pool": "common", "request_milli": 1501}, "owner": {"cgroup": True}})
    assert status == 409 and "1500 of 2000" in str(refused), refused
    node.kill9()
    node.start()
    assert node.get("/v1/workloads")[0]["cpu"] == made["cpu"]
    node.delete(made)
    assert files() == before
    node.kill9()
    node.config = CONFIG
    node.start()


def test_a_workload_ends_with_its_cgroup(node):
    vm = node.vm
    vm.run(f"echo +cpuset > {CGROUPS}/cgroup.subtree_control")
    before = vm.read(f"{CGROUPS}/cpuset.cpus.effective")
    made = node.act("POST", "/v1/workloads", {"cgroup": "/job", "cpu": {"count": 1}, "owner": {"cgroup": True, "within_seconds": 600}})
    try:
        assert made["owner"] == {"cgroup": True, "within_seconds": 600}
        vm.run(f"mkdir {CGROUPS}/job")
        inside = vm.spawn(["bash", "-c", f"echo $$ > {CGROUPS}/job/cgroup.procs; exec sleep infinity"])
        vm.wait_until(lambda: vm.read(f"{CGROUPS}/job/cgroup.procs").split(), timeout=60, what="the process in the cgroup")
        effective = lambda: vm.read(f"{CGROUPS}/job/cpuset.cpus.effective").strip()
        vm.wait_until(lambda: effective() == made["cpu"]["exclusive"], timeout=60, what="the limit of the new cgroup")
        inside.kill(signal.SIGKILL)
        inside.wait()
        node.wait_for_none()
    finally:
        node.request("DELETE", f"/v1/workloads/{made['id']}")  # 404 unless the test fails
    assert vm.read(f"{CGROUPS}/job/cpuset.cpus.effective") == before


def test_a_cgroup_whose_parent_lacks_the_cpus_is_refused(node):
    vm = node.vm
    vm.write(f"{CGROUPS}/x/cpuset.cpus", "0-2\n")
    status, refused = node.request("POST", "/v1/workloads", {"cgroup": "/x/y", "cpu": {"count": 2}})
    assert status == 409 and "/x/y is in /x (0-2), which has no CPU " in str(refused), refused
    assert vm.read(f"{CGROUPS}/x/y/cpuset.cpus").strip() == "0-7"
    for path, status in (("/x/z", 400), ("/x/../x/y", 400), ("/", 400)):
        assert node.request("POST", "/v1/workloads", {"cgroup": path, "cpu": {"count": 2}})[0] == status
    assert node.request("POST", "/v1/workloads", {"unit": "feed.service", "cpu": {"count": 2}})[0] == 422
    assert node.get("/v1/workloads") == []
