"""What only a real kernel can show: resctrl with the registers behind it, cgroup v2, CPUs on two NUMA nodes."""

import os

import pytest

from processes import wait_for
from settings import WAIT
from test_ways import WAYS, await_no_workloads

if not os.environ.get("NRD_KUBE_VM"):
    pytest.skip("needs the virtual machine: clients/kubernetes/test --vm", allow_module_level=True)

# Eight CPUs: two sockets, each a NUMA node and an L3 cache, of two cores with two threads.
POOLS = """
[os]
cpus = "0-1"
[cpu]
default_pool = "common"
[[cpu.pools]]
name = "fast"
cpus = "4-7"
kind = "exclusive"
threads = "any"
[[cpu.pools]]
name = "common"
cpus = "2-3"
kind = "shared"
"""
EXCLUSIVE, SHARED = "nokia.k8s.io/fast", "nokia.k8s.io/common"
PQR_ASSOC, L3_MASK = 0xC8F, 0xC90  # SDM vol. 4; the class is in bits 32 to 63
BUSY = "while :; do :; done"


@pytest.fixture(scope="module")
def pooled(shared_worker):
    shared_worker.reconfigure(POOLS)
    yield shared_worker
    shared_worker.reconfigure("")


@pytest.fixture
def ready(pooled, worker):
    worker.await_allocatable(EXCLUSIVE, 4)
    worker.await_allocatable(WAYS, 5)
    return worker


def machine_of(worker):
    return worker.place.machine


def effective(worker, cgroup):
    return worker.place.read(f"/sys/fs/cgroup{cgroup}/cpuset.cpus.effective").strip()


def cgroup_named(worker, pattern):
    return worker.place.run("find", "/sys/fs/cgroup", "-name", pattern).stdout.strip().removeprefix("/sys/fs/cgroup")


def cgroup_of(worker, pod):
    """Of its only container, which may have no workload."""
    container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    return cgroup_named(worker, f"*{container}*")


def online(worker, cpu, is_online):
    worker.place.write(f"/sys/devices/system/cpu/cpu{cpu}/online", f"{int(is_online)}\n")


