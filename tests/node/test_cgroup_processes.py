"""Workloads of cgroups that nrd only follows, with real cgroups of this host: of version 2, or of memory or pids in version 1."""

import contextlib
import os
import subprocess

import pytest

from harness import DEADLINE, Node, Refused, wait_for

CONFIG = "[drift]\ninterval_seconds = 1\n[tasks]\ninterval_seconds = 1\n"
CGROUPS = "/sys/fs/cgroup"


def hierarchy():
    if os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        return CGROUPS
    return next(path for path in (f"{CGROUPS}/memory", f"{CGROUPS}/pids") if os.path.exists(f"{path}/cgroup.procs"))


class Cgroup:
    """Like a container's, below a folder that is that of the runtime."""

    def __init__(self):
        self.path = f"/nrd-test-{os.getpid()}/pod/container"
        self.folder = hierarchy() + self.path
        self.started = []

    def make(self):
        os.makedirs(self.folder)

    def start(self):
        """As kubectl exec does: a process that is no child of the others, in the cgroup before its program begins."""
        process = subprocess.Popen(["/bin/sh", "-c", f"echo $$ > {self.folder}/cgroup.procs; exec sleep 1000"])
        self.started.append(process)
        wait_for(lambda: str(process.pid) in self.processes(), "the process to be in the cgroup")
        return process

    def processes(self):
        with open(f"{self.folder}/cgroup.procs") as file:
            return file.read().split()

    def stop(self):
        for process in self.started:
            process.kill()
            process.wait(DEADLINE)
        self.started = []

    def remove(self):
        self.stop()
        for folder in (self.folder, os.path.dirname(self.folder), os.path.dirname(os.path.dirname(self.folder))):
            with contextlib.suppress(FileNotFoundError):
                wait_for(lambda folder=folder: not removed(folder), "the cgroup to be empty")


def removed(folder):
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return None
    except OSError:
        return folder
    return None


@pytest.fixture
def cgroup():
    cgroup = Cgroup()
    try:
        yield cgroup
    finally:
        cgroup.remove()


@pytest.fixture
def node():
    with Node(CONFIG, sockets=1, cpus=4) as node:
        yield node


def tasks_of(node):
    return set(node.hardware().get("COS2", {"tasks": []})["tasks"])


def asked(cgroup, seconds=300, **more):
    return {"cgroup": cgroup.path, "owner": {"cgroup": True, "within_seconds": seconds}, "cache": {"max": 2, "min": 2}, **more}


def test_processes_that_come_later_are_added_and_the_workload_ends_with_the_last(node, cgroup):
    workload = node.call("POST", "/v1/workloads", asked(cgroup))  # before the runtime has made it
    cgroup.make()
    first = cgroup.start()
    wait_for(lambda: tasks_of(node) == {first.pid}, "the first process to be in the class")
    second = cgroup.start()
    wait_for(lambda: tasks_of(node) == {first.pid, second.pid}, "the second process to be in the class")
    assert [each["id"] for each in node.list()] == [workload["id"]]
    cgroup.stop()
    wait_for(lambda: node.list() == [], "the workload to end with its cgroup")
    node.assert_consistent(set())


def test_a_cgroup_with_ways_of_l2_alone_is_counted_on_all_caches(cgroup):
    cgroup.make()
    cgroup.start()
    with Node(CONFIG, l2_cat=True) as node:
        id = node.call("POST", "/v1/workloads", {"cgroup": cgroup.path, "l2": {"ways": 2}})["id"]
        assert [cache["id"] for cache in node.call("GET", f"/v1/workloads/{id}/monitoring")["caches"]] == [0, 1]


def test_a_workload_whose_cgroup_has_no_process_in_time_ends(node, cgroup):
    cgroup.make()
    node.call("POST", "/v1/workloads", asked(cgroup, seconds=1))
    wait_for(lambda: node.list() == [], "the workload to end")


def test_nrd_notices_changes_of_the_cgroup_from_while_it_was_down(node, cgroup):
    cgroup.make()
    first = cgroup.start()
    node.call("POST", "/v1/workloads", asked(cgroup))
    node.kill9()
    second = cgroup.start()
    node.start()
    wait_for(lambda: tasks_of(node) == {first.pid, second.pid}, "both processes to be in the class")
    node.kill9()
    cgroup.stop()
    node.start()
    wait_for(lambda: node.list() == [], "the workload to end")


@pytest.mark.skipif(hierarchy() == CGROUPS, reason="cgroups of version 2 can be limited")
def test_a_cgroup_of_version_1_is_not_limited_by_nrd(node, cgroup):
    cgroup.make()
    with Node(CONFIG + '[[cpu.pools]]\nname = "fast"\ncpus = "1-3"\nkind = "exclusive"\n', sockets=1, cpus=4) as other:
        with pytest.raises(Refused, match="422"):
            other.call("POST", "/v1/workloads", asked(cgroup, cpu={"count": 1}))
        made = other.call("POST", "/v1/workloads", asked(cgroup, cpu={"count": 1, "enforce": "runtime"}))
        assert made["cpu"]["cpus"] == "1"


@pytest.fixture
def cpuset_of_cpu_0():
    folder = f"{CGROUPS}/cpuset/nrd-test-{os.getpid()}"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("there is no writable cpuset of version 1 here")
    for file in ("cpus", "mems"):
        with open(f"{folder}/cpuset.{file}", "w") as list_of_it:
            list_of_it.write("0")
    process = subprocess.Popen(["/bin/sh", "-c", f"echo $$ > {folder}/cgroup.procs; exec sleep 1000"])
    wait_for(lambda: open(f"{folder}/cgroup.procs").read() != "", "the process to be in the cpuset")
    yield os.path.basename(folder), process
    process.kill()
    process.wait(DEADLINE)
    wait_for(lambda: not removed(folder), "the cpuset to be empty")


def test_cpus_that_a_cpuset_of_version_1_lacks_are_refused_with_its_name(cpuset_of_cpu_0):
    name, process = cpuset_of_cpu_0
    with Node('[[cpu.pools]]\nname = "fast"\ncpus = "1"\nkind = "exclusive"\nthreads = "any"\n', sockets=1, cpus=2) as node:
        with pytest.raises(Refused) as refused:
            node.call("POST", "/v1/workloads", {"task_ids": [str(process.pid)], "cpu": {"count": 1}})
        assert refused.value.status == 409, refused.value.text
        assert f"its cgroup /{name} has CPU 0" in refused.value.text
