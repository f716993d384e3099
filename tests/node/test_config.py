"""The configuration: its files, what is in force and where it comes from, and reloads while workloads are in place."""

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import subprocess
import time

import pytest
from harness import DEADLINE, DRIFT, NRD, Node, Refused, refusal, replace, use_all_cpus, wait_for
from shared_node import emptied

use_all_cpus()
NONE_DECLARED = {"created": 0, "changed": 0, "deleted": 0, "problems": []}
POLICY = "[default.gold.cache]\nmax = {0}\nmin = {0}\n"


class Configured(Node):
    """A node whose files a test changes."""

    def write(self, text, name=None):
        """nrd.toml, or a file of nrd.toml.d."""
        path = self.config
        if name:
            os.makedirs(self.config + ".d", exist_ok=True)
            path = os.path.join(self.config + ".d", name)
        replace(path, text)

    def settings(self):
        return {setting["key"]: setting for setting in self.call("GET", "/v1/config")["settings"]}

    def reload(self, dry_run=False):
        return self.call("POST", "/v1/config/reload", {"dry_run": dry_run})

    def refusal(self, dry_run=False):
        status, text, headers = self.request("POST", "/v1/config/reload", json.dumps({"dry_run": dry_run}),
                                             {"Content-Type": "application/json", "Accept": "application/problem+json"})
        assert headers["Content-Type"] == "application/problem+json", (status, text)
        return status, json.loads(text)


    def forget(self):
        """What its files say."""
        self.write("")
        shutil.rmtree(self.config + ".d", ignore_errors=True)
        if self.reload()["restart_required"]:
            self.terminate()
            self.start()


@pytest.fixture(scope="module")
def shared():
    with Configured() as node:
        yield node


@pytest.fixture
def node(shared):
    yield from emptied(shared)
    shared.forget()


def keys(changes):
    return [change["key"] for change in changes]


def test_every_key_is_shown_with_its_documented_default(node):
    with open(os.path.join(os.path.dirname(__file__), "../../docs/configuration.md")) as manual:
        documented = re.findall(r"^\| `([a-z_]+\.\w+)` \|", manual.read(), re.M)
    settings = node.settings()
    assert sorted(settings) == sorted(documented)
    assert settings["server.tls_port"] == {"key": "server.tls_port", "value": 8443, "source": "default", "file": None, "line": None,
                                           "reload": False}
    assert settings["server.debug"]["source"] == settings["state.directory"]["source"] == "command_line"
    assert settings["state.directory"]["value"] == node.state
    assert settings["onload.device_mode"]["value"] == "0666" and settings["cache_pools.os"]["value"] is None
    assert settings["roles.admin"] == {"key": "roles.admin", "value": ["OU=Admin"], "source": "default", "file": None, "line": None,
                                       "reload": True}


def test_values_of_the_folder_follow_the_file_and_show_file_and_line(node):
    node.write("[drift]\ninterval_seconds = 7\n[tasks]\ninterval_seconds = 8\n")
    node.write("# mine\n[drift]\ninterval_seconds = 9\n", "10-drift.toml")
    node.write("[drift]\n\n\ninterval_seconds = 10\n", "20-drift.toml")
    assert keys(node.reload()["changed"]) == ["drift.interval_seconds", "tasks.interval_seconds"]
    folder = node.config + ".d"
    assert node.call("GET", "/v1/config")["files"] == [node.config, f"{folder}/10-drift.toml", f"{folder}/20-drift.toml"]
    settings = node.settings()
    drift, tasks = settings["drift.interval_seconds"], settings["tasks.interval_seconds"]
    assert (drift["value"], drift["source"], drift["file"], drift["line"]) == (10, "file", f"{folder}/20-drift.toml", 4)
    assert (tasks["value"], tasks["file"], tasks["line"]) == (8, node.config, 4)
    os.unlink(f"{folder}/20-drift.toml")
    assert node.reload()["changed"] == [{"key": "drift.interval_seconds", "from": 10, "to": 9}]


