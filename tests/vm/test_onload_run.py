"""Applications that start with Onload: allocations, profiles and nrdctl run, where Onload is loaded by nrd."""

import os
import signal

import pytest

from onload_node import CONFIG, LONG, NEW, OLD

NRDCTL = [os.environ["NRDCTL"], "--socket", "/run/nrd.sock"]
CURRENT = "/opt/nrd/onload/current/usr/lib/x86_64-linux-gnu/libonload.so"

SOCKETS = """
[[server.sockets]]
path = "/run/nrd.sock"
[[server.sockets]]
path = "/run/nrd-run.sock"
run = ["@news"]
"""


def library(release):
    return f"/opt/nrd/onload/versions/{release}/usr/lib/x86_64-linux-gnu/libonload.so"


@pytest.fixture
def config():
    return CONFIG + 'profiles = ["/etc/nrd/onload/profiles"]\nmax_allocations = 2\n' + SOCKETS


@pytest.fixture
def node(node):
    node.load(OLD)
    return node


def run(node, *words, env=None):
    return node.vm.run([*NRDCTL, "run", *words], timeout=120, check=False, env=env)


def started(node, *words):
    known = [each["id"] for each in node.get("/v1/onload/allocations")]
    process = node.vm.spawn([*NRDCTL, "run", "--onload", *words, "--", "sleep", "1000"])

    def runs():
        """Before that nrdctl waits for its answer, and ends if nrd does."""
        made = [each for each in node.get("/v1/onload/allocations") if each["id"] not in known]
        return made and node.vm.run(["cat", f"/proc/{made[0]['owner']['pid']}/comm"]).stdout == "sleep\n"
    node.vm.wait_until(runs, what="the command")
    return process


def wait_until_free(node, left=0):
    node.vm.wait_until(lambda: len(node.get("/v1/onload/allocations")) == left, what="the allocation to go")


def put(node, name, text):
    assert node.request("PUT", f"/v1/onload/profiles/{name}", {"text": text})[0] == 200


def configure(node, name, text):
    folder = "/etc/nrd/onload/profiles"
    node.vm.run(["sh", "-c", 'mkdir -p "$1" && printf %s "$3" > "$1/$2.opf"', "sh", folder, name, text])


def variables(done):
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_the_library_is_preloaded_beside_earlier_ones(node):
    assert variables(run(node, "--onload", "--", "env"))["LD_PRELOAD"] == library(OLD)
    libm = "/lib/x86_64-linux-gnu/libm.so.6"
    assert variables(run(node, "--onload", "-e", f"LD_PRELOAD={libm}", "--", "env"))["LD_PRELOAD"] == f"{library(OLD)}:{libm}"
    assert variables(run(node, "--onload", "-e", f"LD_PRELOAD={CURRENT}", "--", "env"))["LD_PRELOAD"] == CURRENT
    assert "LD_PRELOAD" not in variables(run(node, "--onload", "--no-preload", "--", "env"))
    long = ":".join([libm] * 200)
    assert variables(run(node, "--onload", "-e", f"LD_PRELOAD={long}", "--", "env"))["LD_PRELOAD"] == f"{library(OLD)}:{long}"
    wait_until_free(node)


@LONG
def test_profiles_with_and_without_a_shell_follow_the_precedence(node):
    configure(node, "plain", "onload_set EF_A plain\nonload_set EF_B $(( 6 * 7 ))\n")
    configure(node, "shell", 'for i in 1 2; do onload_set EF_S$i "$(id -u)"; done\nonload_set EF_WORDS "$*"\n'
        'onload_set EF_PRELOADED "no$LD_PRELOAD"\nonload_import plain\n')
    got = variables(run(node, "--onload=plain", "-e", "EF_A=mine", "--", "env"))
    assert (got["EF_A"], got["EF_B"]) == ("mine", "42")
    got = variables(run(node, "--onload=shell", "--force-profiles", "-e", "EF_A=mine", "--", "env"))
    assert (got["EF_A"], got["EF_B"], got["EF_S1"], got["EF_S2"], got["EF_WORDS"]) == ("plain", "42", "0", "0", "env")
    assert (got["EF_PRELOADED"], got["LD_PRELOAD"]) == ("no", library(OLD))  # the command runs with Onload, the shell does not
    assert node.vm.run("ls -d /tmp/nrd-profiles-* 2>/dev/null", check=False).stdout == ""
    assert run(node, "--onload=nowhere", "--", "env").returncode == 1
    node.vm.run(["rm", "-r", "/etc/nrd/onload/profiles"])
    wait_until_free(node)


def test_a_user_with_the_role_run_starts_applications_with_onload(node):
    put(node, "fast", "onload_set EF_POLL_USEC 100000\n")
    as_member = ["setpriv", "--reuid=65534", "--regid=9", "--clear-groups", NRDCTL[0], "--socket", "/run/nrd-run.sock"]
    got = variables(node.vm.run([*as_member, "run", "--onload=fast", "--", "env"], timeout=120, check=False))
    assert (got["LD_PRELOAD"], got["EF_POLL_USEC"]) == (library(OLD), "100000")
    done = node.vm.run([*as_member, "run", "--onload", "--require-accel", "--", "env"], timeout=120, check=False)
    assert (done.returncode, "accelerated" in done.stderr) == (1, True), done
    wait_until_free(node)


