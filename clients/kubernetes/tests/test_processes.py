"""CPU Pooler's annotation from the webhook to the processes, on a real kubelet. The pools are CPUs that the host has."""

import json
import os
import subprocess

import pytest

from operator_role import Operator, await_called, call
from processes import wait_for
from settings import NRDCTL
from test_pods import run_job
from test_ways import WAYS, await_no_workloads

POOLS = """
[os]
cpus = "2-15"
[[cpu.pools]]
name = "fast"
cpus = "1"
kind = "exclusive"
threads = "any"
[[cpu.pools]]
name = "common"
cpus = "0"
kind = "shared"
"""
EXCLUSIVE, SHARED = "nokia.k8s.io/fast", "nokia.k8s.io/common"
LISTED = [{"container": "main", "processes": [{"process": "sleep", "args": ["1001"], "pool": "fast", "cpus": 1},
                                              {"process": "sleep", "args": ["1002"], "pool": "common", "cpus": 500}]}]


@pytest.fixture(scope="module")
def pooled(cluster, shared_worker):
    """The shared worker with pools, and with nrdctl in /opt/bin of the test's mount namespace."""
    folder = f"{shared_worker.folder}/bin"
    os.makedirs("/opt/bin", exist_ok=True)
    os.makedirs(folder)
    subprocess.run(["cp", NRDCTL, f"{folder}/nrdctl"], check=True)
    subprocess.run(["mount", "--bind", folder, "/opt/bin"], check=True)
    shared_worker.reconfigure(POOLS)
    yield shared_worker
    shared_worker.reconfigure("")
    subprocess.run(["umount", "/opt/bin"], check=True)


@pytest.fixture
def ready(pooled, worker):
    worker.await_allocatable(EXCLUSIVE, 1)
    worker.await_allocatable(SHARED, 1000)
    return worker


