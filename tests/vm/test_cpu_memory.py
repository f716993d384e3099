"""Memory of real processes on a machine with two NUMA nodes, beside a real systemd: on which node its pages are."""

import re

import pytest

from pool_node import CGROUPS, LONG, NRDCTL, SystemdNode, pooled
from rdt_node import started
from daemon_node import SOCKET
from shape import Shape

pytestmark = LONG
SHAPE = Shape(threads=1, numa=True)  # CPUs 0-1 and 2-3
CONFIG = pooled("0", "1-3", tasks=1)
MEGABYTES = 64
# Takes its memory from the node of the CPU that it starts on, and then runs anywhere it may.
PROGRAM = f"""
import mmap, os, sys, time
if sys.argv[1:]: os.sched_setaffinity(0, {{int(sys.argv[1])}})
memory = mmap.mmap(-1, {MEGABYTES} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, len(memory), 4096): memory[page] = 1
if sys.argv[1:]: os.sched_setaffinity(0, range(4))
open(f"/run/ready.{{os.getpid()}}", "w").close()
time.sleep(100000)
"""
FAR = {"pool": "fast", "count": 1, "near": ["node:1"], "strict": True, "memory": "near"}


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(SystemdNode, tmp_path_factory, CONFIG, cpu=SHAPE, systemd=True) as node:
        node.vm.write("/run/fill.py", PROGRAM)
        yield node


def pages(node, pid):
    """Of its memory, megabytes on each node."""
    lines = node.vm.read(f"/proc/{pid}/numa_maps").splitlines()
    largest = max(lines, key=lambda line: int((re.search(r"anon=(\d+)", line) or ["", "0"])[1]))
    return {int(at): int(count) // 256 for at, count in re.findall(r"\bN(\d+)=(\d+)", largest)}


def wait_until_filled(node, pid):
    node.vm.wait_until(lambda: node.vm.run(f"test -e /run/ready.{pid} && echo yes || true").stdout == "yes\n", timeout=120, what="the memory of the program")


def moved(node, made):
    """The operation of this answer, when it has ended."""
    path = f"/v1/operations/{made['operation']['id']}"
    node.vm.wait_until(lambda: node.get(path)["state"] not in ("waiting", "moving", "applying"), timeout=120, what="the operation")
    return node.get(path)


def test_a_command_gets_memory_of_the_nodes_of_its_cpus_only(node):
    options = ["--pool", "fast", "--count", "1", "--near", "node:1", "--strict", "--memory", "near"]
    command = node.start_command([NRDCTL, "--socket", SOCKET, "run", *options, "--", "python3", "/run/fill.py"], "python3")
    assert command.poll() is None, command.output()
    wait_until_filled(node, command.pid)
    workload, = node.get("/v1/workloads")
    assert workload["cpu"]["enforced"]["mems"] == workload["cpu"]["mems"] == "1", workload
    assert pages(node, command.pid) == {1: MEGABYTES}
    node.end(command)
    node.wait_for_none()


@pytest.mark.parametrize("target", ["unit", "cgroup"])
def test_memory_of_what_runs_moves_to_the_nodes_of_its_cpus(node, target):
    if target == "unit":
        node.service("fill.service", "/usr/bin/python3 /run/fill.py 0")
        node.vm.run(["systemctl", "start", "fill"])
        name, pid, cgroup = "fill.service", node.main_of("fill"), "/system.slice/fill.service"
    else:
        node.vm.run(f"echo +cpuset > {CGROUPS}/cgroup.subtree_control; mkdir -p {CGROUPS}/fill")
        process = node.vm.spawn(["bash", "-c", f"echo $$ > {CGROUPS}/fill/cgroup.procs; exec python3 /run/fill.py 0"])
        name, pid, cgroup = "/fill", process.pid, "/fill"
    wait_until_filled(node, pid)
    assert pages(node, pid) == {0: MEGABYTES}
    status, refused = node.request("POST", "/v1/workloads", {target: name, "cpu": FAR})
    assert status == 409 and "/cpu/memory" in str(refused) and " MiB" in str(refused), refused
    assert pages(node, pid) == {0: MEGABYTES} and node.get("/v1/workloads") == []
    status, made = node.request("POST", "/v1/workloads", {target: name, "cpu": {**FAR, "migrate": True}})
    assert status == 202, made
    assert moved(node, made)["state"] == "succeeded"
    assert pages(node, pid) == {1: MEGABYTES}
    after, = node.get("/v1/workloads")
    assert after["status"] == "Successful" and after["cpu"]["enforced"]["mems"] == "1", after
    assert node.vm.read(f"{CGROUPS}{cgroup}/cpuset.mems.effective") == "1\n"
    node.delete(after)
    node.vm.wait_until(lambda: node.effective_memory(cgroup) == "0-1", timeout=60, what="all nodes")
    assert pages(node, pid) == {1: MEGABYTES}
    node.vm.run(["systemctl", "stop", "fill"]) if target == "unit" else node.end(process)
