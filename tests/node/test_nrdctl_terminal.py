"""What nrdctl shows and how it waits: widths, units, errors of its own, the long poll, completion in each shell."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import time

import pytest

from harness import DEADLINE, NRDCTL, Node, wait_for
from nrdctl import CLEAN, nrdctl, run_nrdctl
from servers import Handler, UnixServer, serving
from shared_node import node  # noqa: F401
from test_metrics import Scrape

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NAME = "a-name-of-sixty-characters-that-no-narrow-terminal-can-show-x"


@pytest.fixture(scope="module")
def shared():
    with Node(cpufreq="intel_pstate") as node:
        yield node


def on_a_terminal(node, columns, *words, **environment):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    done = subprocess.Popen([NRDCTL, "--socket", node.socket, *words], env={**CLEAN, **environment}, stdout=theirs)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # EIO: the other side is closed
        pass
    os.close(ours)
    assert done.wait(60) == 0
    return text.decode().replace("\r\n", "\n")


def test_a_table_fits_the_terminal_and_is_whole_in_a_pipe(node):
    node.create("4", 1, 1, name=NAME)
    shown = on_a_terminal(node, 90, "workload", "list")
    assert max(map(len, shown.splitlines())) <= 90 and "..." in shown and NAME not in shown
    assert NAME in on_a_terminal(node, 200, "workload", "list")
    assert NAME in on_a_terminal(node, 90, "workload", "list", COLUMNS="200")
    assert NAME in on_a_terminal(node, 90, "workload", "list", "-o", "wide")
    assert NAME in nrdctl(node, "workload", "list", COLUMNS="40")
    assert max(map(len, on_a_terminal(node, 60, "config", "show").splitlines())) <= 60
    assert max(map(len, on_a_terminal(node, 60, "pstate").splitlines())) <= 60


def test_frequencies_and_sizes_have_human_units_beside_raw_ones(node):
    node.create("4", 2, 2, name="feed", pstate={"min_ratio": 12, "max_ratio": 30})
    wide = nrdctl(node, "workload", "list", "-o", "wide")
    assert "GHZ" in wide and "12-30" in wide and "1.2 - 3 GHz" in wide
    assert "GHZ" not in nrdctl(node, "workload", "list")
    described = nrdctl(node, "workload", "describe", "feed")
    assert re.search(r"^frequency +1.2 - 3 GHz$", described, re.M) and re.search(r"^ways +cache 0: 2 ways, 2 MiB$", described, re.M)
    assert "granted_frequencies" in described


def test_bandwidth_in_mb_per_second_has_gb_beside_it():
    with Node(mb_unit="mbps", closids=4, cpus=8) as node:
        node.create("4", 2, 2, rdt={"mba": {"mbps": 2500}})
        assert "2500 MB/s (2.5 GB/s)" in nrdctl(node, "workload", "list")


@pytest.mark.parametrize("words,exit,expected", [
    (["workload", "create", "--owner", "x"], 2, {"title": "Invalid usage", "field": "--owner"}),
    (["workload", "create", "--nmae", "x"], 2, {"title": "Invalid usage", "field": "--nmae"}),
    (["workload", "create", "--ways", "1"], 2, {"title": "Invalid usage", "field": "--cpus"}),
    (["workload", "show"], 2, {"title": "Invalid usage", "field": "ID"}),
    (["--url", "ftp://x", "status"], 2, {"title": "Invalid usage", "field": "--url"}),
    (["workload", "show", "none"], 4, {"title": "Not found"}),
    (["--socket", "/none", "status"], 3, {"title": "Daemon unreachable"}),
])
@pytest.mark.parametrize("json_option", [["-o", "json"], ["--json"], ["--output-format=json"]])
def test_errors_of_nrdctl_itself_have_the_shape_of_problems(node, words, exit, expected, json_option):
    done = run_nrdctl(*words, *json_option, env={**CLEAN, "NRD_SOCKET": node.socket})
    problem = json.loads(done.stdout)
    assert done.returncode == exit and done.stderr == ""
    assert problem.pop("detail") and problem == expected


class Counter(Handler):
    """Forwards requests to nrd and notes their paths."""

    def answer(self):
        self.server.paths.append(self.path)
        self.reply(*self.forward())


@pytest.mark.parametrize("awaited", ["deleted", "successful"])
def test_a_wait_is_a_long_poll(node, awaited):
    if awaited == "deleted":
        node.create("4", 1, 1, name="feed")
    path = os.path.join(node.folder, f"{awaited}.sock")
    with serving(UnixServer(path, Counter), node=node, paths=[]) as server:
        waiting = subprocess.Popen([NRDCTL, "--socket", path, "workload", "wait", "feed", "--for", awaited, "--timeout", "60"], env=CLEAN)
        wait_for(lambda: any("since=" in path for path in server.paths), "the long poll")
        before = len(server.paths)
        time.sleep(1)
        assert waiting.poll() is None and len(server.paths) == before, server.paths
        node.delete(node.list()[0]["id"]) if awaited == "deleted" else node.create("4", 1, 1, name="feed")
        assert waiting.wait(DEADLINE) == 0


AWAY = "nrdctl: nrd does not answer; reconnecting\n"


def health_requests(node):
    return Scrape(node)("nrd_http_requests_total", method="GET", route="/v1/health", code="200") or 0


def follow(node, *words):
    """A process of nrdctl that has begun to follow nrd."""
    before = health_requests(node)
    process = subprocess.Popen([NRDCTL, "--socket", node.socket, "workload", *words], env=CLEAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: health_requests(node) > before, "nrdctl to follow nrd")
    return process


def test_a_watch_and_a_wait_outlast_a_restart(node):
    node.create("4", 1, 1, id="a")
    with follow(node, "wait", "b", "--timeout", "60") as waiting, follow(node, "list", "--watch", "-o", "name") as watching:
        assert watching.stdout.readline() == "a\n"
        node.terminate()
        assert watching.stderr.readline() == waiting.stderr.readline() == AWAY
        node.start()
        node.create("5", 1, 1, id="b")
        assert waiting.wait(DEADLINE) == 0
        assert [watching.stdout.readline() for _ in range(2)] == ["a\n", "b\n"]
        watching.kill()


def test_a_wait_for_nrd_ends_at_the_timeout_as_well(node):
    with follow(node, "wait", "none", "--timeout", "8") as waiting:
        node.terminate()
        said = waiting.communicate(timeout=DEADLINE)[1]
    assert said.startswith(AWAY) and "cannot reach nrd" in said and waiting.returncode == 3
    assert "cannot reach nrd" in nrdctl(node, "workload", "wait", "none", "--timeout", "60", exit=3, timeout=10)
    node.start()


def test_a_wait_ends_at_its_timeout(node):
    started = time.monotonic()
    assert "timeout while waiting" in nrdctl(node, "workload", "wait", "none", "--timeout", "2", exit=75)
    assert 2 <= time.monotonic() - started < 4


def bash(line, environment):
    script = f". {ROOT}/etc/completion/nrdctl.bash; COMP_LINE=$LINE COMP_POINT=${{#LINE}}; _nrdctl; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=30).stdout.split("\n")


def fish(line, environment):
    script = f"source {ROOT}/etc/completion/nrdctl.fish; complete -C \"$LINE\""
    return subprocess.run(["fish", "--no-config", "-c", script], env=environment, cwd=environment["HOME"], capture_output=True, text=True, timeout=30).stdout.split("\n")


def zsh(line, environment):
    """The function that #compdef names, with the variables of a completion; compadd is replaced by one that prints."""
    script = 'compadd() { printf "%s\\n" "${(@P)2}" }; _files() { }; words=(${(s: :)LINE}); [[ $LINE == *" " ]] && words+=(""); ' \
             f'CURRENT=${{#words}}; run() {{ . {ROOT}/etc/completion/_nrdctl }}; run'
    return subprocess.run(["zsh", "-f", "-c", script], env=environment, capture_output=True, text=True, timeout=30).stdout.split("\n")