def test_a_process_that_exec_started_runs_in_the_class_of_the_register(cluster, ready):
    cluster.run_pod("feed", limits={WAYS: 2, EXCLUSIVE: 1})
    workload = ready.workload_of("feed")
    cpu, = map(int, workload["cpu"]["exclusive"].split(","))
    before = ready.waiting_processes_of(workload)
    inside = ready.ctr("tasks", "exec", "--exec-id", "more", "--detach", ready.container_of(workload), "sh", "-c", BUSY)
    assert inside.returncode == 0, inside.stderr
    wait_for(lambda: ready.processes_of(workload) - before, "the process")
    wait_for(lambda: ready.processes_of(workload) <= ready.tasks_of(workload), "the process to be in the class")
    # It runs there all the time, so the register has its class.
    number = wait_for(lambda: machine_of(ready).msr(cpu, PQR_ASSOC) >> 32, "a class on its CPU")
    granted, = (int(ways["mask"], 16) for cache, ways in workload["granted_ways"].items() if cache == str(cpu // 4))
    assert machine_of(ready).msr(cpu, L3_MASK + number) == granted
    cluster.delete_pod("feed")
    await_no_workloads(ready)
    wait_for(lambda: machine_of(ready).msr(cpu, PQR_ASSOC) >> 32 == 0, "the root class on its CPU")


def test_the_first_instruction_runs_in_the_class(cluster, ready):
    """The kernel tells the program, which asks before it does anything else: "res:COS2"."""
    cluster.run_pod("feed", limits={WAYS: 2}, script=f"read -r output < /proc/self/cpu_resctrl_groups; echo $output; {WAIT}")
    output = wait_for(lambda: cluster.kubectl("logs", "feed").stdout.strip(), "its first line")
    assert output == "res:" + ready.workload_of("feed")["cos_name"]


def test_each_container_has_its_cpus_in_the_kernels_words(cluster, ready):
    one = cgroup_of(ready, cluster.run_pod("one", limits={EXCLUSIVE: 1}))
    shared = cgroup_of(ready, cluster.run_pod("shared", limits={SHARED: 500}))
    plain = cgroup_of(ready, cluster.run_pod("plain"))
    cpu = effective(ready, one)  # any, where nrd takes longer to choose than kubelet waits
    assert cpu in list("4567") and cpu == ready.workload_of("one")["cpu"]["exclusive"]
    assert effective(ready, shared) == "2-3"
    # At once, unless the emulated nrd takes longer than nrd-kube waits for it.
    wait_for(lambda: effective(ready, plain) == "2-3", "the default pool")


def test_shared_cpus_shrink_and_grow_back(cluster, ready):
    shared = cgroup_of(ready, cluster.run_pod("shared", limits={SHARED: 500}))
    plain = cgroup_of(ready, cluster.run_pod("plain"))
    online(ready, 3, False)
    try:
        wait_for(lambda: effective(ready, shared) == effective(ready, plain) == "2", "one CPU less")
    finally:
        online(ready, 3, True)
    wait_for(lambda: effective(ready, shared) == effective(ready, plain) == "2-3", "both CPUs")


def test_an_exclusive_cpu_that_goes_offline_is_not_offered_and_comes_back(cluster, ready):
    kept = cgroup_of(ready, cluster.run_pod("kept", limits={EXCLUSIVE: 1}))
    cpu = effective(ready, kept)  # any, where nrd takes longer to choose than kubelet waits
    other = next(each for each in "4567" if each != cpu)
    online(ready, other, False)
    try:
        ready.await_allocatable(EXCLUSIVE, 3)
    finally:
        online(ready, other, True)
    ready.await_allocatable(EXCLUSIVE, 4)
    assert effective(ready, kept) == cpu == ready.workload_of("kept")["cpu"]["exclusive"]
    cluster.await_running("kept")


def test_a_pool_of_whole_cores_gives_both_threads(cluster, ready):
    ready.reconfigure(POOLS.replace('threads = "any"', 'threads = "all"'))
    try:
        ready.await_allocatable(EXCLUSIVE, 2)
        cgroup = cgroup_of(ready, cluster.run_pod("core", limits={EXCLUSIVE: 1}))
        assert effective(ready, cgroup) in ("4-5", "6-7")
        assert ready.workload_of("core")["cpu"]["exclusive"] == effective(ready, cgroup)
        cluster.delete_pod("core")
        await_no_workloads(ready)
    finally:
        ready.reconfigure(POOLS)


def test_the_topology_manager_keeps_cpus_of_a_container_on_one_node(cluster, ready):
    ready.reconfigure(POOLS.replace('cpus = "4-7"', 'cpus = "3-7"').replace('cpus = "2-3"', 'cpus = "2"'))
    try:
        ready.await_allocatable(EXCLUSIVE, 5)
        cgroup = cgroup_of(ready, cluster.run_pod("near", limits={EXCLUSIVE: 4}))
        assert effective(ready, cgroup) == "4-7"  # CPU 3 is on the other node
        cluster.delete_pod("near")
        await_no_workloads(ready)
    finally:
        ready.reconfigure(POOLS)


def test_a_pause_container_is_in_the_default_pool(cluster, ready):
    pod = cluster.run_pod("plain")
    name = f"k8s.{pod['metadata']['uid']}"
    grant = wait_for(lambda: next((each for each in ready.workloads() if each["id"] == name), None), "the pause container's workload")
    cgroup = grant.get("cgroup") or cgroup_named(ready, grant["unit"])  # a scope, with the driver systemd
    assert ready.place.processes_of(cgroup) and effective(ready, cgroup) == "2-3"
    cluster.delete_pod("plain")
    await_no_workloads(ready)