@pytest.fixture
def operator(cluster, ready):
    cluster.deploy("webhook")
    call(cluster, 9443)
    replica = Operator(cluster, 9443).start()
    probe = pod(cluster, "probe", LISTED)
    await_called(cluster, lambda: cluster.api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", probe)["spec"].get("volumes"))
    yield replica
    replica.process.kill9()
    cluster.undeploy("webhook")


def pod(cluster, name, listed, text=None, limits=None):
    """nrdctl is linked with the host's libraries, which busybox does not have."""
    container = cluster.container(limits=limits, volumeMounts=[{"name": "lib", "mountPath": path} for path in ("/lib", "/usr/lib")]
                                  + [{"name": "lib64", "mountPath": "/lib64"}])
    return cluster.pod(name, container, annotations={"nokia.k8s.io/cpus": text if text is not None else json.dumps(listed)},
                       volumes=[{"name": name, "hostPath": {"path": f"/usr/{name}"}} for name in ("lib", "lib64")])


def affinities(worker, name):
    """CPUs of each process of a pod, by its last argument."""
    found = {}
    for pid in worker.processes_of(worker.workload_of(name)):
        with open(f"/proc/{pid}/cmdline") as file:
            last = file.read().split("\0")[-2]
        found[last] = allowed(pid)
    return found


def allowed(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(line.split()[1] for line in file if line.startswith("Cpus_allowed_list"))


def variables_of(pid):
    """A process has none for the moment in which it changes its program."""
    def read():
        with open(f"/proc/{pid}/environ") as file:
            return dict(line.split("=", 1) for line in file.read().split("\0") if line)

    return wait_for(read, f"the variables of process {pid}")


def quota_of(cgroup):
    """Microseconds of CPU time in each period."""
    for path in (f"/sys/fs/cgroup/cpu{cgroup}/cpu.cfs_quota_us", f"/sys/fs/cgroup{cgroup}/cpu.max"):
        if os.path.exists(path):
            with open(path) as file:
                return int(file.read().split()[0])
    raise AssertionError(f"no quota of {cgroup}")


def test_processes_of_the_old_contract_run_on_their_cpus(cluster, operator, ready):
    cluster.api.create(pod(cluster, "old", LISTED))
    spec = cluster.await_running("old")["spec"]["containers"][0]
    assert spec["resources"]["limits"] == {EXCLUSIVE: "1", SHARED: "500", "cpu": "2"}
    wait_for(lambda: {"1001", "1002"} <= set(affinities(ready, "old")), "both processes")
    found = affinities(ready, "old")
    assert (found["1001"], found["1002"]) == ("1", "0")
    assert "/etc/podinfo/cpus" in found  # nrdctl, which waits for them
    assert quota_of(ready.workload_of("old")["cgroup"]) == 2 * 100_000  # one CPU and all of the shared pool, of each 100 ms
    cluster.delete_pod("old")
    await_no_workloads(ready)


def test_the_last_process_of_the_new_contract_is_the_containers(cluster, operator, ready):
    cluster.api.create(pod(cluster, "new", LISTED, limits={EXCLUSIVE: 1, SHARED: "0.5k"}))
    cluster.await_running("new")
    wait_for(lambda: affinities(ready, "new") == {"1001": "1", "1002": "0"}, "the two processes alone")


def test_a_container_with_an_exclusive_cpu_has_nothing_else_and_knows_it(cluster, ready):
    """Without the annotation, and whatever the pod's author sets."""
    lies = [{"name": name, "value": "7"} for name in ("EXCLUSIVE_CPUS", "SHARED_CPUS", "CPU_POOLS")]
    note = {"nrd.internal/devices.pool-fast": '{"resource": "nokia.k8s.io/fast", "ids": ["7"]}'}  # kubelet's is in the container
    cluster.api.create(cluster.pod("plain", cluster.container(limits={EXCLUSIVE: 1}, env=lies), annotations=note))
    cluster.await_running("plain")
    workload = ready.workload_of("plain")
    for pid in ready.processes_of(workload):
        assert allowed(pid) == "1"
        variables = variables_of(pid)
        assert (variables["EXCLUSIVE_CPUS"], variables["CPU_POOLS"]) == ("1", "exclusive")
    cluster.await_event("plain", "container main: the value of EXCLUSIVE_CPUS has no effect: the node sets it")
    cluster.await_event("plain", "annotation nrd.internal/devices.pool-fast has no effect: kubelet tells the devices of containers")
    cluster.delete_pod("plain")
    await_no_workloads(ready)


def test_a_container_with_cpus_of_two_exclusive_pools_knows_which_are_which(cluster, ready):
    ready.reconfigure(POOLS.replace("common", "faster").replace('"shared"', '"exclusive"\nthreads = "any"'))
    try:
        other = "nokia.k8s.io/faster"
        ready.await_allocatable(other, 1)
        cluster.run_pod("two", limits={EXCLUSIVE: 1, other: 1})
        for pid in ready.processes_of(ready.workload_of("two")):
            assert variables_of(pid)["NRD_POOLS"] == "fast=1;faster=0"
            assert allowed(pid) == "0-1"
        cluster.delete_pod("two")
        await_no_workloads(ready)
    finally:
        ready.reconfigure(POOLS)


@pytest.mark.parametrize("name", ["client", "nrd", "containerd"])
def test_a_container_keeps_its_cpu_over_kill_9(cluster, ready, name):
    cluster.run_pod("kept", limits={EXCLUSIVE: 1})
    process = getattr(ready, name)
    process.kill9()
    process.start()
    ready.await_nrd()
    wait_for(lambda: (ready.workload_of("kept") or {}).get("cpu", {}).get("exclusive") == "1", "the grant")
    assert {allowed(pid) for pid in ready.processes_of(ready.workload_of("kept"))} == {"1"}
    cluster.await_running("kept")


@pytest.mark.parametrize(("text", "refusal"), [
    (json.dumps(LISTED), "annotation nokia.k8s.io/cpus: /0/processes/0/pool: the container does not request nokia.k8s.io/fast"),
    (json.dumps(LISTED).replace("500", "1.5"), "annotation nokia.k8s.io/cpus: /0/processes/1/cpus: 1.5 is out of range; expected a whole number"),
    (json.dumps(LISTED).replace("common", "slow"), 'annotation nokia.k8s.io/cpus: /0/processes/1/pool: unknown pool "slow"; expected one of common, fast'),
    ("[", "annotation nokia.k8s.io/cpus: /: not JSON"),
], ids=["request", "fraction", "pool", "json"])
def test_without_the_webhook_the_node_refuses_with_the_same_words(cluster, ready, text, refusal):
    cluster.api.create(pod(cluster, "bad", None, text))
    cluster.await_event("bad", refusal)
    assert ready.workloads() == []


def test_without_the_webhook_a_shared_amount_has_to_match(cluster, ready):
    cluster.api.create(pod(cluster, "bad", LISTED, limits={EXCLUSIVE: 1, SHARED: 400}))
    cluster.await_event("bad", "annotation nokia.k8s.io/cpus: /0/processes: 500 thousandths of a CPU of pool common, but the container requests 400; expected equal numbers")
    assert ready.workloads() == []


DEFAULT_POOL = POOLS.replace("[os]", '[cpu]\ndefault_pool = "common"\n[os]')


def process_of(pod):
    """The first of its container, which may have no workload."""
    container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            with open(f"/proc/{pid}/cgroup") as file:
                if container in file.read():
                    return pid
        except OSError:  # it has ended
            continue
    raise AssertionError(f"no process of {container}")


@pytest.fixture
def default_pool(ready):
    ready.reconfigure(DEFAULT_POOL)
    yield ready
    ready.reconfigure(POOLS)


def test_a_container_that_asks_for_no_cpus_has_those_of_the_default_pool(cluster, default_pool):
    assert allowed(process_of(cluster.run_pod("plain"))) == "0"
    ways = process_of(cluster.run_pod("ways", limits={WAYS: 2}))
    assert allowed(ways) == "0" and not {"SHARED_CPUS", "EXCLUSIVE_CPUS", "CPU_POOLS"} & set(variables_of(ways))
    grant = default_pool.workload_of("ways")["cpu"]
    assert (grant["pool"], grant["exclusive"], grant["enforced"]["by"]) == ("common", "", "runtime")
    assert allowed(process_of(cluster.run_pod("fast", limits={EXCLUSIVE: 1}))) == "1"
    assert len(default_pool.workloads()) == 2


def test_containers_start_without_nrd_and_move_into_the_default_pool_later(cluster, ready):
    everything = f"0-{os.cpu_count() - 1}"
    before = process_of(cluster.run_pod("before"))
    ready.nrd.kill9()
    without = process_of(cluster.run_pod("without"))
    assert allowed(before) == allowed(without) == everything
    ready.reconfigure(DEFAULT_POOL)
    try:
        wait_for(lambda: allowed(before) == allowed(without) == "0", "the containers to be moved", 90)
    finally:
        ready.reconfigure(POOLS)


def test_a_running_container_follows_the_cpus_of_its_shared_pool(cluster, default_pool):
    """Both the container that asks for CPUs of the pool and the one that asks for ways alone."""
    asks = process_of(cluster.run_pod("asks", limits={SHARED: 500}))
    ways = process_of(cluster.run_pod("ways", limits={WAYS: 2}))
    assert allowed(asks) == allowed(ways) == "0"
    default_pool.reconfigure(DEFAULT_POOL.replace('cpus = "1"', 'cpus = "2"').replace('"2-15"', '"3-15"').replace('cpus = "0"', 'cpus = "0-1"'))
    try:
        wait_for(lambda: allowed(asks) == allowed(ways) == "0-1", "the containers to be moved", 90)
    finally:
        default_pool.reconfigure(DEFAULT_POOL)
    wait_for(lambda: allowed(asks) == allowed(ways) == "0", "the containers to be moved back", 90)


def test_a_container_with_ways_moves_into_another_default_pool(cluster, default_pool):
    ways = process_of(cluster.run_pod("ways", limits={WAYS: 2}))
    other = DEFAULT_POOL.replace('"fast"', '"other"').replace('"exclusive"\nthreads = "any"', '"shared"').replace('default_pool = "common"', 'default_pool = "other"')
    default_pool.reconfigure(other)
    try:
        wait_for(lambda: allowed(ways) == "1", "the container to be moved", 90)
        assert default_pool.workload_of("ways")["cpu"]["pool"] == "other"
    finally:
        default_pool.reconfigure(DEFAULT_POOL)


def test_pods_follow_each_other_on_an_exclusive_cpu(cluster, ready):
    run_job(cluster, ready, EXCLUSIVE, pods=12, at_once=1)