@pytest.mark.parametrize("shell", [bash, zsh, fish], ids=lambda shell: shell.__name__)
def test_each_shell_completes_what_the_typed_line_reaches(node, tmp_path, shell):
    if not shutil.which(shell.__name__):
        pytest.skip(f"{shell.__name__} is not installed")
    node.create("4", 1, 1, name="feed")
    environment = {**CLEAN, "PATH": f"{os.path.dirname(NRDCTL)}:{os.environ['PATH']}", "HOME": str(tmp_path), "NRD_SOCKET": "/none"}

    def candidates(line):
        return {word.split("\t")[0] for word in shell(line, {**environment, "LINE": line})} - {""}

    assert candidates("nrdctl workl") == {"workload"} and "__complete" not in candidates("nrdctl ")
    assert {"create", "list", "wait"} <= candidates("nrdctl workload ")
    assert "--mba-percentage" in candidates("nrdctl workload create --mba-p")
    assert "feed" not in candidates("nrdctl workload show fe")
    assert candidates(f"nrdctl --socket {node.socket} workload show fe") == {"feed"}
    assert candidates(f"nrdctl workload show --socket={node.socket} fe") == {"feed"}
    assert candidates(f"nrdctl --url http://127.0.0.1:{node.port}/ workload show fe") == {"feed"}
    assert candidates("nrdctl -o js") == {"json"}
    assert candidates("nrdctl workload wait x --for d") == {"deleted"}
    assert candidates("nrdctl help workload cre") == {"create"}
    assert "--socket" in candidates("nrdctl --") and "--socket" not in candidates("nrdctl run --cpus 0 -- ls --")


def test_bash_keeps_what_is_before_a_colon(node):
    node.call("PUT", "/v1/workloads/team:feed", {"core_ids": ["4"], "cache": {"max": 1, "min": 1}})
    environment = {**CLEAN, "PATH": f"{os.path.dirname(NRDCTL)}:{os.environ['PATH']}", "NRD_SOCKET": node.socket}
    assert bash(None, {**environment, "LINE": "nrdctl workload show team:f"})[0] == "feed"
    assert bash(None, {**environment, "LINE": "nrdctl workload show tea"})[0] == "team:feed"


def test_no_word_that_a_shell_would_interpret_is_completed(node):
    """A client with the role run chooses the uuid of its workload, and root may complete it."""
    environment = {**CLEAN, "PATH": f"{os.path.dirname(NRDCTL)}:{os.environ['PATH']}", "NRD_SOCKET": node.socket}

    def completed(uuid):
        id = node.create("4", 1, 1, uuid=uuid)["id"]
        found = bash(None, {**environment, "LINE": "nrdctl workload show fe"})
        node.delete(id)
        return found[0]

    assert completed("feed") == "feed"
    assert [mark for mark in " !\"#$&'()*;<>?[\\]^`{|}" if completed(f"feed{mark}id")] == []
