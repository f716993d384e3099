"""What journalctl shows: journald gets each line with its id and what it is about, also when nrd does not start."""

import contextlib
import os
import select
import socket

import pytest

from harness import DRIFT, Node, wait_for


class Journal:
    """In place of journald, on a node whose daemon has not started. Its standard error is the stream that JOURNAL_STREAM names."""

    def __init__(self, node):
        folder = node.sim.path("/run/systemd/journal")
        node.sim.run_inside(["mount", "-t", "tmpfs", "tmpfs", "/run"])
        os.makedirs(folder)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(os.path.join(folder, "socket"))
        self.entries = []
        log = os.path.join(node.folder, "log")
        open(log, "w").close()
        status = os.stat(log)
        node.environment["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"

    def read(self):
        while select.select([self.socket], [], [], 0)[0]:
            fields = (line.split("=", 1) for line in self.socket.recv(65536).decode().splitlines() if "=" in line)
            self.entries.append(dict(fields))
        return self.entries

    def lines(self, id):
        """Priority and text, as journalctl prints it."""
        return [(int(entry["PRIORITY"]), entry["MESSAGE"]) for entry in self.read() if entry["NRD_MESSAGE"] == id]

    def wait(self, id):
        wait_for(lambda: self.lines(id), id)
        return self.lines(id)


@contextlib.contextmanager
def journald(config="", **shape):
    with Node(config, start=False, **shape) as node:
        journal = Journal(node)
        try:
            yield node, journal
        finally:
            journal.socket.close()


def test_a_line_has_its_id_and_what_its_fields_say():
    with journald(DRIFT) as (node, journal):
        node.start()
        node.create("4-5", 2, 2)
        node.sim.run_inside(["sh", "-c", "echo 'L3:0=7ff' > /sys/fs/resctrl/COS2/schemata"])
        [(priority, text)] = journal.wait("DRIFT_REPAIRED")
        assert priority == 4 and text.startswith("DRIFT_REPAIRED: other software changed")
        assert text.endswith(" DIFFERENCE=COS2 ways on cache 0: 7ff, not 6 COUNT=1")
        assert node.journal() == ""


def test_an_audit_says_once_who_did_what():
    with journald() as (node, journal):
        node.start()
        node.create("4-5", 2, 2)
        [(_, text)] = journal.wait("AUDIT_CHANGE")
        assert text.endswith(": POST /v1/workloads: 201 (workload 1, granted COS2, cache 0: 6)")
        assert journal.entries[-1]["NRD_WORKLOAD"] == "1"


@pytest.mark.parametrize("config, said", [
    ("[drift]\ninterval = 1\n", "nrd.toml:2: unknown key drift.interval"),
    ("[cache_pools]\nos = 1\nguarantee = 20\nbesteffort = 1\nshared = 1\n", "but each L3 cache has 11"),
    ("[tls]\ncertificate = '/none'\nkey = '/none'\nclient_ca = '/none'\n", "No such file or directory"),
])
def test_the_reason_of_a_failed_start_is_an_error(config, said):
    with journald(config) as (node, journal):
        node.spawn()
        assert node.wait_dead() in (1, 78)
        [(priority, text)] = journal.wait("START_FAILED")
        assert priority == 3 and text.startswith("START_FAILED: ") and said in text


def test_an_inherited_stream_of_the_journal_is_not_written_to():
    with journald() as (node, journal):
        node.environment["JOURNAL_STREAM"] = "1:1"
        node.start()
        wait_for(lambda: "READY" in node.journal(), "the line on standard error")
        assert journal.read() == []


def test_begin_and_end_of_what_limits_a_workload_are_logged():
    limit = "/sys/devices/system/cpu/intel_pstate/max_perf_pct"
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        node.create("4", 1, 1, pstate={"max_ratio": 30})
        node.sim.run_inside(["sh", "-c", f"echo 50 > {limit}"])
        wait_for(lambda: node.health()["status"] == "degraded", "the limit")
        wait_for(lambda: "HARDWARE_PROBLEM" in node.journal(), "the line")
        [line] = [line for line in node.journal().splitlines() if "HARDWARE_PROBLEM" in line]
        assert line.startswith("nrd error") and node.health()["hardware_problem"] in line
        node.sim.run_inside(["sh", "-c", f"echo 100 > {limit}"])
        wait_for(lambda: "nrd notice HARDWARE_RECOVERED" in node.journal(), "the end")
        assert node.health()["status"] == "ok" and node.journal().count("HARDWARE_PROBLEM") == 1


def test_a_dry_run_is_no_change_in_the_audit():
    with Node() as node:
        body = {"core_ids": ["4"], "cache": {"max": 1, "min": 1}}
        for method, path, sent in (("POST", "/v1/workloads?dry_run=true", body), ("PUT", "/v1/workloads/a?dry_run=true", body),
                                   ("POST", "/v1/config/reload", {"dry_run": True}), ("PUT", "/v1/workloads/a", body)):
            node.call(method, path, sent)
        lines = [line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line]
        assert [("(dry_run true)" in line, "DRY_RUN=true" in line) for line in lines] == 3 * [(True, True)] + [(False, False)]
