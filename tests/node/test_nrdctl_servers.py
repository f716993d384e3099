"""nrdctl at servers that do not answer as nrd does, and where its output or a file cannot be written."""

import json
import os
import pty
import subprocess
import time

import pytest

from harness import NRDCTL
from nrdctl import CLEAN, run_nrdctl
from servers import Handler, UnixServer, serving


class Scripted(Handler):
    """Answers by path, a POST as accepted only; 404 for any other."""

    methods = ("GET", "DELETE", "POST", "PUT")

    def answer(self):
        self.server.asked.append(self.path)
        content = self.server.answers.get(self.path.split("?")[0])
        status = 404 if content is None else 202 if self.command == "POST" else 200
        self.reply(status, content if isinstance(content, bytes) else json.dumps(content))


class Silent(Handler):
    def answer(self):
        """Closes the connection."""


@pytest.fixture
def socket(tmp_path):
    return str(tmp_path / "nrd.sock")


def scripted(socket, **answers):
    return serving(UnixServer(socket, Scripted), asked=[], answers={path.replace("_", "/"): content for path, content in answers.items()})


def test_output_that_cannot_be_written_is_an_error(socket):
    with scripted(socket, _v1_workloads=[]), open("/dev/full", "w") as full:
        done = run_nrdctl("--socket", socket, "export", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and "cannot write standard output" in done.stderr


@pytest.mark.parametrize("file", ["", "/"])
def test_a_backup_needs_the_name_of_a_file(socket, file):
    with scripted(socket, _v1_workloads=[]):
        done = run_nrdctl("--socket", socket, "backup", file)
    assert done.returncode == 2 and "expected a file name ending in .yaml" in done.stderr


@pytest.mark.parametrize("called", [".", ".."])
def test_dots_are_no_other_path(socket, called):
    with scripted(socket, _v1_workloads=[], _v1_workloads_=[]) as server:
        done = run_nrdctl("--socket", socket, "workload", "show", called)
    assert done.returncode == 4 and server.asked[0] == f"/v1/workloads/{called}", (done, server.asked)


@pytest.mark.parametrize("words", [
    ("list", "--name", ""), ("list", "--label", ""), ("update", "1", "--cpus", ""), ("update", "1", "--ways", "0"),
    ("update", "1", "--pool", ""), ("update", "1", "--pool-cpus", ""), ("update", "1", "--epp", ""),
    *[("create", "--cpus", "4", "--ways", "1", option, "") for option in ("--name", "--uuid", "--policy", "--id", "--unit", "--cgroup", "--governor")]])
def test_an_option_that_a_script_left_empty_is_not_ignored(socket, words):
    with scripted(socket, _v1_workloads=[], _v1_workloads_1={"id": "1"}) as server:
        done = run_nrdctl("--socket", socket, "workload", *words)
    assert done.returncode == 2 and words[-2] in done.stderr and server.asked == []


@pytest.mark.parametrize("words", [
    ("reset", "--yes", "--foreign", ""), ("genconf", "--output", ""), ("import-cpu-pooler", "/dev/null", "--output", ""),
    ("onload", "drain", "--users", ""), ("onload", "load", "9.0.2", "--on-failure", ""), ("onload", "freeze", "--reason", ""),
    ("onload", "load", "9.0.2", "--control-plane", ""), ("cpus", ""), ("cpus", "check", ""), ("onload", "preflight", "")])
def test_an_empty_option_is_not_the_default(socket, words):
    with scripted(socket) as server:
        done = run_nrdctl("--socket", socket, *words)
    assert done.returncode == 2 and "must not be empty" in done.stderr and server.asked == []


@pytest.mark.parametrize("option,url", [("--url", ""), ("--url", "/"), ("--socket", "")])
def test_a_node_that_a_script_left_empty_is_not_this_one(option, url):
    done = run_nrdctl(option, url, "reset", "--yes")
    assert done.returncode == 2 and option in done.stderr


def test_a_time_for_processes_to_come_needs_the_owner_that_they_are(socket):
    done = run_nrdctl("--socket", socket, "workload", "create", "--cpus", "4", "--ways", "1", "--within-seconds", "5")
    assert done.returncode == 2 and "--within-seconds requires --owner cgroup" in done.stderr


@pytest.mark.parametrize("option,value", [("--ways", "0"), ("--adaptive", "0"), ("--adaptive", "fast")])
def test_a_number_is_refused_in_one_line(option, value):
    done = run_nrdctl("workload", "create", "--cpus", "4", option, value)
    assert done.returncode == 2 and f'{option}: "{value}" is not a number above 0' in done.stderr


def test_a_response_that_is_too_long_is_called_so(socket):
    with scripted(socket, _v1_workloads=b"x" * (65 << 20)):
        done = run_nrdctl("--socket", socket, "workload", "list")
    assert done.returncode == 3 and "more than 64 MiB" in done.stderr


@pytest.mark.parametrize("words,answers", [
    (("workload", "list", "--watch"), {"_v1_workloads": [], "_v1_health": {"revision": 1}}),
    (("workload", "create", "--cpus", "4", "--ways", "1"),
     {"_v1_workloads": {"id": "1", "operation": {"id": "7"}}, "_v1_operations_7": {"state": "moving"}}),
    (("onload", "unload"), {"_v1_onload": {"operation": 7}, "_v1_onload_operations_7": {"outcome": "running", "revision": 1}}),
], ids=lambda words: "-".join(words[:2]) if isinstance(words, tuple) else "")
def test_a_poll_does_not_hurry_a_server_that_answers_at_once(socket, words, answers):
    with scripted(socket, **answers) as server:
        with subprocess.Popen([NRDCTL, "--socket", socket, *words], env=CLEAN, stdout=subprocess.DEVNULL) as watching:
            time.sleep(2)
            watching.kill()
        polls = [path for path in server.asked if "wait=" in path]
    assert 0 < len(polls) <= 21


def test_a_daemon_that_does_not_answer_is_not_taken_for_a_stopped_one(socket):
    with serving(UnixServer(socket, Silent)):
        done = run_nrdctl("--socket", socket, "reset", "--yes", "--foreign", "no-such-group")
    assert done.returncode == 3 and "cannot reach nrd" in done.stderr


def test_a_line_answers_one_question(socket):
    node = {"caches": [{"foreign": [{"group": "no-such-group", "cpus": "", "tasks": 0}]}]}
    answers = {"_v1_workloads": [{"id": "1"}], "_v1_workloads_1": {"id": "1"}, "_v1_node": node}
    ours, theirs = pty.openpty()
    with scripted(socket, **answers):
        os.write(ours, b"yesyesyy\nn\n")
        done = run_nrdctl("--socket", socket, "reset", "--foreign", "no-such-*", stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert "workload 1 deleted" in done.stdout and "remove resctrl group" in done.stdout
    assert done.returncode == 1 and "cannot remove" not in done.stderr


def test_a_server_does_not_name_a_folder_elsewhere_as_a_group(socket, tmp_path):
    folder = tmp_path / "of-another-program"
    folder.mkdir()
    node = {"caches": [{"foreign": [{"group": name, "cpus": "", "tasks": 0} for name in (str(folder), f"../../..{folder}")]}]}
    with scripted(socket, _v1_workloads=[], _v1_node=node):
        done = run_nrdctl("--socket", socket, "reset", "--yes", "--foreign", "*")
    assert done.returncode == 1 and "is not the name of a resctrl group" in done.stderr, done
    assert folder.is_dir()
