"""Workloads for processes and threads: what the kernel's files say about real tasks of this host."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import pytest
from fault_scenarios import assert_one_line, refusals_of_each_write
from harness import Node, refusal, wait_for
from nrdctl import nrdctl
from shared_node import node  # noqa: F401

CONFIG = "[drift]\ninterval_seconds = 0\n[tasks]\ninterval_seconds = {tasks}\n"
SMALL = {"closids": 4, "sockets": 1, "cpus": 8}
PROGRAM = """
import subprocess, sys, threading
stop = threading.Event()
for line in sys.stdin:
    if line == "thread\\n":
        thread = threading.Thread(target=stop.wait, daemon=True)
        thread.start()
        print(thread.native_id, flush=True)
    if line == "child\\n":
        print(subprocess.Popen(["sleep", "infinity"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid, flush=True)
    if line == "pid\\n":
        print(__import__("os").getpid(), flush=True)
"""


class Program:
    """A process that starts threads and children on request."""

    def __init__(self, threads=0):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)
        self.ask("pid")  # it runs
        self.threads = {self.process.pid} | {self.ask("thread") for _ in range(threads)}

    @property
    def id(self):
        return str(self.process.pid)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def tasked(tasks=0, **more):
    return Node(CONFIG.format(tasks=tasks), **{**SMALL, **more})


@pytest.fixture(scope="module")
def shared():
    with tasked() as node:
        yield node


def create(node, *ids, most=2, least=2, **more):
    return node.call("POST", "/v1/workloads",
                     {"task_ids": [str(id) for id in ids], "cache": {"max": most, "min": least}, **more})


def members(node, name="COS2"):
    return set(node.hardware().get(name, {"tasks": []})["tasks"])


def image(node):
    return {name: (group["L3"], group.get("MB"), group["cpus"], group["tasks"]) for name, group in node.hardware().items()}


def refused(call, *arguments, **named):
    error = refusal(call, *arguments, **named)
    assert_one_line(error.text)
    return error.status, error.text


def test_a_process_gets_ways_for_all_its_threads_and_returns_them(node):
    with Program(threads=3) as program, Program() as other:
        before = image(node)
        workload = create(node, program.id)
        assert workload["task_ids"] == [program.id] and "core_ids" not in workload
        assert (workload["status"], workload["pool"], workload["cos_name"]) == ("Successful", "guarantee", "COS2")
        assert members(node) == program.threads and not members(node, "COS3")
        assert node.call("GET", f"/v1/workloads/{workload['id']}") == workload
        second = create(node, other.id, most=1, least=1)
        assert members(node, second["cos_name"]) == {other.process.pid}
        node.delete(second["id"])
        node.delete(workload["id"])
        assert image(node) == before and node.list() == []


def test_a_thread_id_selects_that_thread_only(node):
    with Program(threads=2) as program:
        thread = max(program.threads - {program.process.pid})
        create(node, thread)
        assert members(node) == {thread}


def test_tasks_go_beside_cpus_and_a_cpu_of_one_may_run_tasks_of_another(node):
    with Program() as program:
        node.create("0-1", 1, 1)
        workload = node.call("POST", "/v1/workloads",
                             {"core_ids": ["4"], "task_ids": [program.id], "rdt": {"cache": {"max": 2, "min": 2}}})
        assert (workload["core_ids"], workload["task_ids"]) == (["4"], [program.id])
        group = node.hardware()[workload["cos_name"]]
        assert group["cpus"] == "4" and group["tasks"] == [program.process.pid]
        gone = node.call("PATCH", f"/v1/workloads/{workload['id']}", {"task_ids": None})
        assert "task_ids" not in gone and not members(node, workload["cos_name"])


def test_invalid_tasks_are_refused_with_the_reason_and_nothing_changes():
    ended = subprocess.Popen(["true"])
    ended.wait()
    with tasked() as node, Program() as program, Program() as other:
        create(node, program.id)
        before = image(node), node.list()
        cache = {"max": 1, "min": 1}
        status, text = refused(create, node, ended.pid)
        assert (status, text) == (400, f"Failed to validate workload. Reason: The task: {ended.pid} does not exist\n")
        status, text = refused(create, node, program.id)
        assert (status, text) == (400, "Failed to validate workload. Reason: Workload validation in database failed. Details: "
                                       f"TaskID {program.id} already exists in workload 1\n")
        for ids in ("1", [1], ["0"], ["-1"], ["x"], ["1.5"], [""], ["1"] * 1025):
            status, text = refused(node.call, "POST", "/v1/workloads", {"task_ids": ids, "cache": cache})
            assert status == 400 and "/task_ids" in text, text
        assert refused(node.call, "POST", "/v1/workloads", {"task_ids": [other.id], "pstate": {"max_ratio": 20}})[0] == 400
        assert refused(node.call, "POST", "/v1/workloads", {"cache": cache})[1].endswith("No task or core id specified\n")
        assert refused(node.call, "PATCH", "/v1/workloads/1", {"task_ids": None})[0] == 400
        assert (image(node), node.list()) == before
        node.sim.run_inside(["sh", "-c", f"mkdir -p /sys/fs/resctrl/COS3 && echo {other.id} > /sys/fs/resctrl/COS3/tasks"])
        other_group = image(node)
        assert refused(create, node, other.id)[0] == 409
        assert image(node) == other_group
        assert [workload["shared_with"] for workload in node.list()] == [["COS3"]]
        node.sim.run_inside(["rmdir", "/sys/fs/resctrl/COS3"])


def test_a_dry_run_moves_nothing(node):
    with Program() as program:
        before = image(node)
        planned = node.call("POST", "/v1/workloads?dry_run=true", {"task_ids": [program.id], "cache": {"max": 2, "min": 2}})
        assert {"knob": f"class of process {program.id}", "from": "COS0", "to": "COS2"} in planned["changes"]
        assert image(node) == before


def test_a_patch_replaces_tasks(node):
    with Program(threads=1) as program, Program() as other:
        path = "/v1/workloads/" + create(node, program.id)["id"]
        revision = node.health()["revision"]
        node.call("PATCH", path, {"task_ids": [program.id]})
        assert node.health()["revision"] == revision
        node.call("PATCH", path, {"task_ids": [other.id]})
        assert members(node) == {other.process.pid}
        node.call("PATCH", path, {"cache": {"max": 0, "min": 0}})
        assert members(node, node.list()[0]["cos_name"]) == {other.process.pid}


def writes_of_a_creation():
    with tasked() as node, Program() as program:
        node.sim.control("reset")
        create(node, program.id)
        return [index + 1 for index, entry in enumerate(node.sim.log()) if entry.startswith("write COS2/tasks")]


def test_a_thread_that_appears_during_the_move_is_moved_as_well():
    first = writes_of_a_creation()[0]
    with tasked() as node, Program() as program:
        node.sim.control("reset")
        node.sim.control(f"fault write {first} delay 1000")
        creation = threading.Thread(target=create, args=(node, program.id))
        creation.start()
        wait_for(lambda: node.sim.writes() >= first - 1, "the move to begin")
        late = program.ask("thread")
        creation.join()
        assert members(node) == {program.process.pid, late}


def test_threads_of_a_process_that_are_elsewhere_are_put_into_the_class():
    with tasked(tasks=1) as node, Program(threads=1) as program:
        create(node, program.id)
        node.sim.run_inside(["sh", "-c", f"echo {max(program.threads)} > /sys/fs/resctrl/tasks"])
        late = program.ask("thread")
        wait_for(lambda: members(node) == program.threads | {late}, "all threads in the class")
        assert node.list()[0]["status"] == "Successful" and node.health()["drift_repairs"] == 0


def test_a_workload_ends_with_its_last_task():
    with tasked(tasks=1) as node, Program() as program, Program() as other:
        before = image(node)
        create(node, program.id, other.id)
        child = program.ask("child")
        assert child in members(node)  # the kernel gave it the class of its parent
        program.process.kill()
        program.process.wait()
        wait_for(lambda: node.list()[0]["task_ids"] == [other.id], "the task to be forgotten")
        other.end()
        wait_for(lambda: node.list() == [], "the workload to go")
        assert image(node) == before
        assert node.rows("SELECT count(*) FROM baseline WHERE kind = 'task'") == [(0,)]


def test_a_workload_for_cpus_outlives_its_tasks():
    with tasked(tasks=1) as node, Program() as program:
        create(node, program.id, core_ids=["5"])
        program.end()
        wait_for(lambda: "task_ids" not in node.list()[0], "the task to be forgotten")
        assert node.list()[0]["core_ids"] == ["5"]
        node.assert_consistent({"1"})


def test_killed_and_started_again_nrd_knows_its_tasks():
    with tasked() as node, Program(threads=2) as program, Program() as other:
        before = image(node)
        workload = create(node, program.id)
        create(node, other.id)
        after = image(node)
        node.kill9_and_start()
        assert node.call("GET", "/v1/workloads/1") == workload and image(node) == after
        node.kill9()
        other.end()
        node.start()
        assert node.list() == [workload]
        program.end()
        node.reboot()
        assert node.list() == [] and image(node) == before


def test_a_reused_pid_gets_nothing():
    with tasked() as node, Program() as program:
        before = image(node)
        create(node, program.id)
        node.kill9()
        # As if it had been a process that started before.
        for table, column, where, start in (("workload", "document", "", "$.spec.tasks[0].start"),
                                            ("baseline", "key", "WHERE kind = 'task'", "$.task.start")):
            earlier = f"json_set({column}, ?1, json_extract({column}, ?1) - 1)"
            node.change_store(f"UPDATE {table} SET {column} = {earlier} {where}", (start,))
        node.sim.run_inside(["sh", "-c", f"echo {program.id} > /sys/fs/resctrl/tasks"])
        node.start()
        assert node.list() == [] and image(node) == before


def test_a_creation_asked_for_again_is_answered_also_when_its_task_has_ended():
    with tasked() as node, Program() as program, Program() as owner:
        def ask(key, **more):
            body = {"task_ids": [program.id], "cache": {"max": 2, "min": 2}, **more}
            return node.request("POST", "/v1/workloads", body, {"Content-Type": "application/json", "Idempotency-Key": key})

        owned = {"task_ids": None, "core_ids": ["4"], "owner": {"pid": owner.process.pid}}
        assert ask("task")[0] == 201 and ask("owner", **owned)[0] == 201
        program.end()
        owner.end()
        status, text, headers = ask("task")
        assert (status, headers["Location"], json.loads(text)["id"]) == (201, "/v1/workloads/1", "1")
        assert ask("task", task_ids=[program.id, "1"])[0] == 422
        assert ask("new")[0] == 400
        wait_for(lambda: len(node.list()) == 1, "the workload to go with its owner")
        status, text, _ = ask("owner", **owned)
        assert status == 409 and "has been deleted" in text


SCENARIOS = {
    "create": (False, lambda node, a, b: create(node, a.id)),
    "delete": (True, lambda node, a, b: node.delete("1")),
    "patch": (True, lambda node, a, b: node.call("PATCH", "/v1/workloads/1", {"task_ids": [b.id]})),
}


@pytest.mark.parametrize("fault", ["errno EIO", "lie"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_write_failing_leaves_all_as_it_was_or_as_asked_for(name, fault):
    has_workload, request = SCENARIOS[name]
    with Program(threads=1) as first, Program(threads=1) as second:
        @contextlib.contextmanager
        def node_before():
            with tasked() as node:
                if has_workload:
                    create(node, first.id)
                node.sim.control("reset")
                yield node

        refusals = refusals_of_each_write(node_before, lambda node: request(node, first, second), image, fault)
        assert refusals >= 2, refusals


def test_killed_at_each_write_nrd_ends_before_or_after():
    with Program(threads=1) as program:
        with tasked() as node:
            before = image(node)
            node.sim.control("reset")
            create(node, program.id)
            after, writes = image(node), node.sim.writes()
        for nth in range(1, writes + 1):
            with tasked() as node:
                node.sim.control("reset")
                node.sim.control(f"fault write {nth} kill-after")
                with contextlib.suppress(Exception):
                    create(node, program.id)
                node.wait_dead()
                node.start()
                assert image(node) == (after if node.list() else before), nth


def test_nrdctl_names_tasks(node):
    with Program() as program:
        assert f"tasks {program.id}" in nrdctl(node, "workload", "create", "--task-ids", program.id, "--ways", "2")
        assert "--task-ids" in nrdctl(node, "workload", "create", "--ways", "2", exit=2)
        assert json.loads(nrdctl(node, "--json", "workload", "list"))[0]["task_ids"] == [program.id]