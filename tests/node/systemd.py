"""systemd on a system bus of its own: what nrd asks of units, and what systemd does with their cgroups.

    systemd = Systemd(sim)                       # a SimNode with cgroups=True, systemd=True
    systemd.add("feed.service", process.pid)     # it runs in /system.slice/feed.service
    with SystemBus(folder, systemd.answer) as address:
        ...

Like systemd it reports success whatever the kernel says to its writes, and writes nothing when a limit is cleared. A fault
is in `mode`: "deaf" replies to nothing and does nothing; "mute" does what is asked and does not reply; "idle" replies
"done" and does nothing; "slow" takes `delay` for each reply; "strict" refuses all changes. While `memory_may_move` is cleared,
changes of AllowedMemoryNodes= take effect and are answered later, as while the kernel moves pages.
"""

import contextlib
import dataclasses
import os
import re
import subprocess
import tempfile
import threading
import time

from jeepney import HeaderFields
from system_bus import DBusError

ROOT = "/org/freedesktop/systemd1"
NOT_SET = 2**64 - 1  # of CPUWeight and CPUQuotaPerSecUSec
CHANGES = {"StartTransientUnit", "StartUnit", "SetUnitProperties"}
LISTS = {"AllowedCPUs": "cpuset.cpus", "AllowedMemoryNodes": "cpuset.mems"}
PERIOD = 100_000  # of cpu.max, in microseconds


@dataclasses.dataclass
class Unit:
    name: str
    cgroup: str = ""  # empty: it does not run
    slice: str = "-.slice"
    properties: dict = dataclasses.field(default_factory=dict)

    def is_limited(self):
        return any(self.properties.get(name) for name in LISTS)

    def has_share(self):
        return any(self.properties.get(name, NOT_SET) != NOT_SET for name in ("CPUWeight", "CPUQuotaPerSecUSec"))


