"""The real daemon with pools of CPUs on a real kernel, alone or with a systemd as the first process."""

import os
import signal

import pytest

from daemon_node import SOCKET
from masks import cpus_of
from rdt_node import RdtNode

NRDCTL = os.environ.get("NRDCTL")
CGROUPS = "/sys/fs/cgroup"
ATTEMPTS = 20
LONG = pytest.mark.skipif(not os.environ.get("NRD_VM_LONG"), reason="takes long: tests/vm/cpus runs it")


def pooled(os_cpus, fast, confine=None, **intervals):
    """A configuration with the exclusive pool fast, and seconds between what nrd does again and again."""
    sections = [f"[{name}]\ninterval_seconds = {seconds}\n" for name, seconds in intervals.items()]
    sections.append(f'[os]\ncpus = "{os_cpus}"\n')
    if confine:
        sections.append(f'[cpu]\nconfine = "{confine}"\n')
    return "\n" + "".join(sections) + f'[[cpu.pools]]\nname = "fast"\ncpus = "{fast}"\nkind = "exclusive"\n'


class PoolNode(RdtNode):
    def launch(self, *options, prefix=()):
        """`nrdctl run` of a command that waits, once it has its CPUs."""
        known = {workload["id"] for workload in self.get("/v1/workloads")}
        process = self.start_command([*prefix, NRDCTL, "--socket", SOCKET, "run", *options, "--", "sleep", "infinity"])
        assert process.poll() is None, process.output()
        workload, = (w for w in self.get("/v1/workloads") if w["id"] not in known)
        return process, workload

    def start_command(self, argv, name="sleep"):
        """Once it has ended or become the command of this name."""
        process = self.vm.spawn(argv)
        self.vm.wait_until(lambda: process.poll() is not None or self.vm.read(f"/proc/{process.pid}/comm") == f"{name}\n", timeout=60, what="the command")
        return process

    def mask_of(self, pid):
        """Of its main thread, the online CPUs alone."""
        return cpus_of(self.vm.run(["taskset", "-pc", str(pid)]).stdout.rpartition(": ")[2])

    def masks(self):
        """Of all processes of user space, by number and name."""
        script = "for p in /proc/[0-9]*; do [ -s $p/cmdline ] && echo ${p#/proc/} $(cat $p/comm) $(taskset -pc ${p#/proc/} | sed 's/.*: //'); done 2> /dev/null; true"
        lines = (line.split() for line in self.vm.run(script).stdout.splitlines())
        return {int(pid): (name, mask[0]) for pid, name, *mask in lines if mask and name not in ("bash", "sh")}

    def online(self, cpu, is_online):
        self.vm.write(f"/sys/devices/system/cpu/cpu{cpu}/online", f"{int(is_online)}\n")

    def wait_for_none(self):
        self.vm.wait_until(lambda: self.get("/v1/workloads") == [], timeout=60, what="the workload to go")


class SystemdNode(PoolNode):
    """On Machine(systemd=True), which beside other work of the host takes seconds for what it does elsewhere in milliseconds.
    What was refused for this, without any effect, is asked once more."""

    systemd_timeout_ms = 8000

    def start(self):
        self.vm.run(["mkdir", "-p", "/run/nrd.toml.d"])
        self.vm.write("/run/nrd.toml.d/slow.toml", f"[cpu]\nsystemd_timeout_ms = {self.systemd_timeout_ms}\n")
        super().start()

    def request(self, method, path, body=None, headers=()):
        for _ in range(ATTEMPTS):
            status, answer = super().request(method, path, body, headers)
            if status != 503:
                break
            self.vm.run(["systemctl", "show", "-p", "Version"])  # once systemd has done what it was busy with
        return status, answer

    def start_command(self, argv, name="sleep"):
        for _ in range(ATTEMPTS):
            process = super().start_command(argv, name)
            if process.poll() != 75:
                break
            self.vm.run(["systemctl", "show", "-p", "Version"])
        return process

    def end(self, process):
        process.kill(signal.SIGKILL)
        process.wait()

    def service(self, name, command, *lines):
        """Made and not started."""
        self.vm.write(f"/run/systemd/system/{name}", "\n".join(["[Service]", f"ExecStart={command}", *lines, ""]))
        self.vm.run(["systemctl", "daemon-reload"])
        self.vm.run(["systemctl", "show", "-p", "LoadState", name])  # the first look for a unit reads all their folders

    def main_of(self, unit):
        return int(self.vm.run(["systemctl", "show", "-p", "MainPID", "--value", unit]).stdout)

    def property_of(self, unit, name):
        return self.vm.run(["systemctl", "show", "-p", name, "--value", unit]).stdout.strip()

    def cgroup_of(self, pid):
        return self.vm.read(f"/proc/{pid}/cgroup").strip().removeprefix("0::")

    def effective(self, cgroup):
        return cpus_of(self._effective(cgroup, "cpus"))

    def effective_memory(self, cgroup):
        return self._effective(cgroup, "mems").strip()

    def _effective(self, cgroup, what):
        """Where the controller is disabled, that of the cgroup above counts."""
        file = f"cpuset.{what}.effective"
        script = f'at={cgroup}; while [ -n "$at" ] && [ ! -e {CGROUPS}$at/{file} ]; do at=${{at%/*}}; done; cat {CGROUPS}$at/{file}'
        return self.vm.run(script).stdout

    def scopes(self):
        return self.vm.run(f"find {CGROUPS} -name 'nrd-*.scope'").stdout.split()
