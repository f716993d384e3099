"""nrdctl run: what a command gets is there while it runs, and gone when it ends, however it ends."""

import contextlib
import json
import os
import subprocess

import pytest

from harness import DEADLINE, NRDCTL, Node, process, refusal, wait_for
from nrdctl import CLEAN, comm_of, run, start_run
from shared_node import node, shared  # noqa: F401


@pytest.fixture
def fresh():
    with Node() as node:
        yield node


@contextlib.contextmanager
def started(node, *arguments):
    with start_run(node, "--cpus", "0", "--ways", "2", "--", *arguments, stdout=subprocess.PIPE, text=True) as command:
        # The workload is listed before nrdctl has its answer, without which it would not run the command.
        wait_for(lambda: comm_of(command.pid) == os.path.basename(arguments[0]), "the command to run")
        yield command


def wait_until_free(node):
    wait_for(lambda: node.list() == [], "the workload to go")
    node.assert_consistent(set())


def test_the_command_has_its_ways_and_its_cpus_and_is_itself(node):
    script = f"{NRDCTL} --json --socket {node.socket} workload list; grep -E 'SigIgn|SigBlk|Cpus_allowed_list' /proc/self/status; echo $$; exit 7"
    with start_run(node, "--cpus", "0", "--ways", "2", "--", "/bin/sh", "-c", script, stdout=subprocess.PIPE, text=True) as command:
        lines = command.communicate(timeout=DEADLINE)[0].splitlines()
    workload, = json.loads(lines[0])
    assert command.returncode == 7
    assert workload["core_ids"] == ["0"] and workload["cache"] == {"max": 2, "min": 2}
    assert workload["owner"]["pid"] == command.pid == int(lines[-1])
    assert sorted(lines[1:-1]) == ["Cpus_allowed_list:\t0", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]
    wait_until_free(node)


def test_all_is_given_back_after_kill_9(fresh):
    with started(fresh, "sleep", "1000"):
        fresh.assert_consistent({"1"})
    wait_until_free(fresh)
    assert "OWNER_ENDED" in fresh.journal()


def test_the_journal_names_a_workload_that_ends_with_its_owner_by_the_id_that_its_client_chose(fresh):
    with process() as owner:
        fresh.create("0", 2, 2, id="batch", owner={"pid": owner.pid})
    wait_for(lambda: "OWNER_ENDED" in fresh.journal(), "the deletion to be logged")
    line, = [line for line in fresh.journal().splitlines() if "OWNER_ENDED" in line]
    assert "WORKLOAD=batch" in line


def test_a_command_that_ends_while_nrd_is_down_is_not_forgotten(node):
    with started(node, "sleep", "1000"):
        node.kill9()
    node.start()
    wait_until_free(node)


def test_a_command_that_goes_on_keeps_all_over_a_restart(fresh):
    with started(fresh, "sleep", "1000"):
        fresh.kill9_and_start()
        fresh.assert_consistent({"1"})
    wait_until_free(fresh)


def test_a_client_may_delete_it_sooner(fresh):
    with started(fresh, "sleep", "1000") as command:
        fresh.delete(fresh.list()[0]["id"])
        fresh.assert_consistent(set())
        assert command.poll() is None
    fresh.create("0", 2, 2)
    fresh.assert_consistent({"2"})


def test_a_temporary_refusal_exits_with_75_and_leaves_nothing(node):
    node.create("1", 5, 5)
    done = run(node, "--cpus", "0", "--ways", "5", "--", "true")
    assert done.returncode == 75 and "--ways: needs 5 contiguous ways on cache 0" in done.stderr
    done = run(node, "--cpus", "1", "--max", "0", "--min", "0", "--", "true")
    assert done.returncode == 75 and "--cpus: CPU 1 belongs to workload" in done.stderr
    assert len(node.list()) == 1


@pytest.mark.parametrize("arguments, code, says", [
    (["--onload", "--", "true"], 1, "not loaded"),
    (["--ways", "2", "--", "true"], 2, "--cpus"),
    (["--cpus", "x", "--", "true"], 2, "--cpus"),
    (["-e", "EF_A", "--", "true"], 2, "NAME=VALUE"),
    (["--require-accel", "--", "true"], 2, "--onload"),
    (["--onload", "--require-accel", "--allow-unaccelerated", "--", "true"], 2, "--require-accel"),
    (["--cpus", "0", "--ways", "99", "--", "true"], 1, "ways"),
])
def test_exit_codes_name_the_error_and_nothing_is_left(node, arguments, code, says):
    done = run(node, *arguments)
    assert done.returncode == code and says in done.stderr, done
    wait_until_free(node)


