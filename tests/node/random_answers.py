"""What nrd answers in a random world, compared with what there is."""

import os

from masks import cpus_of, longest_run

CGROUPS = ("/one", "/two")  # of other software
BASE = 2_200_000


class Answers:
    """Part of World."""

    def domain(self, cpu):
        size = {"cpu": 1, "core": 2, "socket": self.shape["cpus"] // self.shape["sockets"]}[self.shape["freq_domain"]]
        return set(range(cpu // size * size, cpu // size * size + size))

    def reset_frequencies(self):
        """What each CPU without a workload may have, from now on: the driver's values, and later those of other software."""
        one = next(iter(self.sim.freq().values()))
        self.may_be = {cpu: {"min": {800_000}, "max": {3_500_000}, "governor": {one["governor"]}, "epp": {one.get("epp"), "performance"}}
                       for cpu in range(self.shape["cpus"])}

    def cpus_of(self, workload):
        return cpus_of(*workload.get("core_ids", []), workload.get("cpu", {}).get("exclusive", "")) - self.offline

    def may_fail(self, workload):
        """While turbo is off, without a mount, or all CPUs of a pool are offline."""
        has_code = "code" in workload["cache"] and not self.has_cdp
        has_memory_elsewhere = workload.get("cpu_request", {}).get("memory") == "near"
        return ("pstate" in workload and not self.has_turbo or "cpu" in workload and not cpus_of(workload["cpu"]["cpus"]) - self.offline or has_code
                or not self.is_mounted or has_memory_elsewhere)

    def differences(self):
        workloads, node, tree, frequencies = self.node.list(), self.node.call("GET", "/v1/node"), self.node.hardware(), self.sim.freq()
        found = [("status", w["id"], self.node.health()["hardware_problem"]) for w in workloads
                 if w["status"] != "Successful" and not self.may_fail(w) and (w["cos_name"] or not w["cache"] and "l2" not in w)]
        found += self.stored_differences(workloads)
        if cpus_of(node["cpus"]["online"]) != set(range(self.shape["cpus"])) - self.offline:
            found.append(("online", node["cpus"]["online"]))
        for w in workloads:
            found += [("task", task, w["cos_name"]) for task in w.get("task_ids", []) if not os.path.exists(f"/proc/{task}")]
            if "pid" in w.get("owner", {}) and not os.path.exists(f"/proc/{w['owner']['pid']}"):
                found.append(("owner", w["id"], w["owner"]))
            found += self.frequency_differences(w, frequencies)
        found += self.unowned_differences(workloads, frequencies)
        found += self.pool_differences(workloads)
        found += self.cgroup_differences(workloads, tree)
        found += self.host_differences(workloads, tree)
        if self.is_mounted != bool(node["capabilities"]["l3_cat"]):
            found.append(("mounted", self.is_mounted))
        elif self.is_mounted:
            found += self.group_differences(workloads, tree)
            found += self.way_differences(workloads, node, tree)
        return found

    def stored_differences(self, workloads):
        stored = self.node.stored()
        answered = {w["id"]: (w["cos_name"] or "COS0", {c: g["mask"] for c, g in w.get("granted_ways", {}).items()}) for w in workloads}
        if stored.keys() != answered.keys() or self.is_mounted and any(answered[id] != stored[id] for id in stored if answered[id][1]):
            yield "stored", stored, answered
        revision = self.node.rows("SELECT revision FROM node")[0][0]
        if self.node.health()["revision"] != revision:
            yield "revision", revision
        yield from self.metric_differences(workloads)

    def metric_differences(self, workloads):
        series = [line.rsplit(" ", 1) for line in self.node.request("GET", "/metrics")[1].splitlines() if line.startswith("nrd_")]

        def of(name, *labels):
            return [(labels_of, float(value)) for labels_of, value in series if labels_of.split("{")[0] == name and all(each in labels_of for each in labels)]

        def sum_of(*selected):
            return sum(value for _, value in of(*selected))

        granted = {cpu for w in workloads for cpu in self.cpus_of(w)} & cpus_of(self.settings["pool"])
        ways = sum(int(mask, 16).bit_count() for mask in {(c, g["mask"]) for w in workloads for c, g in w.get("granted_ways", {}).items()} for mask in [mask[1]])
        counted = {"workloads": (sum_of("nrd_workloads"), len(workloads)),
                   "failed": (sum_of("nrd_workloads_failed"), sum(w["status"] != "Successful" for w in workloads)),
                   "info": ({name.split('"')[1] for name, _ in of("nrd_workload_info")}, {w["id"] for w in workloads}),
                   "frequencies": (len(of("nrd_cpu_frequency_max_hertz")), sum(len(w.get("granted_frequencies", {})) for w in workloads)),
                   "cpus": (sum_of("nrd_cpu_pool_cpus", 'pool="fast"', 'state="granted"'), len(granted)),
                   "ways": (sum_of("nrd_cache_ways_used", 'level="3"'), ways if self.is_mounted else 0)}
        yield from ((name, *values) for name, values in counted.items() if values[0] != values[1])

    def group_differences(self, workloads, tree):
        classes, bandwidth = {}, {}
        for w in workloads:
            if w["cos_name"]:
                yield from (("task", task, w["cos_name"]) for task in w.get("task_ids", [])
                            if int(task) not in tree.get(w["cos_name"], {}).get("tasks", []) and os.path.exists(f"/proc/{task}"))
                classes.setdefault(w["cos_name"], set()).update(self.cpus_of(w))
                bandwidth.setdefault(w["cos_name"], {}).update({cache: str(each["percentage"]) for cache, each in w.get("granted_bandwidth", {}).items()})
        for name in set(tree) | set(classes):
            if name == "/":
                continue
            group = tree.get(name, {"cpus": "", "tasks": []})
            if name in self.foreign:
                its = self.foreign[name]
                if name in classes or any(group.get(key) != its.get(key) for key in ("L3", "code", "L2", "MB", "cpus", "mode")):
                    yield "foreign", name, its, group
                continue
            if name not in tree or name not in classes or cpus_of(group["cpus"]) != classes[name] or self.strays & set(group["tasks"]):
                yield "group", name, group, classes.get(name)
            elif any(group["MB"][cache] != bandwidth[name].get(cache, "100") for cache in group["MB"]):
                yield "bandwidth", name, group, bandwidth[name]

    def cgroup_differences(self, workloads, tree):
        for name in CGROUPS:
            folder = self.sim.path(f"/sys/fs/cgroup{name}")
            its = [w for w in workloads if w.get("cgroup") == name]
            has = os.path.exists(folder)
            processes = {int(pid) for pid in self.sim.read(f"/sys/fs/cgroup{name}/cgroup.procs").split()} if has else set()
            cpus = self.sim.read(f"/sys/fs/cgroup{name}/cpuset.cpus").strip() if has else ""
            wanted = {w["cpu"]["cpus"] for w in its if "cpu" in w}
            limits = [cpus_of(*wanted) - self.offline] if wanted else [set(), set(range(self.shape["cpus"])) - self.offline]
            if has and (cpus_of(cpus) - self.offline not in limits or not wanted and cpus and cpus_of(cpus) & self.offline != self.offline):
                yield "cgroup", name, cpus, its
            yield from (("owner", w["id"], name) for w in its if w.get("owner", {}).get("within_seconds") == 5 and not processes)
            groups = {w["cos_name"] for w in its} - {""}
            if self.is_mounted and len(groups) == 1 and not processes <= set(tree.get(*groups, {"tasks": []})["tasks"]):
                yield "cgroup's class", name, processes, groups

    def pool_differences(self, workloads):
        """Exclusive CPUs are of the pool, as many as requested, and of one workload each; idle siblings of none."""
        used = set()
        for w in (each for each in workloads if "cpu" in each):
            mine, idle = cpus_of(w["cpu"]["exclusive"]), cpus_of(w["cpu"]["idle_siblings"])
            wanted = w.get("cpu_request", {}).get("count", len(mine))
            if used & (mine | idle) or mine & idle or len(mine) != wanted or not mine <= cpus_of(self.settings["pool"]):
                yield "pool", w["id"], w["cpu"], used
            used |= mine | idle
        if self.settings["threads"] != "any" and self.shape["threads"] == 2:  # which came online later
            late = {cpu ^ 1 for cpu in used} & cpus_of(self.settings["pool"]) - used - self.offline
            yield from (("sibling", cpu, used) for cpu in late)
        users = {cpu for w in workloads for cpu in self.cpus_of(w)} & cpus_of(self.settings["pool"])
        for cpu in set(range(self.shape["cpus"])) - self.offline:
            has = self.sim.read(f"/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us").strip()
            latency = self.settings["latency"] if cpu in users else -1
            if has != {-1: "0", 0: "n/a"}.get(latency, str(latency)):
                yield "latency", cpu, has, latency

    def frequency_differences(self, workload, frequencies):
        """Without a requested window the kernel limits it."""
        asked = workload.get("pstate", {})
        has_window = set(asked) & {"min_ratio", "max_ratio"}
        for cpu, granted in workload.get("granted_frequencies", {}).items():
            if int(cpu) in self.offline or workload["status"] != "Successful":
                continue
            is_set = frequencies[cpu]
            wanted = (granted["min_khz"], granted["max_khz"] if self.has_turbo or has_window else min(granted["max_khz"], BASE))
            keeps_window = has_window or not self.had_other_driver  # which begins with a window of its own
            if keeps_window and (is_set["min"], is_set["max"]) != wanted or any(is_set[key] != asked[key] for key in ("governor", "epp") if asked.get(key)):
                yield "frequency", cpu, is_set, granted, asked

    def unowned_differences(self, workloads, frequencies):
        owned = {other for w in workloads for cpu in w.get("granted_frequencies", {}) for other in self.domain(int(cpu))}
        for cpu in set(range(self.shape["cpus"])) - owned - self.offline:
            has, may = frequencies[str(cpu)], self.may_be[cpu]
            highest = {each if self.has_turbo else min(each, BASE) for each in may["max"]}
            lowest = may["min"] | {min(low, high) for low in may["min"] for high in highest}
            if has["max"] not in highest or has["min"] not in lowest or has["governor"] not in may["governor"] or has.get("epp") not in may["epp"]:
                yield "unowned", cpu, has, may

    def way_differences(self, workloads, node, tree):
        for level, key, caches in ("L3", "granted_ways", "caches"), ("L2", "granted_l2_ways", "l2_caches"):
            for cache in node.get(caches, []):
                id, full = str(cache["id"]), (1 << node["capabilities"][f"{level.lower()}_cat"]["ways"]) - 1
                if id not in tree["/"][level]:
                    yield "cache", level, id
                    continue
                granted = [(w, w[key][id]) for w in workloads if id in w.get(key, {})]
                used = {w["cos_name"]: int(ways["mask"], 16) for w, ways in granted}
                for w, ways in granted:
                    yield from self.grant_differences(w, level, id, ways, tree, used)
                yield from self.os_differences(level, cache, full, tree, used)
                os_ways = int(tree["/"][level][id], 16)
                for name in {w["cos_name"] for w in workloads if w["cos_name"] not in used and w["cos_name"] in tree}:
                    may_run = any("cgroup" in w or w.get("task_ids") or self.cpus_of(w) & cpus_of(cache["cpus"])
                                  for w in workloads if w["cos_name"] == name)
                    if int(tree[name][level][id], 16) != (os_ways if may_run and used else full):
                        yield "bystander", level, id, name, tree[name], hex(os_ways)

    def grant_differences(self, w, level, id, granted, tree, used):
        group = tree.get(w["cos_name"], {level: {}})
        code = group.get("code" if level == "L3" else "l2_code", {}).get(id)
        data = granted.get("data", granted["mask"]) if code else granted["mask"]
        if group[level].get(id) != data or code not in (None, granted.get("code", granted["mask"])):
            yield "ways", w["id"], level, id, granted, group
        least, most = (w["l2"]["ways"],) * 2 if level == "L2" else (min(w["cache"]["min"], w["cache"]["max"]), w["cache"]["max"] or 99)
        if not least <= granted["ways"] <= most or granted["ways"] != int(granted["mask"], 16).bit_count():
            yield "number of ways", w["id"], granted, w["cache"]
        if overlap := [other for other, ways in used.items() if ways & int(granted["mask"], 16) and other != w["cos_name"]]:
            yield "overlap", w["id"], overlap

    def os_differences(self, level, cache, full, tree, used):
        os_ways, free = int(tree["/"][level][str(cache["id"])], 16), full & ~sum(used.values())
        for name in self.foreign:
            ways = int(tree[name][level][str(cache["id"])], 16) if name in tree else full
            free &= ~ways if ways != full else full
        wanted = free.bit_count() if self.shape["sparse_masks"] else longest_run(free)
        if used and (os_ways & ~free or os_ways.bit_count() != wanted) or not used and os_ways != full:
            yield "os", level, cache, tree["/"], hex(free)
        if int(cache["os"]["mask"], 16) != os_ways:
            yield "view", level, cache, tree["/"]
