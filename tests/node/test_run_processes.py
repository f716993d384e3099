"""nrdctl run --processes and process-starter: several processes, each on its own CPUs, as CPU Pooler's containers start them."""

import json
import os
import signal
import subprocess

import pytest

from cpu_pools import POOLS
from harness import DEADLINE, NRDCTL, Node, wait_for
from nrdctl import CLEAN, run_nrdctl

# Without what a container has that these tests may run in.
BARE = {key: value for key, value in CLEAN.items() if key not in ("CONTAINER_NAME", "EXCLUSIVE_CPUS", "SHARED_CPUS", "NRD_POOLS")}
SHOWS = "grep Cpus_allowed_list /proc/self/status > {file}; echo $EXCLUSIVE_CPUS >> {file}; {then}"


@pytest.fixture
def node():
    with Node(POOLS, sockets=1, cpus=2) as node:
        yield node


@pytest.fixture
def listed(tmp_path):
    """A file with these processes of the container main: shell commands with pool and CPUs."""
    def write(*processes):
        file = tmp_path / "procs.json"
        file.write_text(json.dumps([{"container": "main", "processes": [
            {"process": "sh", "args": ["-c", script], "pool": pool, "cpus": cpus} for script, pool, cpus in processes]}]))
        return str(file)
    return write


def start(node, file, *more, **environment):
    return subprocess.Popen([NRDCTL, "--socket", node.socket if node else "/nonexistent", "run", "--processes", file, *more],
                            env={**BARE, **environment}, stderr=subprocess.PIPE, text=True, start_new_session=True)


def ended(process):
    error = process.communicate(timeout=DEADLINE)[1]
    return process.returncode, error


IN_POD = {"EXCLUSIVE_CPUS": "1", "SHARED_CPUS": "0"}


def test_a_process_has_the_cpus_that_nrd_granted_before_it_starts(node, listed, tmp_path):
    out = tmp_path / "out"
    assert ended(start(node, listed((SHOWS.format(file=out, then="exit 7"), "fast", 1))))[0] == 7
    assert out.read_text().split() == ["Cpus_allowed_list:", "1", "1"]
    wait_for(lambda: node.list() == [], "the workload to go")


def test_too_few_cpus_start_no_process(node, listed, tmp_path):
    script = f"touch {tmp_path}/started"
    for environment in ({}, {"EXCLUSIVE_CPUS": "1"}):
        status, error = ended(start(node, listed((script, "fast", 1), (script, "fast", 1)), **environment))
        assert status != 0 and "fast" in error
    assert not (tmp_path / "started").exists() and node.list() == []


