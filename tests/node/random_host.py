"""What systemd, interrupts, memory and files that declare workloads add to a random world."""

import json
import os
import tempfile

from masks import cpus_of
from random_answers import CGROUPS
from system_bus import SystemBus
from systemd import Systemd, list_of

UNITS = ("feed.service", "web.service")
FILES = ("d1", "d2", "d3")
INTERRUPTS = [f"/proc/irq/{number}/smp_affinity_list" for number in (24, 25, 26)]  # that can move
DEFAULT_PLACE = "/proc/irq/default_smp_affinity"


def cpus_of_mask(mask):
    bits = int(mask.replace(",", ""), 16)
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


def is_bound(workload):
    return workload.get("cpu_request", {}).get("memory") == "near"


class Host:
    """Part of World."""

    def begin_host(self):
        self.sim.run_inside(["mount", "--make-shared", "/proc"])  # for the memberships of processes in units
        self.systemd = None
        self.boot_units()
        self.bus_folder = tempfile.TemporaryDirectory(prefix="bus-")
        self.bus = SystemBus(self.bus_folder.name, lambda message: self.systemd.answer(message))
        self.node.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.bus.__enter__()
        self.directory = os.path.join(self.node.folder, "workloads.d")
        os.mkdir(self.directory, 0o755)
        self.first_places = self.places()

    def end_host(self):
        self.bus.__exit__()
        self.bus_folder.cleanup()
        self.systemd.end()

    def boot_units(self):
        """What was set at run time has gone, and the services start."""
        if self.systemd:
            self.systemd.end()
        self.systemd = Systemd(self.sim)
        for name in UNITS:
            self.systemd.add(name, self.a_task())

    def places(self):
        return [*(cpus_of(self.sim.read(path)) for path in INTERRUPTS), cpus_of_mask(self.sim.read(DEFAULT_PLACE).strip())]

    # What clients ask for

    def a_group(self):
        return {"cgroup": self.dice.choice(CGROUPS)} if self.dice.random() < 0.5 else {"unit": self.dice.choice(UNITS)}

    def a_share(self):
        """Of the CPU time of a shared pool."""
        return {**self.a_group(), "cpu": {"pool": "common", "request_milli": self.dice.choice([100, 400]), "limit_milli": self.dice.choice([500, 700])}}

    # What happens

    def unit(self):
        """A service stops, or starts."""
        unit = self.systemd.units[self.dice.choice(UNITS)]
        self.note("stop" if unit.cgroup else "start", unit.name)
        if unit.cgroup:
            for process in self.systemd.read(unit.cgroup, "cgroup.procs").split():
                self.end_process(int(process))
            self.sim.control(f"vanish /sys/fs/cgroup{unit.cgroup}")
            unit.cgroup = ""
        else:
            self.systemd.start(unit.name)
            self.systemd.move(unit, self.a_task())

    def declare(self):
        """A file comes, changes or goes, and the administrator reloads."""
        name = self.dice.choice(FILES)
        path = os.path.join(self.directory, f"{name}.json")
        if os.path.exists(path) and self.dice.random() < 0.4:
            os.remove(path)
            self.note("remove", name)
        else:
            request = self.a_request()
            for key in "task_ids", "owner":
                request.pop(key, None)
            self.note("declare", name, request)
            with open(path + ".new", "w") as file:
                json.dump(request, file)
            os.chmod(path + ".new", 0o644)
            os.rename(path + ".new", path)
        self.reload_files()

    def reload_files(self):
        status, text, _ = self.node.request("POST", "/v1/config/reload", {})
        self.note("reload", status, text[:300])
        assert status == 200, text

    def undeclare(self):
        for name in self.declared():
            os.remove(os.path.join(self.directory, f"{name}.json"))
        self.reload_files()

    def declared(self):
        return {file.removesuffix(".json") for file in os.listdir(self.directory) if file.endswith(".json")}

    # What there is

    def host_differences(self, workloads, tree):
        yield from self.unit_differences(workloads, tree)
        yield from self.memory_differences(workloads)
        yield from self.share_differences(workloads)
        yield from self.place_differences()
        granted = {w["id"] for w in workloads if w["origin"] == "FILE"}
        warnings = " ".join(self.node.health()["warnings"])
        if not granted <= self.declared() or any(name not in granted and f"{name}.json" not in warnings for name in self.declared()):
            yield "declared", self.declared(), granted, warnings

    def unit_differences(self, workloads, tree):
        for name in UNITS:
            its, unit = [w for w in workloads if w.get("unit") == name], self.systemd.units[name]
            allowed = cpus_of(list_of(unit.properties.get("AllowedCPUs", b"")))
            wanted = cpus_of(*(w["cpu"]["cpus"] for w in its if "cpu" in w))
            if allowed - self.offline != wanted - self.offline or allowed and not wanted:
                yield "unit", name, allowed, its
            processes = {int(pid) for pid in self.systemd.read(unit.cgroup, "cgroup.procs").split()} if unit.cgroup else set()
            groups = {w["cos_name"] for w in its} - {""}
            if self.is_mounted and len(groups) == 1 and not processes <= set(tree.get(*groups, {"tasks": []})["tasks"]):
                yield "unit's class", name, processes, groups

    def memory_differences(self, workloads):
        """Memory that processes had before is not moved."""
        for w in workloads:
            if is_bound(w) and w["status"] == "Successful":
                folder = self.systemd.units[w["unit"]].cgroup if "unit" in w else w.get("cgroup", "")
                if folder and os.path.exists(self.sim.path(f"/sys/fs/cgroup{folder}")) and cpus_of(self.mems_of(folder)) != cpus_of(w["cpu"]["mems"]):
                    yield "memory", w["id"], w["cpu"], self.mems_of(folder)
        bound = {w.get("unit") or w.get("cgroup") for w in workloads if is_bound(w)}
        for name, folder in [*((name, self.systemd.units[name].cgroup) for name in UNITS), *((name, name) for name in CGROUPS)]:
            if name in UNITS and name not in bound and self.systemd.units[name].properties.get("AllowedMemoryNodes"):
                yield "memory of", name, self.systemd.units[name].properties
            if name not in bound and folder and os.path.exists(self.sim.path(f"/sys/fs/cgroup{folder}")) and self.mems_of(folder) != self.mems_of(""):
                yield "memory of", name, self.mems_of(folder)

    def mems_of(self, cgroup):
        """Those that its processes may use."""
        while cgroup and not os.path.exists(self.sim.path(f"/sys/fs/cgroup{cgroup}/cpuset.mems.effective")):
            cgroup = cgroup.rpartition("/")[0]
        return self.sim.read(f"/sys/fs/cgroup{cgroup}/cpuset.mems.effective").strip()

    def share_differences(self, workloads):
        """Of CPU time."""
        of_group = {w.get("unit") or w.get("cgroup"): w["cpu"].get("enforced", {}) for w in workloads if "cpu" in w and w["status"] == "Successful"}
        failed = {w.get("unit") or w.get("cgroup") for w in workloads if w["status"] != "Successful"}
        for name in {*UNITS, *CGROUPS} - failed:
            wanted = of_group.get(name, {})
            weight, most = wanted.get("weight", 100), f"{wanted['limit_milli'] * 100} 100000" if "limit_milli" in wanted else "max 100000"
            folder = self.systemd.units[name].cgroup if name in UNITS else name
            if folder and os.path.exists(self.sim.path(f"/sys/fs/cgroup{folder}/cpu.weight")):
                has = [self.sim.read(f"/sys/fs/cgroup{folder}/{file}").strip() for file in ("cpu.weight", "cpu.max")]
                if has != [str(weight), most]:
                    yield "share", name, has, wanted
            if name in UNITS and name not in of_group and self.systemd.units[name].has_share():
                yield "share", name, self.systemd.units[name].properties

    def place_differences(self):
        """Interrupts leave the CPUs of a low-noise pool. One that refuses stays until the next start."""
        online = set(range(self.shape["cpus"])) - self.offline
        quiet = cpus_of(self.settings["pool"]) if self.settings["noise"] == "true" else set()
        for first, now in zip(self.first_places, self.places()):
            left = first - quiet
            wanted = first if not first & quiet else left if left & online else online - quiet
            if wanted and now != wanted and not self.has_refused:
                yield "interrupt", first, now, wanted
