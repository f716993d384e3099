"""The real daemon on a real kernel's resctrl and cpufreq: what it answers, the tree of groups, and the registers."""

import contextlib
import functools
import os

from daemon_node import DaemonNode
from machine import Machine
from masks import cpus_of

RESCTRL = "/sys/fs/resctrl"
KERNEL = os.environ.get("NRD_VM_SERIES", "6.1")
# SDM vol. 4, and AMD's 56375 for the bandwidth.
PERF_CTL, HWP_REQUEST, PQR_ASSOC, L3_MASK, L2_MASK, MBA_INTEL, MBA_AMD = 0x199, 0x774, 0xC8F, 0xC90, 0xD10, 0xD50, 0xC0000200
PSTATE_CONTROL, PSTATE_RATIOS = 0xC0010062, (22, 15, 8)  # as rdt/rdt.c defines the P-states
KHZ_PER_RATIO = 100_000
MBPS_PER_UNIT = 125  # AMD counts in eighths of GB/s
# What changes by itself: counters, processes of the root, the outcome of the last write.
PASSING = ["mon_data", "tasks", "last_cmd_status"]


def granted_to(workload):
    """The CPUs that it has: as it named them, or from a pool."""
    return cpus_of(*workload.get("core_ids", []), workload.get("cpu", {}).get("exclusive", ""))


def values_of(schemata):
    """{"L3": {0: "030", 1: "7ff"}, "MB": {0: "100", 1: "100"}}"""
    found = {}
    for line in schemata.splitlines():
        resource, _, values = line.strip().partition(":")
        found[resource] = {int(cache): value.strip() for cache, value in (pair.split("=") for pair in values.split(";"))}
    return found


