"""What the kernel, other software and the administrator do in a random world."""

import contextlib
import os
import random
import subprocess

from faulty_disk import Disk
from frequencies import NO_TURBO, SCALING_MAX
from masks import cpus_of
from mounted_nodes import KEPT
from random_answers import CGROUPS
from simnode import SimNodeError

BOOST = "/sys/devices/system/cpu/cpufreq/boost"
STATUS = "/sys/devices/system/cpu/intel_pstate/status"
FOREIGN = ("theirs", "libvirt", "COS15")
# What other software sets; no client requests these.
FOREIGN_MIN, FOREIGN_MAX = 900_000, 1_700_000


class Neighbours:
    """Part of World."""

    def a_task(self):
        self.processes.append(subprocess.Popen(["sleep", "infinity"], start_new_session=True))
        return self.processes[-1].pid

    def write(self, path, text):
        self.note("write", path, text)
        with contextlib.suppress(OSError):
            self.sim.write(path, text)
            return True

    # The kernel

    def hotplug(self):
        cpu = self.dice.choice(sorted(self.offline) if len(self.offline) > 2 else range(1, self.shape["cpus"]))
        self.offline ^= {cpu}
        self.note("offline" if cpu in self.offline else "online", cpu)
        self.sim.control(f"{'offline' if cpu in self.offline else 'online'} {cpu}")

    def remount(self):
        """As another mount: without groups, and with other options."""
        self.has_cdp = self.dice.random() < 0.5
        self.note("remount", self.has_cdp)
        self.sim.control("remount cdp" if self.has_cdp else "remount percent")
        self.foreign.clear()

    def unmount(self):
        if self.is_mounted:
            self.note("umount")
            self.node.unmount()
            self.is_mounted = False
            self.remount()
        else:
            self.note("mount")
            self.node.mount()
            self.is_mounted = True

    # Other software

    def turbo(self):
        is_intel = self.shape["cpufreq"].startswith("intel")
        if self.write(NO_TURBO if is_intel else BOOST, f"{int(self.has_turbo == is_intel)}\n"):
            self.has_turbo = not self.has_turbo

    def driver(self):
        if self.shape["cpufreq"].startswith("intel"):
            self.is_active, self.had_other_driver = not self.is_active, True
            assert self.write(STATUS, "active\n" if self.is_active else "passive\n")
            self.reset_frequencies()

    def frequency(self):
        cpu = self.dice.choice(sorted(set(range(self.shape["cpus"])) - self.offline))
        key, file, value = self.dice.choice([("min", "scaling_min_freq", FOREIGN_MIN), ("max", "scaling_max_freq", FOREIGN_MAX),
                                             ("governor", "scaling_governor", "performance"), ("governor", "scaling_governor", "powersave")])
        path = os.path.join(os.path.dirname(SCALING_MAX % cpu), file)
        if self.write(path, f"{value}\n"):
            for each in self.domain(cpu):
                self.may_be[each][key].add(value)

    def mask_line(self, ways):
        return f"L3CODE:0={ways:x}\nL3DATA:0={ways:x}\n" if self.has_cdp else f"L3:0={ways:x}\n"

    def group(self):
        """A group of other software, mostly with ways, CPUs or a task."""
        name = self.dice.choice(FOREIGN)
        folder = self.sim.path(f"{KEPT}/{name}")
        self.note("group", name)
        if name in self.foreign:
            del self.foreign[name]
            os.rmdir(folder)
        elif not os.path.exists(folder):
            with contextlib.suppress(OSError):  # no class is left
                os.mkdir(folder)
                if self.dice.random() < 0.7 or name == "COS15":  # an empty one counts as left by libpqos
                    self.write(f"{KEPT}/{name}/schemata", self.mask_line(3 << self.dice.randint(0, self.shape["ways"] - 2)))
                if self.dice.random() < 0.3:
                    self.write(f"{KEPT}/{name}/tasks", f"{self.a_task()}\n")
                self.foreign[name] = self.node.hardware()[name]

    def a_class(self):
        """The group of a workload, one without tasks."""
        with_tasks = {w["cos_name"] for w in self.node.list() if w.get("task_ids") or "cgroup" in w or "unit" in w}
        return self.dice.choice(sorted({w["cos_name"] for w in self.node.list()} - with_tasks - {""}) or [None])

    def tamper(self):
        if name := self.a_class():
            self.write(f"{KEPT}/{name}/schemata", self.dice.choice([self.mask_line((1 << self.shape["ways"]) - 1), "MB:0=50\n"]))

    def stray_cpu(self):
        if name := self.a_class():
            cpus = cpus_of(self.node.hardware().get(name, {"cpus": ""})["cpus"]) | {self.dice.randrange(self.shape["cpus"])}
            self.write(f"{KEPT}/{name}/cpus_list", ",".join(map(str, sorted(cpus))) + "\n")

    def stray_task(self):
        if name := self.a_class():
            self.strays.add(self.a_task())
            self.write(f"{KEPT}/{name}/tasks", f"{self.processes[-1].pid}\n")

    def vanish(self):
        if name := self.a_class():
            self.note("vanish", name)
            with contextlib.suppress(SimNodeError):  # not made yet, after a mount
                self.sim.control(f"vanish {name}")

    def end_task(self):
        if self.processes:
            self.end_process(self.dice.choice(self.processes).pid)

    def end_process(self, pid):
        ended = next(each for each in self.processes if each.pid == pid)
        self.processes.remove(ended)
        self.note("end", pid)
        ended.kill()
        ended.wait()

    def cgroup(self):
        """One comes with a process, or without; or it goes."""
        name = self.dice.choice(CGROUPS)
        folder = self.sim.path(f"/sys/fs/cgroup{name}")
        if os.path.exists(folder):
            self.note("vanish", name)
            self.sim.control(f"vanish /sys/fs/cgroup{name}")
        else:
            self.note("cgroup", name)
            os.mkdir(folder)
        if os.path.exists(folder) and self.dice.random() < 0.7:
            self.write(f"/sys/fs/cgroup{name}/cgroup.procs", f"{self.a_task()}\n")

    # Faults

    def hardware_fault(self):
        """Of one of the next writes of nrd; a death is followed by a start."""
        fault = self.dice.choice(["errno EIO", "errno EBUSY", "errno EINVAL", "errno ENOSPC", "lie", "kill-before", "kill-after", "delay 300"])
        self.note("fault", fault)
        self.sim.control(f"fault write {self.dice.randint(1, 12)} {fault}")
        self.may_refuse = self.has_refused = True
        self.dice.choice(self.CLIENTS)(self)
        self.sim.control("reset")
        self.revive()
        self.may_refuse = False

    def disk_fault(self):
        fault = self.dice.choice([dict(kind=Disk.KILL), dict(kind=Disk.FAIL_ONCE, errno=28), dict(kind=Disk.FAIL_ON, errno=28),
                                  dict(kind=Disk.FAIL_ONCE, errno=5), dict(kind=Disk.FAIL_ON, errno=5, only_sync=True),
                                  dict(kind=Disk.FAIL_ON, errno=30)])
        self.note("disk", fault)
        self.node.disk.set(at=self.dice.randint(1, 8), **fault)
        self.may_refuse = True
        for _ in range(self.dice.randint(1, 3)):
            self.dice.choice(self.CLIENTS)(self)
            if self.node.daemon.poll() is not None:
                break
        self.node.disk.set()
        self.revive()
        self.may_refuse = False

    def revive(self):
        if not self.node.answers():
            assert self.node.wait_dead() == -9, self.node.journal()
            self.note("start after its death")
            self.begin()

    # The administrator

    def restart(self):
        """nrd is down for a while, in which the rest of the world goes on."""
        self.note("stop")
        self.dice.choice([self.node.kill9, self.node.terminate])()
        for _ in range(self.dice.randint(0, 2)):
            self.dice.choice([self.hotplug, self.turbo, self.group, self.end_task, self.driver, self.unmount, self.remount, self.cgroup])()
        if self.dice.random() < 0.2:
            self.wipe()
        self.begin()
        self.note("started")

    def begin(self):
        self.node.start()
        self.has_refused = False

    def wipe(self):
        self.note("wipe")
        self.sim.control("wipe")
        self.foreign.clear()
        self.sim.write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset +cpu +memory")
        self.boot_units()
        self.has_turbo, self.is_active = True, self.shape["cpufreq"] == "intel_pstate"
        self.reset_frequencies()

    def reload(self):
        changed = {**self.settings, **dict([self.dice.choice([
            ("shrink", self.dice.choice(["true", "false"])), ("os", self.dice.choice(["", "0", "1-2"])),
            ("reserve", self.dice.choice([0, 1, 3])), ("pool", self.dice.choice(["3-5", "2-5", "4-5", "4"])),
            ("threads", self.dice.choice(["any", "one", "all"])), ("latency", self.dice.choice([-1, 0, 20])),
            ("foreign", self.dice.choice(["report", "refuse"])), ("noise", self.dice.choice(["true", "false"])), ("sizes", self.some_sizes())])])}
        self.node.configure(self.configuration(changed))
        status, text, _ = self.node.request("POST", "/v1/config/reload", {})
        self.note("reload", changed, status, text[:200])
        assert status in (200, 400, 409), (status, text)
        if status == 200:
            self.settings = changed
        self.node.configure(self.configuration(self.settings))


    def some_sizes(self):
        """Of the pools of ways, which need not fit."""
        os_ways, shared = self.dice.randint(1, 2), self.dice.randint(0, 2)
        guarantee = self.dice.randint(2, max(2, self.shape["ways"] - os_ways - shared))
        best_effort = self.dice.randint(0, max(0, self.shape["ways"] - os_ways - shared - guarantee))
        return self.dice.choice(["", f"os = {os_ways}\nguarantee = {guarantee}\nbesteffort = {best_effort}\nshared = {shared}"])


