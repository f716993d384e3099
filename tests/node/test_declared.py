"""Workloads that files declare: /etc/nrd/workloads.d."""

import json
import os
import random
import re
import signal
import time

import pytest

from harness import Node, wait_for
from nrdctl import nrdctl, run_nrdctl


class Declared(Node):
    def __init__(self, files, **more):
        self.files = files
        super().__init__(start=False, **more)
        self.directory = os.path.join(self.folder, "workloads.d")
        os.mkdir(self.directory, 0o755)
        with open(self.config, "a") as config:
            config.write(f'\n[workloads]\ndirectory = "{self.directory}"\n')
        for name, text in files.items():
            self.declare(name, text)
        self.start()

    def declare(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)

    def reload(self):
        self.sighup("DECLARED_APPLIED")

    def ids(self):
        return {workload["id"]: workload["origin"] for workload in self.list()}

    def warnings(self):
        return self.call("GET", "/v1/health")["warnings"][1:]

    def revision(self):
        return self.rows("SELECT revision FROM node")[0][0]


FEED = 'core_ids = ["4-5"]\nname = "feed"\n[cache]\nmax = 2\nmin = 2\n[labels]\nTeam = "trading"\n'


def test_files_are_created_at_start_and_followed_at_reload():
    with Declared({"feed.toml": FEED,
                   "more.yaml": "workloads:\n- {id: a, core_ids: ['6'], cache: {max: 1, min: 1}}\n- {id: b, core_ids: ['7'], cache: {max: 0, min: 0}}\n",
                   "c.json": json.dumps({"core_ids": ["8"], "cache": {"max": 1, "min": 1}}),
                   "README": "not a document", ".hidden.toml": "broken ["}) as node:
        assert node.ids() == {"feed": "FILE", "a": "FILE", "b": "FILE", "c": "FILE"}
        feed = node.call("GET", "/v1/workloads/feed")
        assert feed["name"] == "feed" and feed["labels"] == {"Team": "trading"} and feed["granted_ways"]["0"]["ways"] == 2
        node.assert_consistent({"feed", "a", "b", "c"})
        written = node.revision()
        node.terminate()
        node.start()
        assert node.revision() == written, "the same files wrote to the store"
        node.create("9", 1, 1)  # not of these files
        node.declare("feed.toml", FEED.replace("max = 2\nmin = 2", "max = 1\nmin = 1"))
        os.remove(os.path.join(node.directory, "c.json"))
        node.reload()
        wait_for(lambda: "c" not in node.ids(), "the workload without a file to go")
        wait_for(lambda: node.call("GET", "/v1/workloads/feed")["granted_ways"]["0"]["ways"] == 1, "the change")
        assert list(node.ids().values()).count("FILE") == 3 and "REST" in node.ids().values()
        assert node.warnings() == []


def test_a_refused_document_blocks_no_other_and_is_tried_again():
    with Declared({"big.toml": 'core_ids = ["4"]\n[cache]\nmax = 4\nmin = 4\n', "small.toml": 'core_ids = ["5"]\n[cache]\nmax = 3\nmin = 3\n',
                   "typo.toml": 'core_ids = ["6"]\n[cach]\nmax = 1\nmin = 1\n',
                   "process.yaml": "core_ids: ['7']\ncache: {max: 1, min: 1}\nowner: {pid: 1}\n"}) as node:
        assert node.ids() == {"big": "FILE"}
        warnings = node.warnings()
        assert len(warnings) == 3 and "nrd_declared_problems 3" in node.request("GET", "/metrics")[1].splitlines()
        assert any("small.toml: workload small: " in line and "Not enough" not in line for line in warnings)
        assert any("typo.toml: workload typo: /cach: " in line and 'did you mean "cache"' in line for line in warnings)
        assert any("process.yaml: workload process: /owner: " in line for line in warnings)
        node.declare("big.toml", 'core_ids = ["4"]\n[cache]\nmax = 1\nmin = 1\n')
        node.reload()
        wait_for(lambda: set(node.ids()) == {"big", "small"}, "the room to be used")
        other = node.call("PUT", "/v1/workloads/other", {"core_ids": ["6"], "cache": {"max": 1, "min": 1}})
        node.declare("typo.toml", 'core_ids = ["6"]\n[cache]\nmax = 1\nmin = 1\n')
        node.reload()
        wait_for(lambda: any("CPU 6 belongs to workload other" in line for line in node.warnings()), "the refusal")
        node.delete(other["id"])
        wait_for(lambda: "typo" in node.ids(), "the freed CPU to be used without a reload")


