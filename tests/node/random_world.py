"""A simulated node of a random shape on which clients, other software and the administrator do random things.

    with World(seed) as world:
        world.act()
        assert world.differences() == []
"""

import contextlib
import os
import random
import subprocess

from frequencies import NO_TURBO
from harness import DRIFT, Node
from masks import cpus_of, longest_run

RESCTRL = "/sys/fs/resctrl"
BOOST = "/sys/devices/system/cpu/cpufreq/boost"
TASKS = "[tasks]\ninterval_seconds = 1\n"
POOL = '[[cpu.pools]]\nname = "fast"\ncpus = "4-6"\nkind = "exclusive"\nthreads = "{threads}"\n'
FOREIGN = ("theirs", "libvirt", "COS15")


def a_shape(dice):
    sockets = dice.choice([1, 2, 4])
    shape = {"sockets": sockets, "cpus": sockets * dice.choice([8, 16]), "ways": dice.choice([6, 11, 15, 20]),
             "closids": dice.choice([4, 8, 16]), "min_cbm_bits": dice.choice([1, 1, 2]), "threads": dice.choice([1, 2]),
             "sparse_masks": dice.random() < 0.3, "cdp": dice.random() < 0.3, "mb_unit": "percent",
             "cpufreq": dice.choice(["intel_pstate", "intel_cpufreq", "acpi-cpufreq", "amd-pstate-epp"]),
             "freq_domain": dice.choice(["cpu", "core", "socket"]), "cpufreq_offline": dice.choice(["gone", "busy"]),
             "min_over_max": dice.choice(["refuse", "clamp"])}
    if dice.random() < 0.3:
        shape.update(l2_cat=True, l2_ways=8, l2_cpus=2)
    if shape["min_cbm_bits"] > 1:
        shape["sparse_masks"] = False  # no CPU has both
    return {name: value for name, value in shape.items() if value is not False or name == "sparse_masks"}