def a_shape(seed):
    dice = random.Random(seed)
    sockets = dice.choice([1, 2, 4])
    shape = {"sockets": sockets, "cpus": sockets * dice.choice([8, 16]), "ways": dice.choice([6, 11, 15, 20]),
             "closids": dice.choice([4, 8, 16]), "min_cbm_bits": dice.choice([1, 1, 2]), "threads": dice.choice([1, 2]),
             "sparse_masks": dice.random() < 0.3, "cdp": dice.random() < 0.3, "mb_unit": "percent", "cgroups": True,
             "cpufreq": dice.choice(["intel_pstate", "intel_cpufreq", "acpi-cpufreq", "amd-pstate-epp"]),
             "freq_domain": dice.choice(["cpu", "core", "socket"]), "cpufreq_offline": dice.choice(["gone", "busy"]),
             "min_over_max": dice.choice(["refuse", "clamp"])}
    shape["l2_cpus"] = shape["threads"]  # with an L2 cache for each thread hwloc finds no cores where a sibling is offline
    if dice.random() < 0.3:
        shape.update(l2_cat=True, l2_ways=8, l2_cpus=2)
    if dice.random() < 0.3:
        shape["offline"] = "5"
    if shape["min_cbm_bits"] > 1:
        shape["sparse_masks"] = False  # no CPU has both
    return {name: value for name, value in shape.items() if value is not False or name == "sparse_masks"}
