"""The simulated node is visible only to processes inside it, and leaves nothing behind."""

import os
import signal
import subprocess

import pytest

from harness import DEADLINE, wait_for
from simnode import SimNode, SimNodeError


def mounts():
    with open("/proc/self/mountinfo") as file:
        return file.read()


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def run(*command, options=()):
    return subprocess.run([os.environ["NRD_SIMNODE"], *options, "--", *command], capture_output=True, text=True)


def test_the_host_sees_no_mount_and_other_files(start):
    before = mounts()
    host = {path: open(path).read() for path in ("/sys/devices/system/cpu/possible", "/proc/sys/kernel/random/boot_id")}
    node = start(cpus=64, sockets=8)
    assert mounts() == before
    for path, content in host.items():
        assert open(path).read() == content
        assert node.read(path) != content


def test_the_rest_of_sys_fs_stays_visible(node):
    inside = set(node.run_inside(["ls", "/sys/fs"]).stdout.split())
    assert inside == set(os.listdir("/sys/fs")) | {"resctrl"}
    cgroups = node.run_inside(["ls", "/sys/fs/cgroup"]).stdout.split()
    assert sorted(cgroups) == sorted(os.listdir("/sys/fs/cgroup"))


def test_two_nodes_are_isolated_from_each_other(start):
    one, other = start(), start()
    one.run_inside(["mkdir", "/sys/fs/resctrl/A"])
    assert ("A" in one.dump(), "A" in other.dump()) == (True, False)


def test_nothing_is_left_when_simnode_is_killed():
    before = mounts()
    node = SimNode().start(["sleep", "infinity"])
    command = node.pid
    node.process.kill()
    node.process.wait()
    wait_for(lambda: is_gone(command), "the end of the command")
    assert mounts() == before
    node.stop()


def test_children_of_the_command_end_with_it():
    node = SimNode().start(["sh", "-c", "sleep 1000 & echo $! >&2; sleep 1000 & wait"])
    wait_for(node.stderr, "the child")
    child = int(node.stderr())
    node.stop()
    wait_for(lambda: is_gone(child), "the end of the child")


@pytest.mark.parametrize("script, status", [("exit 7", 7), ("kill -9 $$", 128 + 9), ("true", 0)])
def test_the_exit_status_is_the_commands(script, status):
    assert run("sh", "-c", script).returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_command(start, number):
    node = start(["sh", "-c", f"trap 'exit 42' {number.name[3:]}; echo ready >&2; while :; do sleep 0.01; done"])
    wait_for(lambda: "ready" in node.stderr(), "the trap")
    node.process.send_signal(number)
    assert node.wait(DEADLINE) == 42


def test_the_control_socket_is_reached_from_inside_and_removed_at_the_end(start):
    node = start()
    connect = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b'count\\n'); print(s.recv(99))"
    assert "ok writes=0" in node.run_inside(["/usr/bin/python3", "-c", connect, node.socket_path]).stdout
    node.process.terminate()
    node.wait(DEADLINE)
    assert not os.path.exists(node.socket_path)


def test_a_command_that_cannot_start_is_an_error_with_its_reason():
    with pytest.raises(SimNodeError, match="No such file or directory"):
        SimNode().start(["/nowhere/to/be/found"])


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--cpus", "7"], "multiple"),
        (["--ways", "33"], "--ways"),
        (["--cache-ids", "0,0"], "--cache-ids"),
        (["--offline", "16"], "--offline"),
        (["--kernel", "6"], "--kernel"),
        (["--machine", "nothing"], "nothing"),
        (["--shareable", "xyz"], "hex"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(options, complaint):
    ended = run("true", options=options)
    assert ended.returncode != 0 and complaint in ended.stderr