def bits_of(cpus):
    mask = bytearray(max(cpus) // 8 + 1 if cpus else 0)
    for cpu in cpus:
        mask[cpu // 8] |= 1 << cpu % 8
    return bytes(mask)


def list_of(bits):
    return ",".join(str(cpu) for cpu in range(len(bits) * 8) if bits[cpu // 8] >> cpu % 8 & 1)


def cgroup_of_slice(name):
    """"/a.slice/a-b.slice" of "a-b.slice" (systemd.slice(5))."""
    parts = name.removesuffix(".slice").split("-")
    return "".join(f"/{'-'.join(parts[:count])}.slice" for count in range(1, len(parts) + 1)) if name != "-.slice" else ""


class Systemd:
    def __init__(self, sim=None):
        self.sim, self.mode = sim, "normal"
        self.delay = 0.08  # seconds
        self.on_change = lambda count, is_done: None  # called before and after each change
        self.changes = 0
        self.memory_may_move = threading.Event()
        self.memory_may_move.set()
        self.has_memory_to_move = False
        self.units = {}
        self.aliases = {}
        self.folder = tempfile.TemporaryDirectory(prefix="systemd-")
        self.shell = None  # in the node
        for name in ("system.slice", "user.slice", "nrd.slice"):
            self.units[name] = Unit(name)
        self.units["init.scope"] = Unit("init.scope")
        if sim:
            for name in ("system.slice", "user.slice"):
                self.start(name)

    def add(self, name, pid=None, slice="system.slice", **properties):
        """A service, which runs if it has a process."""
        unit = self.units[name] = Unit(name, slice=slice, properties={**properties, "MainPID": pid or 0})
        if pid and self.sim:
            self.start(name)
            self.move(unit, pid)
        return unit

    def end(self):
        if self.shell:
            self.shell.communicate()
        self.folder.cleanup()

    # What happens to cgroups. Errors are ignored, as systemd does.

    def path(self, cgroup, file=""):
        return self.sim.path(f"/sys/fs/cgroup{cgroup}/{file}")

    def write(self, cgroup, file, text):
        # By a process of its own: a fault of the simulated node may kill the writer.
        subprocess.run(["tee", self.path(cgroup, file)], input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def read(self, cgroup, file):
        with open(self.path(cgroup, file)) as text:
            return text.read().strip()

    def start(self, name):
        unit = self.units.setdefault(name, Unit(name))
        if name.endswith(".slice"):
            unit.cgroup = cgroup_of_slice(name)
        else:
            self.start(unit.slice)
            unit.cgroup = f"{cgroup_of_slice(unit.slice)}/{name}"
        with contextlib.suppress(FileExistsError):
            os.makedirs(self.path(unit.cgroup))
        self.realize(unit)

    def move(self, unit, pid):
        """Its membership is also in /proc/PID/cgroup, which only a kernel could change."""
        self.write(unit.cgroup, "cgroup.procs", str(pid))
        membership = os.path.join(self.folder.name, str(pid))
        with open(membership, "w") as file:
            file.write(f"0::{unit.cgroup}\n")
        if not self.shell:  # starting one for each process would take longer than nrd waits
            self.shell = subprocess.Popen(self.sim.inside(["sh"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        print(f"mount --bind {membership} /proc/{pid}/cgroup; echo", file=self.shell.stdin, flush=True)
        self.shell.stdout.readline()

    def realize(self, unit):
        if not unit.cgroup:
            return
        wanted = {"cpuset": unit.is_limited(), "cpu": unit.has_share()}
        above = unit.cgroup
        while above:
            above = above.rpartition("/")[0]
            enabled = self.read(above, "cgroup.subtree_control").split()
            missing = [f"+{name}" for name, is_wanted in wanted.items() if is_wanted and name not in enabled]
            self.enable(above, missing)
        for name, file in LISTS.items():
            if unit.properties.get(name):
                self.write(unit.cgroup, file, list_of(unit.properties[name]))
        if os.path.exists(self.path(unit.cgroup, "cpu.weight")):
            self.realize_share(unit)

    def enable(self, cgroup, controllers):
        """From the root down, since a cgroup can only pass on what it has."""
        if not controllers:
            return
        if cgroup:
            above = cgroup.rpartition("/")[0]
            enabled = self.read(above, "cgroup.subtree_control").split()
            self.enable(above, [each for each in controllers if each[1:] not in enabled])
        self.write(cgroup, "cgroup.subtree_control", " ".join(controllers))

    def realize_share(self, unit):
        weight = unit.properties.get("CPUWeight", NOT_SET)
        quota = unit.properties.get("CPUQuotaPerSecUSec", NOT_SET)
        self.write(unit.cgroup, "cpu.weight", str(100 if weight == NOT_SET else weight))
        limit = "max" if quota == NOT_SET else str(max(quota * PERIOD // 1_000_000, 1000))
        self.write(unit.cgroup, "cpu.max", f"{limit} {PERIOD}")

    def collect(self):
        """Scopes without processes end, as do those whose start has failed, which have no cgroup."""
        for name, unit in list(self.units.items()):
            if name.endswith(".scope") and not (unit.cgroup and self.is_populated(unit.cgroup)):
                with contextlib.suppress(FileNotFoundError):  # its creation has failed
                    if unit.cgroup:
                        os.rmdir(self.path(unit.cgroup))
                del self.units[name]

    def is_populated(self, cgroup):
        try:
            return "populated 1" in self.read(cgroup, "cgroup.events")
        except FileNotFoundError:
            return False

    # Requests

    def answer(self, message):
        member = message.header.fields[HeaderFields.member]
        if self.mode == "deaf":
            return None
        if self.mode == "slow":
            time.sleep(self.delay)
        if member not in CHANGES:
            return self.property(message) if member == "Get" else getattr(self, member)(*message.body)
        if self.mode == "strict":
            raise DBusError("org.freedesktop.systemd1.UnitMasked", "Unit feed.service is masked.")
        self.changes += 1
        self.on_change(self.changes, False)
        answer = ("o", (f"{ROOT}/job/1",)) if member != "SetUnitProperties" else ("", ())
        if self.mode != "idle":
            getattr(self, member)(*message.body)
        self.on_change(self.changes, True)
        return None if self.mode == "mute" else answer

    def StartTransientUnit(self, name, _mode, properties, _auxiliary):
        self.collect()
        if name in self.units:
            raise DBusError("org.freedesktop.systemd1.UnitExists", f"Unit {name} was already loaded.")
        given = {key: value for key, (_, value) in properties}
        pids = given.pop("PIDs")
        self.units[name] = Unit(name, slice=given.pop("Slice"), properties=given)
        self.start(name)
        for pid in pids:
            self.move(self.units[name], pid)

    def StartUnit(self, name, _mode):
        self.start(name)

    def SetUnitProperties(self, name, _runtime, properties):
        unit = self.units.setdefault(name, Unit(name))
        if any(key == "AllowedMemoryNodes" for key, _ in properties):
            self.has_memory_to_move = True
            self.memory_may_move.wait()
        unit.properties.update({key: value for key, (_, value) in properties})
        self.realize(unit)

    def LoadUnit(self, name):
        name = self.aliases.get(name, name)
        return "o", (f"{ROOT}/unit/" + "".join(c if c.isalnum() else f"_{ord(c):02x}" for c in name),)

    def GetUnitByControlGroup(self, cgroup):
        while cgroup:
            for name, unit in self.units.items():
                if unit.cgroup == cgroup:
                    return self.LoadUnit(name)
            cgroup = cgroup.rpartition("/")[0]
        raise DBusError("org.freedesktop.systemd1.NoSuchUnit", "Control group is not valid or not managed by this instance")

    def ListUnitsByPatterns(self, _states, _patterns):
        services = [name for name in self.units if name.endswith(".service")]
        return "a(ssssssouso)", ([(name, "", "loaded", "active", "running", "", self.LoadUnit(name)[1][0], 0, "", "/")
                                  for name in services],)

    def property(self, message):
        encoded, property = message.header.fields[HeaderFields.path].rpartition("/")[2], message.body[1]
        name = re.sub("_([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), encoded)
        unit = self.units.get(name)
        is_there = unit is not None or name == "-.slice"
        unit = unit or Unit(name)
        states = {
            "Id": ("s", name),
            "LoadState": ("s", "loaded" if is_there else "not-found"),
            "ActiveState": ("s", "active" if unit.cgroup else "inactive"),
            "ControlGroup": ("s", unit.cgroup),
            "Slice": ("s", unit.slice),
            "MainPID": ("u", unit.properties.get("MainPID", 0)),
            "Delegate": ("b", unit.properties.get("Delegate", False)),
        }
        sets = {key: ("ay", unit.properties.get(key, b"")) for key in (*LISTS, "CPUAffinity")}
        numbers = {key: ("t", unit.properties.get(key, NOT_SET)) for key in ("CPUWeight", "CPUQuotaPerSecUSec")}
        return "v", ({**states, **sets, **numbers}[property],)