def test_a_reload_reports_the_declared_files():
    with Declared({"feed.toml": FEED, "old.toml": 'core_ids = ["6"]\n[cache]\nmax = 1\nmin = 1\n'}) as node:
        node.declare("feed.toml", FEED.replace("max = 2\nmin = 2", "max = 1\nmin = 1"))
        node.declare("new.toml", 'core_ids = ["7"]\n[cache]\nmax = 1\nmin = 1\n')
        node.declare("taken.toml", 'core_ids = ["5"]\n[cache]\nmax = 1\nmin = 1\n')
        os.remove(os.path.join(node.directory, "old.toml"))
        assert node.call("POST", "/v1/config/reload", {"dry_run": True})["workloads"] is None
        applied = node.call("POST", "/v1/config/reload", {})["workloads"]
        assert (applied["created"], applied["changed"], applied["deleted"]) == (1, 1, 1)
        assert [line.startswith("taken.toml: workload taken: ") for line in applied["problems"]] == [True], applied
        assert set(node.ids()) == {"feed", "new"}
        assert re.findall(r"DECLARED_CHANGED: .* WORKLOAD=(\w+) FILE=([\w.]+)", node.journal()) == [("feed", "feed.toml")]
        os.remove(os.path.join(node.directory, "new.toml"))
        said = nrdctl(node, "reload").splitlines()
        assert said[:2] == ["no setting has changed", "declared workloads: 1 deleted"]
        assert said[2].startswith("warning: declared workload not granted: taken.toml: workload taken: ") and len(said) == 3


def test_a_declared_workload_that_cannot_be_pruned_is_named_and_blocks_no_document():
    with Declared({"kept.toml": FEED + "\"nrd/set\" = \"s\"\n"}) as node:
        nrdctl(node, "apply", "-f", "-", "--set", "s", text="workloads: [{id: a, core_ids: ['6'], cache: {max: 1, min: 1}}]")
        said = nrdctl(node, "apply", "-f", "-", "--set", "s", "--prune", exit=77,
                      text="workloads: [{id: b, core_ids: ['7'], cache: {max: 1, min: 1}}]")
        assert sorted(said.splitlines()) == [
            "nrdctl: workload kept: the workload has origin FILE; this client changes only workloads of origin REST",
            "workload a deleted", "workload b created"]


def test_a_backup_leaves_declared_workloads_to_their_files(tmp_path):
    """Restored, they would have origin REST, and their files could not change them."""
    (folder := tmp_path / "kept").mkdir(mode=0o700)
    with Declared({"feed.toml": FEED}) as node:
        node.create("8", 1, 1, id="own")
        done = run_nrdctl("--socket", node.socket, "backup", str(folder / "all.yaml"))
        assert done.returncode == 0 and "1 workloads saved" in done.stdout, done
        assert "workload feed left out: only its origin, FILE" in done.stderr
        node.delete("own")
        assert nrdctl(node, "restore", str(folder / "all.yaml")) == "workload own created\n"
        node.reload()
        assert node.ids() == {"feed": "FILE", "own": "REST"} and node.warnings() == []


def test_a_broken_file_deletes_nothing():
    with Declared({"feed.toml": FEED, "b.toml": 'core_ids = ["6"]\n[cache]\nmax = 1\nmin = 1\n'}) as node:
        node.declare("b.toml", "core_ids = [")
        node.reload()
        wait_for(lambda: any("b.toml" in line for line in node.warnings()), "the file to be reported")
        assert set(node.ids()) == {"feed", "b"}
        assert all("until it can be read, no declared workload is deleted" in line for line in [*node.warnings(), *re.findall("DECLARED_FILE.*", node.journal())])
        os.chmod(os.path.join(node.directory, "b.toml"), 0o666)
        node.reload()
        wait_for(lambda: any("b.toml: must not be writable by group or others" in line for line in node.warnings()), "the mode to be reported")
        assert set(node.ids()) == {"feed", "b"} and not any(node.folder in line for line in node.warnings())
        os.remove(os.path.join(node.directory, "b.toml"))
        node.reload()
        wait_for(lambda: set(node.ids()) == {"feed"}, "the removed file to count")