def test_a_bad_file_is_refused_with_its_line_and_the_old_configuration_stays_whole(node):
    node.write("[cache_pools]\nmax_allowed_shared = 1\n")
    node.reload()
    node.create("0", 0, 0)
    node.write("[cache_pools]\nmax_allowed_shared = 5\n")
    node.write("[log]\nlevel = \"debug\"\n[drift]\ninterval_second = 3\n", "1.toml")
    status, problem = node.refusal()
    assert status == 400
    assert problem["detail"] == (f"{node.config}.d/1.toml:4: unknown key drift.interval_second; "
                                 "did you mean drift.interval_seconds?")
    assert refusal(node.create, "1", 0, 0)  # the limit that was in force
    assert node.settings()["log.level"]["value"] == "info"
    assert "CONFIG_NOT_RELOADED" in node.said()
    os.unlink(f"{node.config}.d/1.toml")
    node.reload()
    node.create("1", 0, 0)


@pytest.mark.parametrize("text, says", [
    ("[cache_pools]\nguarantee = 30\n", ":2: cache_pools: os 1 + guarantee 30"),
    ("[infra]\ncpus = \"0\"\n", ":2: infra.cpus: the infrastructure has no ways"),
    ("[infra]\nusers = [\"none-such\"]\n", ":2: infra.users: user none-such not found"),
    ("[onload]\n\ndevice_group = \"none-such\"\n", ":3: onload.device_group: none-such not found"),
    ("[policy]\nfile = \"/none.toml\"\n", "/none.toml"),
    ("[roles]\npam_user = [\"a\"]\n", ":2: access.acl, roles.pam_admin and roles.pam_user"),
    ("[tls]\ncertificate = \"/a\"\nkey = \"/b\"\nclient_ca = \"/c\"\n", ":2: tls: /a "),
    ("[server]\naddress = \"192.0.2.1\"\n", ":2: server.address is 192.0.2.1"),
    ("[log]\nlevel = loud\n", ":2: "),
    ("[sever]\n", ":1: unknown section [sever]; did you mean [server]?"),
])
def test_a_wrong_configuration_is_refused_before_anything_changes(node, text, says):
    before = node.call("GET", "/v1/config"), node.plain()
    node.write("[monitoring]\ninterval_seconds = 9\n", "1.toml")
    node.write(text)
    for dry_run in (True, False):
        status, problem = node.refusal(dry_run)
        assert status == 400 and says in problem["detail"], problem
    assert (node.call("GET", "/v1/config"), node.plain()) == before


