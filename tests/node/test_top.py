"""nrdctl top: one picture for scripts, a moving one on a terminal, which it leaves as it was."""

import contextlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import termios
import time
import types

import pytest
from harness import DEADLINE, NRDCTL, Node
from nrdctl import run_nrdctl

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


@pytest.fixture
def node():
    with Node() as node:
        created = node.create("4-5", 3, 3, id="web-1")
        node.cos = created["cos_name"]
        node.sim.use(node.cos, 0, "llc_occupancy", 3 * 2**19)
        yield node


def argv(node, *words):
    return [NRDCTL, "--url", f"http://127.0.0.1:{node.port}", *words]


def run(node, *words):
    return run_nrdctl("--url", f"http://127.0.0.1:{node.port}", *words)


@pytest.mark.parametrize("flags", [[], ["--once"]])
def test_without_a_terminal_one_picture_is_printed(node, flags):
    node.create("8", 0, 0)
    node.create("9", 0, 0)
    done = run(node, "top", *flags)
    assert done.returncode == 0 and done.stderr == "", done
    head, first, *shared = done.stdout.splitlines()
    assert head.split()[:3] == ["WORKLOAD", "POOL", "CLASS"]
    assert first.split() == ["web-1", "guarantee", node.cos, "0", "3", "#" * 10 + "." * 10, "1.5", "of", "3.0", "MiB", "0.0", "0.0"]
    assert [line.split()[1:3] for line in shared] == [["+1", "shared"]] * 2
    assert "\x1b" not in done.stdout


def test_the_answers_as_json(node):
    one, = json.loads(run(node, "--json", "top").stdout)
    assert one["id"] == "web-1" and one["caches"][0]["occupancy_bytes"] == 3 * 2**19


def test_a_node_that_does_not_count_is_a_refusal_in_words():
    with Node(monitoring=False) as node:
        assert run(node, "top").returncode == 0  # without workloads there is nothing to ask for
        node.create("4-5", 3, 3)
        done = run(node, "top")
        assert done.returncode == 1 and "info/L3_MON" in done.stderr and done.stdout == ""


def test_an_unreachable_daemon_has_its_own_exit_code(node):
    node.terminate()
    assert run(node, "top").returncode == 3


class Terminal:
    """nrdctl top on a terminal of its own."""

    def __init__(self, command):
        self.main, self.other = pty.openpty()
        self.before = termios.tcgetattr(self.other)
        self.seen = ""
        self.process = subprocess.Popen(command, stdin=self.other, stdout=self.other, stderr=self.other)

    def wait_for(self, text, since=0, deadline=DEADLINE):
        end = time.monotonic() + deadline
        while text not in self.seen[since:]:
            assert time.monotonic() < end, f"waited in vain for {text!r}: {self.seen!r}"
            if select.select([self.main], [], [], 0.1)[0]:
                self.seen += os.read(self.main, 65536).decode()

    def assert_left(self):
        self.wait_for(LEAVE)
        assert self.process.wait(DEADLINE) == 0, self.seen
        assert termios.tcgetattr(self.other) == self.before
        assert self.seen.count(ENTER) == self.seen.count(LEAVE) == 1

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self.main)
        os.close(self.other)


@pytest.fixture
def terminal(node):
    terminal = Terminal(argv(node, "top"))
    yield terminal
    terminal.close()


def test_bars_move_until_q(node, terminal):
    terminal.wait_for("1.5 of 3.0 MiB")
    node.sim.use(node.cos, 0, "llc_occupancy", 3 * 2**20)
    terminal.wait_for("3.0 of 3.0 MiB")
    assert terminal.process.poll() is None and ENTER in terminal.seen
    os.write(terminal.main, b"xq")
    terminal.assert_left()


@pytest.mark.parametrize("end", ["Ctrl-C", signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_always_restored(node, terminal, end):
    terminal.wait_for("q quits")
    if end == "Ctrl-C":
        terminal.process.send_signal(signal.SIGINT)  # what the terminal does with it
    else:
        terminal.process.send_signal(end)
    terminal.assert_left()


def test_ctrl_c_does_not_wait_for_an_answer():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(DEADLINE)
        terminal = Terminal(argv(types.SimpleNamespace(port=silent.getsockname()[1]), "top"))
        try:
            asking, _ = silent.accept()
            with asking:
                asking.settimeout(DEADLINE)
                assert asking.recv(4096).startswith(b"GET /v1/workloads ")
                terminal.process.send_signal(signal.SIGINT)
                terminal.assert_left()
        finally:
            terminal.close()


def test_a_restart_is_outlasted(node):
    with contextlib.closing(Terminal([NRDCTL, "--socket", node.socket, "top"])) as terminal:
        terminal.wait_for("q quits")
        node.terminate()
        terminal.wait_for("nrd does not answer; reconnecting; q quits")
        node.start()
        node.sim.use(node.cos, 0, "llc_occupancy", 3 * 2**20)
        terminal.wait_for("3.0 of 3.0 MiB")
        os.write(terminal.main, b"q")
        terminal.assert_left()


def test_a_daemon_that_stays_away_for_a_minute_is_reported_on_the_normal_screen(node, terminal):
    terminal.wait_for("q quits")
    with subprocess.Popen(argv(node, "workload", "list", "--watch"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline().startswith("ID")
        node.terminate()
        since = time.monotonic()
        terminal.wait_for(LEAVE, deadline=90)
        terminal.wait_for("nrdctl:", terminal.seen.index(LEAVE))
        assert terminal.process.wait(DEADLINE) == 3
        assert termios.tcgetattr(terminal.other) == terminal.before
        away, reason = watching.communicate(timeout=30)[1].splitlines()
    assert away == "nrdctl: nrd does not answer; reconnecting" and "cannot reach" in reason and watching.returncode == 3
    assert time.monotonic() - since > 55