@pytest.mark.parametrize("text", ["", "# all gone\n", "workload:\n- {id: a, core_ids: ['6'], cache: {max: 1, min: 1}}\n"])
def test_a_file_that_has_lost_its_workloads_deletes_nothing(text):
    two = "workloads:\n- {id: a, core_ids: ['6'], cache: {max: 1, min: 1}}\n- {id: b, core_ids: ['7'], cache: {max: 1, min: 1}}\n"
    with Declared({"team.yaml": two}) as node:
        node.declare("team.yaml", text)
        node.reload()
        wait_for(lambda: any("team.yaml: " in line for line in node.warnings()), "the file to be reported")
        assert set(node.ids()) == {"a", "b"}
        node.terminate()
        node.start()
        assert set(node.ids()) == {"a", "b"}
        node.declare("team.yaml", "workloads: []\n")
        node.reload()
        wait_for(lambda: node.ids() == {}, "the empty list to count")


def test_ids_declared_twice_are_reported_and_swapped_cpus_are_granted():
    one, other = 'core_ids = ["4"]\n[cache]\nmax = 1\nmin = 1\n', 'core_ids = ["5"]\n[cache]\nmax = 1\nmin = 1\n'
    with Declared({"a.toml": one, "a.yaml": "core_ids: ['9']\ncache: {max: 1, min: 1}\n", "b.toml": other}) as node:
        assert node.call("GET", "/v1/workloads/a")["core_ids"] == ["4"]
        assert any("a.yaml: a is already declared in a.toml" in line for line in node.warnings())
        os.remove(os.path.join(node.directory, "a.yaml"))
        node.declare("a.toml", other.replace('"5"', '"5"'))
        node.declare("b.toml", one.replace('"4"', '"6"'))
        node.reload()
        wait_for(lambda: node.call("GET", "/v1/workloads/a")["core_ids"] == ["5"], "the CPUs to move")
        wait_for(lambda: node.warnings() == [], "the warnings to go")  # when all files have been applied again


def test_500_documents_applied_twice_write_once():
    list_of = "workloads:\n" + "".join(f"- {{id: w{i}, core_ids: ['{i + 1}'], cache: {{max: 0, min: 0}}}}\n" for i in range(500))
    with Declared({"all.yaml": list_of}, cpus=512) as node:
        wait_for(lambda: len(node.ids()) == 500, "all of them", 300)
        written = node.revision()
        node.reload()
        assert node.revision() == written and len(node.ids()) == 500


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_any_time_leaves_what_the_files_say(seed):
    dice = random.Random(seed)
    files = {f"w{i}.toml": f'core_ids = ["{i + 2}"]\n[cache]\nmax = 1\nmin = 1\n' for i in range(4)}
    with Declared(files) as node:
        for _ in range(6):
            victim = f"w{dice.randrange(4)}.toml"
            if dice.random() < 0.5 and os.path.exists(os.path.join(node.directory, victim)):
                os.remove(os.path.join(node.directory, victim))
            else:
                node.declare(victim, f'core_ids = ["{dice.randrange(2, 16)}"]\n[cache]\nmax = 0\nmin = 0\n')
            node.daemon.send_signal(1)
            time.sleep(dice.random() * 0.02)
            node.kill9_and_start()
            declared = {name.removesuffix(".toml") for name in os.listdir(node.directory)}
            refused = {id for id in declared if any(f": {id}.toml: workload" in line for line in node.warnings())}
            assert set(node.ids()) | refused == declared and not set(node.ids()) - declared
            node.assert_consistent()


def test_a_kill_at_each_hardware_write_of_the_first_pass_leaves_what_the_files_say():
    files = {"feed.toml": FEED, "a.toml": 'core_ids = ["8"]\n[cache]\nmax = 3\nmin = 1\n'}
    with Declared({}) as node:
        for name, text in files.items():
            node.declare(name, text)
        node.sim.control("reset")
        node.reload()
        writes = node.sim.writes()
        assert node.warnings() == [] and writes > 5
    for nth in range(1, writes + 1):
        with Declared({}) as node:
            for name, text in files.items():
                node.declare(name, text)
            node.sim.control("reset")
            node.sim.control(f"fault write {nth} kill-after")
            node.daemon.send_signal(signal.SIGHUP)
            assert node.wait_dead() == -9, node.journal()
            node.sim.control("reset")
            node.start()
            wait_for(lambda: set(node.ids()) == {"feed", "a"}, "the files to be applied")
            assert node.warnings() == []
            node.assert_consistent({"feed", "a"})