def test_processes_of_a_container_share_out_its_cpus_without_nrd(listed, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    file = listed((SHOWS.format(file=one, then="true"), "fast", 1), (SHOWS.format(file=two, then="true"), "shared", 500))
    assert ended(start(None, file, **IN_POD)) == (0, "")
    assert (one.read_text().split()[1], two.read_text().split()[1]) == ("1", "0")


def test_pools_of_a_container_can_have_any_name(listed, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    file = listed((SHOWS.format(file=one, then="true"), "fast", 1), (SHOWS.format(file=two, then="true"), "common", 500))
    code, error = ended(start(None, file, **IN_POD))
    assert code != 0 and "EXCLUSIVE_CPUS does not say which CPUs are of pool" in error
    assert ended(start(None, file, NRD_POOLS="fast=1;common=0", **IN_POD)) == (0, "")
    assert (one.read_text().split()[1], two.read_text().split()[1]) == ("1", "0")


def test_the_first_failure_is_the_exit_status_and_ends_the_others(listed, tmp_path):
    term = f"trap 'touch {tmp_path}/ended; exit 0' TERM; touch {tmp_path}/ready; while :; do sleep 0.05; done"
    fails = f"while ! [ -e {tmp_path}/ready ]; do sleep 0.05; done; exit 5"
    assert ended(start(None, listed((term, "fast", 1), (fails, "shared", 500)), **IN_POD))[0] == 5
    assert (tmp_path / "ended").exists()
    killed = listed(("kill -KILL $$", "fast", 1))
    assert ended(start(None, killed, **IN_POD))[0] == 128 + signal.SIGKILL


def test_signals_are_forwarded(listed, tmp_path):
    script = f"trap 'echo usr1 >> {tmp_path}/got' USR1; trap 'exit 3' TERM; touch {tmp_path}/ready; while :; do sleep 0.05; done"
    process = start(None, listed((script, "fast", 1)), **IN_POD)
    wait_for((tmp_path / "ready").exists, "the process to run")
    process.send_signal(signal.SIGUSR1)
    wait_for((tmp_path / "got").exists, "the signal to be forwarded")
    process.terminate()
    assert ended(process)[0] == 3


def test_exec_last_replaces_nrdctl_by_the_last_process(listed, tmp_path):
    file = listed((f"echo $$ > {tmp_path}/first", "shared", 500), (f"echo $$ > {tmp_path}/last; exit 4", "fast", 1))
    process = start(None, file, "--exec-last", **IN_POD)
    assert ended(process)[0] == 4
    assert int((tmp_path / "last").read_text()) == process.pid
    wait_for((tmp_path / "first").exists, "the first process to run")


@pytest.mark.parametrize("more, place", [([], 1), (["--exec-last"], 1), (["--exec-last"], 2)])
def test_a_missing_program_is_named_and_ends_the_others(tmp_path, more, place):
    """Before one takes the place of nrdctl, too."""
    programs = [{"process": "sleep", "args": ["1000"], "pool": "shared", "cpus": 1} for _ in range(2)]
    programs.insert(place, {"process": "/no/such", "pool": "shared", "cpus": 1})
    file = tmp_path / "procs.json"
    file.write_text(json.dumps([{"container": "main", "processes": programs}]))
    process = start(None, str(file), *more, **IN_POD)
    status, error = ended(process)
    assert status == 127 and "/no/such" in error
    left = subprocess.run(["pgrep", "-s", str(process.pid)], capture_output=True, text=True)
    assert left.stdout == ""


def test_process_starter_is_nrdctl_under_another_name(tmp_path):
    starter = tmp_path / "process-starter"
    os.symlink(NRDCTL, starter)
    done = subprocess.run([starter, "sh", "-c", "exit 6"], env={**BARE, "CONTAINER_NAME": "main"}, capture_output=True, text=True)
    assert done.returncode == 6, done
    nameless = subprocess.run([starter, "true"], env=BARE, capture_output=True, text=True)
    assert nameless.returncode == 2 and "CONTAINER_NAME" in nameless.stderr
    annotations = tmp_path / "annotations"
    listed = [{"container": "main", "processes": [{"process": "sh", "args": ["-c", f"grep Cpus_allowed_list /proc/self/status > {tmp_path}/out; exit 8"], "pool": "fast", "cpus": 1}]}]
    annotations.write_text(f"a=\"b\"\nnokia.k8s.io/cpus={json.dumps(json.dumps(listed))}\n")
    script = f"mkdir -p /etc/podinfo && mount -t tmpfs podinfo /etc/podinfo && cp {annotations} /etc/podinfo/annotations && exec {starter}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env={**BARE, "CONTAINER_NAME": "main", "EXCLUSIVE_CPUS": "1"}, capture_output=True, text=True)
    assert done.returncode == 8, done
    assert (tmp_path / "out").read_text().split()[1] == "1"


def test_imported_pools_of_cpu_pooler_are_a_valid_configuration(tmp_path):
    (tmp_path / "poolconfig-fast.yaml").write_text(
        "pools:\n  exclusive-a:\n    cpus: 2-3\n  shared-b:\n    cpus: \"4,5\"\n  default:\n    cpus: 0-1\nnodeSelector:\n  kind: fast\n")
    out = tmp_path / "out"
    done = run_nrdctl("import-cpu-pooler", tmp_path / "poolconfig-fast.yaml", "--output", out, env=BARE)
    assert done.returncode == 0, done
    written = (out / "poolconfig-fast.toml").read_text()
    with Node(written, cpus=8) as node:
        assert [(pool["name"], pool["cpus"], pool["kind"]) for pool in node.call("GET", "/v1/cpus/pools")] == [
            ("exclusive-a", "2-3", "exclusive"), ("shared-b", "4-5", "shared"), ("default", "0-1", "shared")]
        assert node.call("GET", "/v1/node")["capacity"]["default_pool"] == "default"
    (tmp_path / "link").symlink_to(out)
    for link in ("link", "link/"):
        done = run_nrdctl("import-cpu-pooler", tmp_path / "poolconfig-fast.yaml", "--output", f"{tmp_path}/{link}", "--force", env=BARE)
        assert done.returncode == 1 and f"{tmp_path}/link: Not a directory" in done.stderr, (link, done)
    (tmp_path / "poolconfig-fast.yaml").write_text("pools:\n  a:\n    cpus: 4-x\n")
    done = run_nrdctl("import-cpu-pooler", tmp_path / "poolconfig-fast.yaml", env=BARE)
    assert done.returncode == 1 and "rejected  pools.a.cpus" in done.stderr and done.stdout == ""