class World:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.shape = a_shape(self.dice)
        self.log = [self.shape]  # all that was done
        self.config = DRIFT + TASKS
        self.config += f"[cache_pools]\nshrink = {self.dice.choice(['true', 'false'])}\n"
        self.config += POOL.format(threads=self.dice.choice(["any", "one", "all"]))
        self.offline, self.foreign, self.strays, self.processes = set(), set(), set(), []
        self.has_turbo, self.was_limited = True, False
        self.node = Node(self.config, **self.shape)
        self.sim = self.node.sim
        self.first_tree, self.first_frequencies = self.node.hardware(), self.sim.freq()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for each in self.processes:
            each.kill()
            each.wait()
        if failure[0]:
            print(*self.log, sep="\n")
        self.node.__exit__(*failure)

    def note(self, *what):
        self.log.append(what)

    # Clients

    def a_task(self):
        self.processes.append(subprocess.Popen(["sleep", "infinity"], start_new_session=True))
        return str(self.processes[-1].pid)

    def some_cpus(self):
        first = self.dice.randrange(self.shape["cpus"])
        return [str(first)] if self.dice.random() < 0.5 else [str(first), str(self.dice.randrange(self.shape["cpus"]))]

    def a_cache(self):
        most = self.dice.randint(0, 4)
        cache = {"max": most, "min": self.dice.randint(min(1, most), most) if self.dice.random() < 0.4 else most}
        if "cdp" in self.shape and most > 1 and self.dice.random() < 0.5:
            cache["code"] = 1
        return cache

    def a_frequency(self):
        low, high = sorted((self.dice.randint(7, 36), self.dice.randint(7, 36)))
        return self.dice.choice([{"min_ratio": low, "max_ratio": high}, {"max_ratio": high}, {"turbo": False},
                                 {"governor": "performance"}, {"governor": "powersave", "max_ratio": high},
                                 {"min_ratio": low, "max_ratio": high, "shared_domain": "allow"}])

    def a_request(self):
        request = {}
        kind = self.dice.random()
        if kind < 0.5:
            request["core_ids"] = self.some_cpus()
        elif kind < 0.7:
            request["cpu"] = {"pool": "fast", "count": self.dice.randint(1, 2)}
        else:
            request["task_ids"] = [self.a_task()]
        if self.dice.random() < 0.8:
            request["cache"] = self.a_cache()
        if self.dice.random() < 0.2:
            request["rdt"] = {"mba": {"percentage": self.dice.choice([10, 50, 100])}}
        if "l2_cat" in self.shape and self.dice.random() < 0.4:
            request["l2"] = {"ways": self.dice.randint(1, 3)}
        if self.dice.random() < 0.4:
            request["pstate"] = self.a_frequency()
        return request

    def ask(self, method, path, body=None):
        """A request is granted, or refused with a reason and without a change; workloads may end meanwhile."""
        before = self.grants()
        status, text, _ = self.node.request(method, path, body)
        self.note(method, path, body, status, text[:300])
        assert status in (200, 201, 400, 404, 409, 422), (status, text)
        assert status < 400 or all(each in before for each in self.grants()), (before, self.grants())

    def grants(self):
        return [{key: w.get(key) for key in ("id", "cos_name", "granted_ways", "granted_l2_ways", "granted_bandwidth", "granted_frequencies", "core_ids", "cpu")}
                for w in self.node.list()]

    def create(self):
        self.ask("POST", "/v1/workloads", self.a_request())

    def patch(self):
        changed = self.a_request()
        if workloads := self.node.list():
            changed.pop("cpu" if "cpu" in changed else "task_ids", None)
            self.ask("PATCH", f"/v1/workloads/{self.dice.choice(workloads)['id']}", changed)

    def delete(self):
        if workloads := self.node.list():
            self.ask("DELETE", f"/v1/workloads/{self.dice.choice(workloads)['id']}")

    # Other software

    def write(self, path, text):
        self.note("write", path, text)
        with contextlib.suppress(OSError):
            self.sim.write(path, text)

    def hotplug(self):
        cpu = self.dice.choice(sorted(self.offline) if len(self.offline) > 2 else range(1, self.shape["cpus"]))
        self.offline ^= {cpu}
        self.note("offline" if cpu in self.offline else "online", cpu)
        self.sim.control(f"{'offline' if cpu in self.offline else 'online'} {cpu}")

    def turbo(self):
        self.has_turbo, self.was_limited = not self.has_turbo, True
        is_intel = self.shape["cpufreq"].startswith("intel")
        self.write(NO_TURBO if is_intel else BOOST, f"{int(self.has_turbo != is_intel)}\n")

    def mask_line(self, ways):
        return f"L3CODE:0={ways:x}\nL3DATA:0={ways:x}\n" if "cdp" in self.shape else f"L3:0={ways:x}\n"

    def group(self):
        name = self.dice.choice(FOREIGN)
        folder = self.sim.path(f"{RESCTRL}/{name}")
        self.note("group", name)
        if name in self.foreign:
            self.foreign.discard(name)
            os.rmdir(folder)
        elif not os.path.exists(folder):
            with contextlib.suppress(OSError):  # no class is left
                os.mkdir(folder)
                self.foreign.add(name)
                self.write(f"{RESCTRL}/{name}/schemata", self.mask_line(3 << self.dice.randint(0, self.shape["ways"] - 2)))

    def a_class(self):
        """The group of a workload, one without tasks."""
        with_tasks = {w["cos_name"] for w in self.node.list() if w.get("task_ids")}
        return self.dice.choice(sorted({w["cos_name"] for w in self.node.list()} - with_tasks - {""}) or [None])

    def tamper(self):
        if name := self.a_class():
            self.write(f"{RESCTRL}/{name}/schemata", self.mask_line((1 << self.shape["ways"]) - 1))

    def stray_cpu(self):
        if name := self.a_class():
            cpus = cpus_of(self.node.hardware().get(name, {"cpus": ""})["cpus"]) | {self.dice.randrange(self.shape["cpus"])}
            self.write(f"{RESCTRL}/{name}/cpus_list", ",".join(map(str, sorted(cpus))) + "\n")

    def stray_task(self):
        if name := self.a_class():
            self.strays.add(int(self.a_task()))
            self.write(f"{RESCTRL}/{name}/tasks", f"{self.processes[-1].pid}\n")

    def vanish(self):
        if name := self.a_class():
            self.note("vanish", name)
            self.sim.control(f"vanish {name}")

    def end_task(self):
        if self.processes:
            ended = self.processes.pop(self.dice.randrange(len(self.processes)))
            self.note("end", ended.pid)
            ended.kill()
            ended.wait()

    # The administrator

    def restart(self):
        """nrd is down for a while, in which the rest of the world goes on."""
        self.note("kill -9")
        self.node.kill9()
        for _ in range(self.dice.randint(0, 2)):
            self.dice.choice([self.hotplug, self.turbo, self.group, self.end_task])()
        self.node.start()
        self.note("started")

    def reload(self):
        shrinks = "shrink = true"
        self.config = self.config.replace(shrinks, "shrink = false") if shrinks in self.config else self.config.replace("shrink = false", shrinks)
        self.node.configure(self.config)
        self.note("reload", self.node.call("POST", "/v1/config/reload", {}))

    def act(self):
        often = [self.create, self.patch, self.delete]
        self.dice.choice(often * 6 + [self.hotplug, self.turbo, self.group, self.tamper, self.stray_cpu, self.stray_task, self.vanish, self.end_task,
                                      self.restart, self.reload] * 2)()

    def calm(self):
        """All as at the start, except what clients have been granted."""
        while self.offline:
            cpu = self.offline.pop()
            self.sim.control(f"online {cpu}")
        if not self.has_turbo:
            self.turbo()
        for name in sorted(self.foreign):
            os.rmdir(self.sim.path(f"{RESCTRL}/{name}"))
        self.foreign.clear()

    # What is answered, and what there is

    def cpus_of(self, workload):
        return cpus_of(*workload.get("core_ids", []), workload.get("cpu", {}).get("exclusive", "")) - self.offline

    def may_fail(self, workload):
        """While turbo is off, or all CPUs of a pool are offline."""
        return "pstate" in workload and not self.has_turbo or "cpu" in workload and not self.cpus_of(workload)

    def differences(self):
        workloads, node, tree, frequencies = self.node.list(), self.node.call("GET", "/v1/node"), self.node.hardware(), self.sim.freq()
        found = [("status", w["id"], self.node.health()["hardware_problem"]) for w in workloads
                 if w["status"] != "Successful" and not self.may_fail(w)]
        if cpus_of(node["cpus"]["online"]) != set(range(self.shape["cpus"])) - self.offline:
            found.append(("online", node["cpus"]["online"]))
        classes = {}
        for w in workloads:
            found += [("task", task, w["cos_name"]) for task in w.get("task_ids", [])
                      if w["cos_name"] and int(task) not in tree.get(w["cos_name"], {}).get("tasks", []) and os.path.exists(f"/proc/{task}")]
            found += self.frequency_differences(w, frequencies)
            if w["cos_name"]:
                classes.setdefault(w["cos_name"], set()).update(self.cpus_of(w))
        for name in set(tree) | set(classes):
            if name == "/" or name in self.foreign and name not in classes:
                continue
            group = tree.get(name, {"cpus": "", "tasks": []})
            if name not in tree or name not in classes or cpus_of(group["cpus"]) != classes[name] or self.strays & set(group["tasks"]):
                found.append(("group", name, group, classes.get(name)))
        return [*found, *self.way_differences(workloads, node, tree)]

    def frequency_differences(self, workload, frequencies):
        """Without a requested window the kernel limits it."""
        has_window = set(workload.get("pstate", {})) & {"min_ratio", "max_ratio"}
        for cpu, granted in workload.get("granted_frequencies", {}).items():
            wanted = (granted["min_khz"], granted["max_khz"] if self.has_turbo or has_window else min(granted["max_khz"], 2_200_000))
            is_set = int(cpu) in self.offline or (frequencies[cpu]["min"], frequencies[cpu]["max"]) == wanted
            if not is_set and workload["status"] == "Successful":
                yield "frequency", cpu, frequencies[cpu], granted

    def way_differences(self, workloads, node, tree):
        for level, key, caches in ("L3", "granted_ways", "caches"), ("L2", "granted_l2_ways", "l2_caches"):
            for cache in node.get(caches, []):
                id, full, used = str(cache["id"]), (1 << node["capabilities"][f"{level.lower()}_cat"]["ways"]) - 1, {}
                if id not in tree["/"][level]:
                    yield "cache", level, id
                    continue
                for w in workloads:
                    granted = w.get(key, {}).get(id)
                    if not granted:
                        continue
                    group = tree.get(w["cos_name"], {level: {}})
                    code = group.get("code" if level == "L3" else "l2_code", {}).get(id)
                    if group[level].get(id) != granted.get("data", granted["mask"]) or code not in (None, granted.get("code", granted["mask"])):
                        yield "ways", w["id"], level, id, granted, group
                    overlap = [other for other, ways in used.items() if ways & int(granted["mask"], 16) and other != w["cos_name"]]
                    if overlap:
                        yield "overlap", w["id"], overlap
                    used[w["cos_name"]] = int(granted["mask"], 16)
                os_ways, free = int(tree["/"][level][id], 16), full & ~sum(used.values())
                foreign = [int(tree[name][level][id], 16) for name in self.foreign if name in tree]
                for ways in foreign:
                    free &= ~ways if ways != full else full
                wanted = free.bit_count() if self.shape["sparse_masks"] else longest_run(free)
                if used and (os_ways & ~free or os_ways.bit_count() != wanted) or not used and os_ways != full:
                    yield "os", level, id, tree["/"], hex(free)
                if int(cache["os"]["mask"], 16) != os_ways:
                    yield "view", level, cache, tree["/"]