@pytest.mark.parametrize("text, says", [
    ("[cache_pools]\ninfra = 1\n[infra]\nprocesses = [\"ovs*\"]\nusers = [\"none-such\"]\n", ":5: infra.users: user none-such not found on this node"),
    ("[onload]\n\ndevice_user = \"none-such\"\n", ":3: onload.device_user: none-such not found on this node"),
])
def test_unknown_users_are_refused_by_the_check_as_by_a_start(tmp_path, text, says):
    config = tmp_path / "nrd.toml"
    config.write_text(text)
    for arguments in (["--check-config"], ["--state-dir", str(tmp_path / "state"), "--unix-socket", str(tmp_path / "nrd.sock")]):
        done = subprocess.run([os.path.abspath(NRD), "--config", str(config), *arguments], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (78, f"nrd: {config}{says}\n")


def test_a_dry_run_reports_and_changes_nothing(node):
    node.write("[log]\nlevel = \"debug\"\n[cache_pools]\nguarantee = 2\n[server]\ntls_port = 1\n")
    before = node.call("GET", "/v1/config")
    answer = node.reload(dry_run=True)
    assert answer == {"dry_run": True, "changed": [{"key": "cache_pools.guarantee", "from": None, "to": 2},
                                                 {"key": "log.level", "from": "info", "to": "debug"}],
                    "restart_required": [{"key": "server.tls_port", "from": 8443, "to": 1}], "workloads": None}
    assert node.call("GET", "/v1/config") == before
    assert "CONFIG_RELOADED" not in node.said()
    assert node.reload() == {**answer, "dry_run": False, "workloads": NONE_DECLARED}


def test_an_empty_body_reloads_and_an_unknown_member_is_refused(node):
    node.write("[log]\nlevel = \"debug\"\n")
    status, text, _ = node.request("POST", "/v1/config/reload", "", {"Content-Type": "application/json"})
    assert (status, keys(json.loads(text)["changed"])) == (200, ["log.level"])
    status, text, _ = node.request("POST", "/v1/config/reload", {"dryrun": True})
    assert status == 400 and "dry_run" in text


def test_a_key_that_needs_a_restart_is_named_and_taken_by_it(node):
    node.write("[server]\ntls_port = 1234\n[log]\nlevel = \"debug\"\n[onload]\nat_start = \"observe\"\n")
    for _ in range(2):
        answer = node.reload()
        assert keys(answer["restart_required"]) == ["server.tls_port", "onload.at_start"]
    assert answer["changed"] == []
    assert node.settings()["server.tls_port"]["value"] == 8443
    assert "RESTART_REQUIRED=server.tls_port, onload.at_start" in node.said()
    node.terminate()
    node.start()
    assert node.settings()["server.tls_port"]["value"] == 1234
    assert node.reload()["restart_required"] == []


def test_flags_stay_in_force(node):
    node.write("[server]\ndebug_port = 1\n[state]\ndirectory = \"/elsewhere\"\n")
    assert node.reload() == {"dry_run": False, "changed": [], "restart_required": [], "workloads": NONE_DECLARED}


# Each kind of value, by what it does.

def test_the_log_level_changes(node):
    node.write("[log]\nlevel = \"error\"\n")
    node.reload()
    lines = len(node.journal().splitlines())
    node.create("0", 1, 1)
    assert len(node.journal().splitlines()) == lines
    node.write("")
    node.reload()
    node.create("1", 1, 1)
    assert "AUDIT_CHANGE" in node.journal().splitlines()[-1]


def test_the_interval_of_the_drift_check_changes(node):
    id = node.create("4", 2, 2)["id"]
    node.write(DRIFT)
    node.reload()
    node.sim.run_inside(["sh", "-c", "echo 'L3:0=7ff' > /sys/fs/resctrl/COS2/schemata"])
    wait_for(lambda: "DRIFT_REPAIRED" in node.said(), "the repair")
    node.assert_consistent([id])


def test_the_interval_of_monitoring_changes(node):
    id = node.create("4", 2, 2)["id"]
    node.write("[monitoring]\ninterval_seconds = 0\n")
    node.reload()
    assert "monitoring.interval_seconds is 0" in refusal(node.call, "GET", f"/v1/workloads/{id}/monitoring").text


def test_policies_are_read_again_even_if_the_configuration_is_the_same(node):
    path = os.path.join(node.folder, "policy.toml")
    with open(path, "w") as file:
        file.write(POLICY.format(2))
    node.write(f"[policy]\nfile = \"{path}\"\n")
    assert keys(node.reload()["changed"]) == ["policy.file"]
    first = node.call("POST", "/v1/workloads", {"core_ids": ["0"], "policy": "gold"})
    with open(path, "w") as file:
        file.write(POLICY.format(3))
    assert node.reload()["changed"] == []
    assert node.call("GET", "/v1/policy")["gold"]["cache"]["max"] == 3
    second = node.call("POST", "/v1/workloads", {"core_ids": ["1"], "policy": "gold"})
    assert [workload["cache"]["max"] for workload in (first, second)] == [2, 3]
    with open(path, "w") as file:
        file.write("[default.gold.cache\n")
    status, problem = node.refusal()
    assert status == 400 and problem["detail"].startswith(path + ":1: ")
    assert node.call("GET", "/v1/policy")["gold"]["cache"]["max"] == 3


def test_limits_of_onload_change(node):
    node.write("[onload]\nusers_policy = \"kill\"\nmax_allocations = 1\nlook_interval_seconds = 5\n")
    assert keys(node.reload()["changed"]) == ["onload.users_policy", "onload.look_interval_seconds", "onload.max_allocations"]


# Pools, while workloads are in place.

def test_pools_change_with_workloads_in_place(node):
    first = node.create("0", 5, 5)
    assert refusal(node.create, "1", 2, 2)  # the guarantee pool is full
    node.write("[cache_pools]\nos = 1\nguarantee = 8\nbesteffort = 0\nshared = 2\n")
    before = node.plain()
    node.reload()
    assert node.plain() == before
    assert node.list() == [first]
    second = node.create("1", 3, 3)
    node.assert_consistent([first["id"], second["id"]])
    node.kill9_and_start()
    node.assert_consistent([first["id"], second["id"]])


def test_reserved_classes_change(node):
    node.write("[classes]\nreserve = 14\n")
    node.reload()
    node.create("0", 1, 1)
    assert "classes.reserve" in refusal(node.create, "1", 1, 1).text
    node.write("")
    node.reload()
    node.create("1", 1, 1)


# SIGHUP, races, crashes.

def test_sighup_reloads_with_one_line_in_the_journal(node):
    node.write("[drift]\ninterval_seconds = 5\n[server]\ntls_port = 1\n")
    node.sighup("CONFIG_RELOADED")
    assert "configuration reloaded: 1 changed, 1 require a restart" in node.said()
    assert node.settings()["drift.interval_seconds"]["value"] == 5
    node.write("[drift]\ninterval_seconds = x\n")
    node.sighup("CONFIG_NOT_RELOADED")
    assert f"CONFIG_NOT_RELOADED: {node.config}:2: " in node.said()
    assert node.settings()["drift.interval_seconds"]["value"] == 5


def test_reloads_at_once_are_done_one_after_the_other(node):
    node.create("0", 1, 1)
    node.write("[drift]\ninterval_seconds = 5\n")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        reports = [answer.result() for answer in [pool.submit(node.reload) for _ in range(8)]]
    assert sorted(len(report["changed"]) for report in reports) == [0] * 7 + [1]
    node.assert_consistent()


def test_reloads_and_workloads_at_once_leave_a_consistent_node(node):
    texts = ["[cache_pools]\nguarantee = 4\nbesteffort = 3\nshared = 2\nos = 1\n", "",
             "[cache_pools]\ninfra = 1\nguarantee = 3\n[infra]\ncpus = \"15\"\n"]
    stop = time.monotonic() + 3

    def again(act):
        """How often it succeeded; on a busy machine it goes on until it has."""
        done = 0
        for turn in itertools.count():
            if time.monotonic() > stop + (0 if done else DEADLINE):
                return done
            with contextlib.suppress(Refused):
                act(turn)
                done += 1

    def change(turn):
        node.write(texts[turn % len(texts)])
        node.reload()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(again, [change, *[lambda _, cpu=cpu: node.delete(node.create(str(cpu), 2, 2)["id"]) for cpu in (0, 1, 8)]]))
    assert all(counts) and node.list() == [], counts
    node.write("")
    node.reload()
    node.assert_consistent([])


def test_a_start_after_a_crash_in_a_reload_takes_what_the_files_say(node):
    deaths = 0
    for position in range(1, 40):
        kept = node.create("8", 2, 2)
        node.write("[cache_pools]\ninfra = 1\nguarantee = 4\n[infra]\ncpus = \"2\"\n[os]\ncpus = \"3\"\n")
        node.sim.control("reset")
        node.sim.control(f"fault write {position} kill-after")
        try:
            node.reload()
            break  # it has no more writes
        except (OSError, http.client.HTTPException):
            assert node.wait_dead() == -9
        deaths += 1
        node.start()
        assert node.hardware()["COS1"]["cpus"] == "2"
        assert [workload["id"] for workload in node.list()] == [kept["id"]]
        node.write("")
        node.reload()
        node.assert_consistent([kept["id"]])
        node.delete(kept["id"])
    node.sim.control("reset")
    node.forget()
    assert deaths > 3
