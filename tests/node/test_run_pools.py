"""nrdctl run --pool: each way to start, use and end a command that has CPUs of a pool in a scope of systemd."""

import contextlib
import os
import pty
import shutil
import signal
import stat
import subprocess
import termios

import pytest

from cpu_host import POOLS, Host, host  # noqa: F401
from harness import DEADLINE, NRDCTL, wait_for
from nrdctl import CLEAN, comm_of, run, start_run
from reservations import public_folder
from test_cpu_quotas import Owner

FAST = ("--pool", "fast", "--count", "2")
USER = 2  # of every Debian: bin
LIMITS = """
[[server.sockets]]
path = "/run/nrd/nrd.sock"
run = ["bin"]
[cpu.quotas]
bin = {pools = ["fast"], count = 2}
"""


@pytest.fixture
def limited(tmp_path):
    """A host whose user bin has the role run and a quota of two CPUs."""
    with Host(tmp_path, POOLS + LIMITS) as host:
        os.chmod(host.node.folder, 0o711)
        yield host


@contextlib.contextmanager
def command(host, *arguments, **more):
    """A command of nrdctl run that runs in its scope. Afterwards the host is as before."""
    before = host.traces()
    with start_run(host.node, *FAST, "--", *arguments, **more) as process:
        wait_for(lambda: runs_in_scope(host, process.pid), "the command in its scope")
        yield process
    assert_free(host, before)


def runs_in_scope(host, pid):
    workloads = host.node.list()
    if not workloads or comm_of(pid) == "nrdctl":
        return False
    name = scope_of(host).rpartition("/")[2]
    assert workloads[0]["cpu"]["enforced"] == {"by": "scope", "name": name, "effective": "2-3"}
    assert (host.cpus(scope_of(host)), host.property(name)) == ("2-3", "2,3")
    return str(pid) in host.read(scope_of(host), "cgroup.procs").split()


def scope_of(host):
    return f"/nrd.slice/nrd-{host.node.list()[0]['id']}.scope"


def assert_free(host, before):
    wait_for(lambda: host.node.list() == [], "the workload to go")
    host.systemd.collect()
    assert host.traces() == before