class RdtNode(DaemonNode):
    def mount(self):
        cdp = [name for name, is_there in (("cdp", self.vm.cpu.l3), ("cdpl2", self.vm.cpu.l2)) if self.vm.cpu.cdp and is_there]
        self.vm.run(["mount", "-t", "resctrl", *(["-o", ",".join(cdp)] if cdp else []), "resctrl", RESCTRL])

    def act(self, method, path, body=None, expected=(200, 201)):
        """An answer that is expected, after which all agree."""
        status, answer = self.request(method, path, body)
        assert status in expected, (status, answer)
        self.assert_agree()
        return answer

    def post(self, cpus, **more):
        return self.act("POST", "/v1/workloads", {"core_ids": [cpus], **more})

    def patch(self, workload, **change):
        return self.act("PATCH", f"/v1/workloads/{workload['id']}", change)

    def delete(self, workload):
        self.act("DELETE", f"/v1/workloads/{workload['id']}")

    # What the kernel and the registers say

    def tree(self):
        return self.vm.tree(RESCTRL, without=PASSING)

    def groups(self):
        """By name, "" for the root: its CPUs, and its values of each resource."""
        tree = self.vm.tree(RESCTRL, without=[*PASSING, "info", "mon_groups"])
        names = [path.removesuffix("schemata").rstrip("/") for path in tree if path.endswith("schemata")]
        return {name: (cpus_of(tree[f"{name}/cpus_list".lstrip("/")]), values_of(tree[f"{name}/schemata".lstrip("/")])) for name in names}

    @functools.cache
    def cache_of(self, level):
        """By CPU, the number of its cache."""
        path = "/sys/devices/system/cpu/cpu{}/cache/index{}/id"
        return {cpu: int(self.vm.read(path.format(cpu, level))) for cpu in range(self.vm.cpu.cpus)}

    def classes_of(self, cpus):
        return {register >> 32 for register in self.vm.msrs([(cpu, PQR_ASSOC) for cpu in cpus])}

    def has_steps(self):
        """There is no window, but one frequency."""
        return self.vm.cpu.vendor == "AMD" or "intel_pstate=disable" in self.vm.arguments

    def window_of(self, cpu):
        """Between which ratios it runs, as its register says. A driver without HWP changes it with the load, so there
        it is what the driver says."""
        if self.vm.cpu.vendor == "AMD":
            return (PSTATE_RATIOS[self.vm.msr(cpu, PSTATE_CONTROL) & 7],) * 2
        if self.has_steps():
            return (self.vm.msr(cpu, PERF_CTL) >> 8 & 0xFF,) * 2
        if self.vm.cpu.hwp:
            request = self.vm.msr(cpu, HWP_REQUEST)
            return request & 0xFF, request >> 8 & 0xFF
        limits = [self.vm.read(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_{end}_freq") for end in ("min", "max")]
        return tuple(int(khz) // KHZ_PER_RATIO for khz in limits)

    def assert_agree(self):
        """What was answered is in the tree, and what is in the tree is in the registers."""
        workloads, groups = self.get("/v1/workloads"), self.groups()
        self.assert_tree_is_as_answered(workloads, groups)
        self.assert_registers_are_as_the_tree(groups)
        for cpu, window in (item for w in workloads for item in w.get("granted_frequencies", {}).items()):
            assert self.window_of(int(cpu)) == (window["min_ratio"], window["max_ratio"]), (cpu, window)

    @staticmethod
    def assert_tree_is_as_answered(workloads, groups):
        for w in workloads:
            assert w["status"] == "Successful", w
            if not w["cos_name"]:
                continue
            cpus, values = groups[w["cos_name"]]
            assert granted_to(w) <= cpus, (w, cpus)
            for key, level in (("granted_ways", "L3"), ("granted_l2_ways", "L2")):
                for cache, granted in w.get(key, {}).items():
                    for resource in {level, f"{level}CODE", f"{level}DATA"} & set(values):
                        assert int(values[resource][int(cache)], 16) == int(granted["mask"], 16), (w, resource, values)
            for cache, granted in w.get("granted_bandwidth", {}).items():
                wanted = granted["percentage"] if "percentage" in granted else granted["mbps"] // MBPS_PER_UNIT
                assert int(values["MB"][int(cache)]) == wanted, (w, values)
        of_workloads = set().union(*(granted_to(w) for w in workloads if w["cos_name"]))
        assert set().union(*(cpus for name, (cpus, _) in groups.items() if name)) == of_workloads, groups

    def assert_registers_are_as_the_tree(self, groups):
        classes = {}  # numbers of classes, by name of the group
        for name, (cpus, values) in groups.items():
            of_cpus = self.classes_of(cpus)
            assert len(of_cpus) <= 1 and (name == "" or 0 not in of_cpus), (name, of_cpus)
            for number in of_cpus:
                classes[name] = number
                self.assert_masks(number, values)
        assert len(set(classes.values())) == len(classes), classes

    def assert_masks(self, number, values):
        for level, first in ((3, L3_MASK), (2, L2_MASK)):
            if data := values.get(f"L{level}DATA"):
                self.assert_registers(level, first + 2 * number, {cache: int(mask, 16) for cache, mask in data.items()})
                code = values[f"L{level}CODE"]
                self.assert_registers(level, first + 2 * number + 1, {cache: int(mask, 16) for cache, mask in code.items()})
            elif masks := values.get(f"L{level}"):
                self.assert_registers(level, first + number, {cache: int(mask, 16) for cache, mask in masks.items()})
        if limits := values.get("MB"):
            amd = self.vm.cpu.vendor == "AMD"
            self.assert_registers(3, (MBA_AMD if amd else MBA_INTEL) + number,
                                  {cache: int(limit) if amd else 100 - int(limit) for cache, limit in limits.items()})

    def assert_registers(self, level, register, wanted):
        """As each CPU has it, by its cache of this level."""
        caches = self.cache_of(level)
        found = self.vm.msrs([(cpu, register) for cpu in caches])
        assert found == [wanted[cache] for cache in caches.values()], (level, hex(register), wanted)


@contextlib.contextmanager
def started(kind, tmp_path_factory, config="", kernel=KERNEL, start=True, **machine):
    """A node of this kind with this configuration, on a machine of its own; `before` is the tree before the daemon began."""
    with Machine(tmp_path_factory.mktemp("share"), kernel=kernel, **machine) as vm:
        vm.run(["modprobe", "msr"])
        node = kind(vm, config)
        node.mount()
        node.before = node.tree()
        if start:
            node.start()
        yield node
        node.kill9()