def test_an_allocation_ends_with_its_process_and_outlives_nrd(node):
    process = started(node)
    allocation, = node.get("/v1/onload/allocations")
    assert (allocation["version"], allocation["generation"]) == (OLD, 1)
    node.kill9()
    node.start()
    assert node.get("/v1/onload/allocations") == [allocation]
    process.kill(signal.SIGKILL)
    process.wait()
    wait_until_free(node)


@LONG
def test_a_version_with_allocations_is_kept(node):
    allocation = node.request("POST", "/v1/onload/allocations", {"owner": {"pid": node.daemon.pid}})[1]["id"]
    status, made = node.request("POST", "/v1/workloads", {"core_ids": ["0"], "onload": {}}, headers=["Idempotency-Key: once"])
    assert status == 201, made
    node.load(NEW)
    status, answer = node.request("DELETE", f"/v1/onload/versions/{OLD}")
    assert status == 409 and f"allocation {allocation} (pid {node.daemon.pid})" in answer["detail"], answer
    assert node.request("DELETE", f"/v1/onload/allocations/{allocation}")[0] == 200
    status, answer = node.request("DELETE", f"/v1/onload/versions/{OLD}")
    assert status == 409 and f"workload {made['id']}" in answer["detail"], answer
    # Asked for again under its key, it is what it was then.
    status, again = node.request("POST", "/v1/workloads", {"core_ids": ["0"], "onload": {}}, headers=["Idempotency-Key: once"])
    assert status == 201 and again["id"] == made["id"] and again["onload"]["version"] == OLD, again
    assert "environment" not in again["onload"]
    assert node.request("DELETE", f"/v1/workloads/{made['id']}")[0] == 200
    assert node.request("DELETE", f"/v1/onload/versions/{OLD}")[0] == 200


@LONG
def test_there_are_no_more_than_configured(node):
    first, second = started(node), started(node)
    done = run(node, "--onload", "--", "true")
    assert done.returncode == 75 and "onload.max_allocations" in done.stderr
    first.kill(signal.SIGKILL)
    wait_until_free(node, left=1)
    assert run(node, "--onload", "--", "true").returncode == 0
    second.kill(signal.SIGKILL)
    wait_until_free(node)


@LONG
def test_closed_device_access_exits_with_75_and_absent_onload_with_1(node):
    node.stub.arm("onload", NEW, "slow_init_ms=3000")
    operation = node.want({"state": "loaded", "version": NEW})["operation"]
    done = run(node, "--onload", "--", "true")
    assert done.returncode == 75 and "accepts no new users" in done.stderr
    assert node.finished(operation)["outcome"] == "succeeded"
    assert variables(run(node, "--onload", "--", "env"))["LD_PRELOAD"] == library(NEW)
    node.run({"state": "unloaded"})
    assert run(node, "--onload", "--", "true").returncode == 1
    done = run(node, "--onload", "--allow-unaccelerated", "--", "env")
    assert "LD_PRELOAD" not in variables(done)


@LONG
def test_offline_it_starts_with_the_current_version(node):
    node.kill9()
    assert run(node, "--onload", "--", "env").returncode == 3
    done = run(node, "--offline", "--onload=fixed", "--", "env")
    got = variables(done)
    assert got["LD_PRELOAD"] == CURRENT and any(name.startswith("EF_") for name in got)
    node.start()


def test_a_workload_gets_onload_with_the_rest_or_nothing(node):
    put(node, "plain", "onload_set EF_A plain\nonload_set EF_B 2\n")
    spec = {"core_ids": ["0"], "onload": {"profile": "plain", "env": {"EF_A": "mine"}}}
    status, made = node.request("POST", "/v1/workloads", spec)
    assert status == 201, made
    assert made["onload"]["environment"] == {"EF_A": "mine", "EF_B": "2", "LD_PRELOAD": library(OLD)}
    path = f"/v1/workloads/{made['id']}"
    kept = node.get(path)["onload"]
    assert kept == {"profiles": ["plain"], "env": {"EF_A": "mine"}, "force": False, "generation": 1, "version": OLD}
    assert [a["workload"] for a in node.get("/v1/onload/allocations")] == [made["id"]]
    node.kill9()
    node.start()
    assert node.get(path)["onload"] == kept
    node.run({"state": "unloaded"})
    assert node.request("PATCH", path, {"onload": {"profile": "plain", "env": {"EF_A": "mine"}}})[0] == 200  # as it was
    assert node.request("PATCH", path, {"onload": {}})[0] == 409
    assert node.request("POST", "/v1/workloads", {**spec, "core_ids": ["1"]})[0] == 409
    assert [w["id"] for w in node.get("/v1/workloads")] == [made["id"]]
    assert node.request("DELETE", path)[0] == 200
    assert node.get("/v1/onload/allocations") == []


@LONG
def test_acceleration_that_is_required_is_looked_for(node):
    """The driver of the cards is not loaded here, so there is none."""
    done = run(node, "--onload", "--require-accel", "--", "env")
    assert done.returncode == 1 and "no accelerated interface on this node" in done.stderr
    wait_until_free(node)


@LONG
def test_exported_files_name_the_current_version(node):
    put(node, "plain", "onload_set EF_A 1\n")
    for kind in ("systemd", "docker", "cdi"):
        done = node.vm.run([*NRDCTL, "export", kind, "-p", "plain"], timeout=60)
        assert CURRENT in done.stdout and "EF_A=1" in done.stdout and "/dev/onload" in done.stdout, kind
    wait_until_free(node)
