"""A host whose cgroups and systemd are simulated, with CPU pools, a service and a cgroup of other software.

Tests have it as fixture `host`.
"""

import contextlib
import os
import time

import pytest

from cpu_pools import post
from harness import Node, process, refusal
from system_bus import SystemBus
from systemd import LISTS, NOT_SET, Systemd, list_of

POOLS = """
[drift]
interval_seconds = 1
[os]
cpus = "0-1"
[[cpu.pools]]
name = "fast"
cpus = "2-6"
kind = "exclusive"
[[cpu.pools]]
name = "wide"
cpus = "7-8"
kind = "exclusive"
[[cpu.pools]]
name = "common"
cpus = "10-11"
kind = "shared"
"""
FEED = "/system.slice/feed.service"


class Host:
    """A node on which systemd runs feed.service, and a cgroup of other software has a process."""

    def __init__(self, folder, config=POOLS, start=True, **shape):
        with contextlib.ExitStack() as self.stack:
            self.node = self.stack.enter_context(Node(config, start=False, cgroups=True, systemd=True, **shape))
            self.sim = self.node.sim
            self.systemd = Systemd(self.sim)
            self.stack.callback(self.systemd.end)
            self.bus = SystemBus(folder, self.systemd.answer)
            self.node.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.stack.enter_context(self.bus)
            self.feed = self.sleeper()
            self.systemd.add("feed.service", self.feed)
            os.mkdir(self.cgroup("/jobs"))
            os.mkdir(self.cgroup("/idle"))  # without processes
            self.write("/jobs", "cgroup.procs", str(self.sleeper()))
            self.write("", "cgroup.subtree_control", "+cpuset +cpu +memory")
            if start:
                self.node.start()
            self.stack = self.stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.systemd.mode = "normal"
        self.stack.__exit__(*failure)

    def sleeper(self):
        return self.stack.enter_context(process()).pid

    def cgroup(self, path, file=""):
        return self.systemd.path(path, file)

    def write(self, path, file, text):
        self.sim.write(f"/sys/fs/cgroup{path}/{file}", text)

    def read(self, path, file):
        return self.systemd.read(path, file)

    def cpus(self, path):
        """Those that its processes may have."""
        has_file = path == "" or os.path.exists(self.cgroup(path, "cpuset.cpus.effective"))
        return self.read(path, "cpuset.cpus.effective") if has_file else self.cpus(path.rpartition("/")[0])

    def property(self, unit, name="AllowedCPUs"):
        return list_of(self.systemd.units[unit].properties.get(name, b""))

    def traces(self):
        """All that nrd could have left on the host."""
        units = {name: (*(unit.properties.get(each, b"") for each in LISTS), unit.properties.get("CPUWeight", NOT_SET), unit.properties.get("CPUQuotaPerSecUSec", NOT_SET))
                 for name, unit in self.systemd.units.items() if self.exists(name)}
        units.pop("nrd.slice", None)  # it stays, and keeps the controller enabled
        return units, [(self.cpus(path), self.read(path, "cpu.weight"), self.read(path, "cpu.max"), self.read(path, "cpuset.mems.effective")) for path in ("/jobs", "/idle", "/system.slice")], self.cpus(FEED)

    def exists(self, unit):
        return self.systemd.units[unit].cgroup or self.systemd.units[unit].properties


@pytest.fixture
def host(tmp_path):
    with Host(tmp_path) as host:
        yield host


TARGETS = {"unit": {"unit": "feed.service"}, "cgroup": {"cgroup": "/jobs"}}
PATHS = {"unit": FEED, "cgroup": "/jobs"}


def ask(target, **cpu):
    return {"cpu": {"pool": "fast", "count": 2, **cpu}, "cache": {"max": 2, "min": 2}, **TARGETS[target]}


def share(**cpu):
    return {"cpu": {"pool": "common", "request_milli": 500, "limit_milli": 800, **cpu}}


def assert_refused(host, workload, status, *parts, within=2.5):
    began = time.monotonic()
    refused = refusal(post, host.node, workload)
    assert time.monotonic() - began < within
    assert refused.status == status and all(part in refused.text for part in parts), refused
    assert host.node.list() == []