def status_of(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return next(line.split()[1:] for line in file if line.startswith(name + ":"))


def test_the_exit_status_and_the_environment_are_the_commands(host):
    before = host.traces()
    script = "echo $NRD_CPUS/$NRD_CPUS_SHARED/$EXCLUSIVE_CPUS/$SHARED_CPUS/$CPU_POOLS/$NRD_WORKLOAD/$OWN; exit 7"
    done = run(host.node, *FAST, "-e", "OWN=1", "--", "/bin/sh", "-c", script)
    assert (done.returncode, done.stdout) == (7, "2-3//2,3//exclusive/1/1\n"), done
    assert_free(host, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_the_command_and_its_workload(host, number):
    with command(host, "sleep", "1000") as process:
        process.send_signal(number)
        assert process.wait(DEADLINE) == -number


def test_a_signal_reaches_the_commands_own_handler(host):
    script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"
    with command(host, "/bin/sh", "-c", script, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 5


def test_standard_input_is_the_commands(host):
    before = host.traces()
    done = run(host.node, *FAST, "--", "cat", input="one\ntwo\n")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n"), done
    assert_free(host, before)


def test_a_terminal_and_its_foreground_group_are_the_commands(host):
    before = host.traces()
    child, terminal = pty.fork()
    if child == 0:
        script = "trap 'exit 9' INT; test -t 0 && test -t 1 && stty -echo && echo ready; while :; do sleep 0.01; done"
        os.execvpe(NRDCTL, [NRDCTL, "--socket", host.node.socket, "run", *FAST, "--", "/bin/sh", "-c", script], CLEAN)
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 4096)
    assert os.tcgetpgrp(terminal) == child and status_of(child, "NSpid")[-1] == str(child)
    assert termios.tcgetattr(terminal)[3] & termios.ECHO == 0
    assert runs_in_scope(host, child)
    os.write(terminal, b"\x03")  # Ctrl-C
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    os.close(terminal)
    assert_free(host, before)


@pytest.mark.parametrize("name, code, text", [("no-such-command", 127, "command not found"), ("/no/such/command", 127, "command not found"),
                                              ("/etc/passwd", 126, "cannot be executed")])
def test_a_missing_binary_takes_no_cpus(host, name, code, text):
    before = host.traces()
    done = run(host.node, *FAST, "--", name)
    assert done.returncode == code and text in done.stderr, done
    assert host.node.list() == [] and host.traces() == before
    assert run(host.node, *FAST, "-e", "I=1", "--", "printenv", "NRD_WORKLOAD").stdout == "1\n"  # there was none before


def test_a_binary_that_the_kernel_refuses_leaves_no_workload(host, tmp_path):
    before = host.traces()
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    done = run(host.node, *FAST, "--", str(tmp_path / "broken"))
    assert done.returncode == 126 and "No such file" in done.stderr, done
    assert_free(host, before)


def test_a_setuid_binary_keeps_its_privilege_in_the_scope(limited):
    with public_folder() as folder:
        program = shutil.copy("/bin/sleep", f"{folder}/privileged")
        os.chmod(program, 0o4755)
        assert os.stat(program).st_mode & stat.S_ISUID
        with command(limited, program, "1000", user=USER, group=USER, extra_groups=[]) as process:
            assert comm_of(process.pid) == "privileged"
            assert status_of(process.pid, "Uid")[:2] == [str(USER), "0"]


def test_a_user_with_the_role_run_has_a_scope(limited):
    with command(limited, "sleep", "1000", user=USER, group=USER, extra_groups=[]) as process:
        assert limited.node.list()[0]["owner"]["pid"] == process.pid
        over = run(limited.node, "--pool", "fast", "--count", "1", "--", "echo", "started", user=USER, group=USER, extra_groups=[])
        assert (over.returncode, over.stdout) == (77, "") and "bin has 2 of 2 CPUs of pools; 1 more was requested" in over.stderr, over
        assert set(limited.systemd.units) & {"nrd-2.scope", "nrd-3.scope"} == set()


@pytest.mark.parametrize("target, field", [
    (lambda pid: {"task_ids": [str(pid)]}, "/task_ids"), (lambda pid: {"owner": {"pid": pid}}, "/owner"),
    (lambda pid: {"unit": "feed.service"}, "/unit"), (lambda pid: {"cgroup": "/jobs"}, "/cgroup")])
def test_a_user_with_the_role_run_names_no_other_process(limited, target, field):
    before = limited.traces()
    mask = status_of(limited.feed, "Cpus_allowed_list")
    with Owner(limited.node, USER, USER) as client:
        # The client names itself, unless the request names an owner.
        body = {"cpu": {"pool": "fast", "count": 1}, **target(limited.feed)}
        status, problem = client.request("POST", "/v1/workloads", body)
        assert (status, problem["code"], problem["field"]) == (403, "Forbidden", field), problem
    assert limited.node.list() == [] and limited.traces() == before
    assert status_of(limited.feed, "Cpus_allowed_list") == mask


def test_without_the_daemon_the_command_does_not_start(host):
    host.node.kill9()
    done = run(host.node, *FAST, "--", "echo", "started")
    assert (done.returncode, done.stdout) == (3, ""), done
    done = run(host.node, "--offline", *FAST, "--", "echo", "started")
    assert (done.returncode, done.stdout) == (0, "started\n") and "without CPUs" in done.stderr, done
    host.node.start()
    assert host.node.list() == []


def test_a_silent_systemd_is_a_reason_to_try_later(host):
    before = host.traces()
    host.systemd.mode = "deaf"
    done = run(host.node, *FAST, "--", "echo", "started")
    host.systemd.mode = "normal"
    assert (done.returncode, done.stdout) == (75, "") and "systemd does not answer" in done.stderr, done
    assert host.node.list() == [] and host.traces() == before


def has_started(process):
    return process.poll() is None and comm_of(process.pid) == "sleep"


def test_of_a_hundred_at_once_each_has_a_cpu_of_its_own_or_does_not_start(host):
    before = host.traces()
    one = ("--pool", "fast", "--count", "1", "--", "sleep", "1000")
    with contextlib.ExitStack() as stack:
        commands = [stack.enter_context(start_run(host.node, *one, stderr=subprocess.DEVNULL)) for _ in range(100)]
        wait_for(lambda: all(each.poll() is not None or has_started(each) for each in commands), "each to start or be refused", 120)
        running = {each.pid for each in commands if each.poll() is None}
        # 3: so many at once that the daemon did not take the connection in time.
        refused = {each.returncode for each in commands if each.pid not in running}
        assert 75 in refused and refused <= {3, 75}
        workloads = host.node.list()
        assert {each["owner"]["pid"] for each in workloads} == running and 0 < len(running) <= 5  # the pool has 5 CPUs
        assert len({each["cpu"]["exclusive"] for each in workloads}) == len(running)
        for workload in workloads:
            scope = f"/nrd.slice/{workload['cpu']['enforced']['name']}"
            assert host.read(scope, "cgroup.procs") == str(workload["owner"]["pid"])
            assert host.cpus(scope) == workload["cpu"]["exclusive"]
    assert_free(host, before)