def test_cpus_that_the_command_cannot_have_are_refused(node):
    """The kernel would run it on those that are left."""
    for cpus, missing in (("0,8000-8001", "8000-8001"), ("8000", "8000")):
        done = run(node, "--cpus", cpus, "--", "echo", "started")
        assert done.returncode == 1 and f"--cpus: CPU {missing} does not exist" in done.stderr and not done.stdout, done
        assert "allowed: CPUs of 0" in done.stderr


def test_variables_are_the_commands(node):
    done = run(node, "-e", "EF_A=a=b", "-e", "EF_B=", "--", "/usr/bin/env")
    assert done.returncode == 0 and {"EF_A=a=b", "EF_B="} <= set(done.stdout.splitlines())


def test_without_onload_only_if_that_is_allowed(node):
    done = run(node, "--onload=latency", "--allow-unaccelerated", "--", "/usr/bin/env")
    assert done.returncode == 0 and "without Onload" in done.stderr
    assert "LD_PRELOAD" not in done.stdout


def test_without_nrd_only_if_that_is_allowed(fresh):
    fresh.kill9()
    done = run(fresh, "--cpus", "0", "--ways", "2", "--", "echo", "hello")
    assert (done.returncode, done.stdout) == (3, "")
    done = run(fresh, "--offline", "--cpus", "0", "--ways", "2", "--", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert (done.returncode, done.stdout) == (0, "Cpus_allowed_list:\t0\n")


def test_an_owner_must_run_now_and_the_caller_is_known_on_the_socket_only(node):
    gone = subprocess.Popen(["true"])
    gone.wait()
    body = {"core_ids": ["0"], "cache": {"max": 2, "min": 2}}
    for owner, field in (({"pid": gone.pid}, "/owner/pid"), ({"caller": True}, "/owner/caller"), ({"pid": 0}, "/owner/pid"),
                         ({}, "/owner"), ({"pid": 1, "caller": True}, "/owner"), ({"caller": False}, "/owner/caller"), (7, "/owner")):
        refused = refusal(node.call, "POST", "/v1/workloads", {**body, "owner": owner})
        assert refused.status == 400 and field in refused.text, owner
    assert node.list() == []


def watched(node):
    """Number of processes whose end the daemon awaits."""
    folder = f"/proc/{node.daemon.pid}/fd"
    return sum("[pidfd]" in target_of(f"{folder}/{name}") for name in os.listdir(folder))


def target_of(link):
    """What a link in /proc names; nothing if the file was closed after it was listed."""
    with contextlib.suppress(FileNotFoundError):
        return os.readlink(link)
    return ""


def test_the_owner_of_a_refused_request_is_not_watched(fresh):
    body = {"core_ids": ["0"], "owner": {"pid": os.getpid()}}
    assert refusal(fresh.call, "POST", "/v1/workloads", {**body, "cache": {"max": 11, "min": 11}})
    assert watched(fresh) == 0
    made = fresh.call("POST", "/v1/workloads", {**body, "cache": {"max": 2, "min": 2}})
    wait_for(lambda: watched(fresh) == 1, "the owner to be watched")
    fresh.delete(made["id"])


def by_url(node, *before):
    """nrdctl run over plain HTTP, where nrd does not learn the caller from the kernel; not as root."""
    words = [*before, "setpriv", "--reuid=65534", "--clear-groups", NRDCTL, "--url", f"http://127.0.0.1:{node.port}", "run", "--cpus", "0", "--ways", "2", "--", "echo", "hello"]
    return subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE, env=CLEAN)


def test_a_pid_of_another_namespace_owns_no_workload(node):
    """In a container this process has a pid that on the node belongs to another process, which may run for ever."""
    assert by_url(node).stdout == "hello\n"
    wait_until_free(node)
    done = by_url(node, "unshare", "--pid", "--fork", "--mount-proc")
    assert (done.returncode, done.stdout) == (1, "") and "--owner: process 1 has a different start time" in done.stderr, done
    assert node.list() == []
