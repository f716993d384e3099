"""A simulated node of a random shape on which clients, other software and the administrator do random things.

    with World(seed) as world:
        world.act()
        assert world.differences() == []
"""

import contextlib
import http.client
import json
import os
import random
import threading

from harness import DRIFT, wait_for
from masks import cpus_of
from mounted_nodes import KEPT, ServiceNode
from random_answers import Answers
from random_host import Host
from random_neighbours import Neighbours, a_shape

CONFIG = DRIFT + """[tasks]
interval_seconds = 1
[cache_pools]
shrink = {shrink}
foreign_groups = "{foreign}"
{sizes}
[classes]
reserve = {reserve}
[os]
cpus = "{os}"
[workloads]
directory = "{directory}"
[cpu]
systemd_timeout_ms = 20000
[[cpu.pools]]
name = "fast"
cpus = "{pool}"
kind = "exclusive"
threads = "{threads}"
latency_us = {latency}
low_noise = {noise}
[[cpu.pools]]
name = "common"
cpus = "6-7"
kind = "shared"
"""
GRANT = ("id", "cos_name", "granted_ways", "granted_l2_ways", "granted_bandwidth", "granted_frequencies", "core_ids", "cpu")
REFUSED = (400, 403, 404, 409, 412, 422)


class World(Neighbours, Answers, Host):
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.shape = a_shape(seed)
        self.log = [self.shape]  # all that was done
        self.settings = {"shrink": self.dice.choice(["true", "false"]), "foreign": "report", "reserve": 0, "os": "", "pool": "3-5",
                         "threads": self.dice.choice(["any", "one", "all"]), "latency": -1, "noise": "false", "sizes": ""}
        self.offline = {int(cpu) for cpu in self.shape.get("offline", "").split()}
        self.foreign, self.strays, self.processes = {}, set(), []
        self.has_turbo, self.has_cdp, self.is_mounted, self.may_refuse = True, "cdp" in self.shape, True, False
        self.is_settled, self.had_other_driver, self.has_refused = True, False, False
        self.is_active = self.shape["cpufreq"] == "intel_pstate"
        self.node = ServiceNode(mounts=False, faulty_disk=True, systemd=True, **self.shape)
        self.sim = self.node.sim
        self.reset_frequencies()
        self.sim.write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset +cpu +memory")
        self.begin_host()
        self.node.configure(self.configuration(self.settings))
        self.node.mount()
        self.node.start()
        self.first_tree = self.node.hardware()
        self.first_tree["/"]["cpus"] = f"0-{self.shape['cpus'] - 1}"

    def configuration(self, settings):
        return CONFIG.format(directory=self.directory, **settings)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for each in self.processes:
            each.kill()
            each.wait()
        if failure[0]:
            print(*self.log, sep="\n")
        self.node.__exit__(*failure)
        self.end_host()

    def note(self, *what):
        self.log.append(what)

    # Requests

    def some_cpus(self):
        first = self.dice.randrange(self.shape["cpus"])
        return [str(first)] if self.dice.random() < 0.5 else [str(first), str(self.dice.randrange(self.shape["cpus"]))]

    def a_cache(self):
        most = self.dice.randint(0, 4)
        cache = {"max": most, "min": self.dice.randint(min(1, most), most) if self.dice.random() < 0.4 else most}
        if self.has_cdp and most > 1 and self.dice.random() < 0.5:
            cache["code"] = 1
        return cache

    def a_frequency(self):
        most = 34 if self.shape["cpufreq"] == "acpi-cpufreq" else 36  # whose highest entry does not say that it is turbo
        low, high = sorted((self.dice.randint(7, most), self.dice.randint(7, most)))
        return self.dice.choice([{"min_ratio": low, "max_ratio": high}, {"max_ratio": high}, {"turbo": False}, {"epp": "power"},
                                 {"governor": "performance"}, {"governor": "powersave", "max_ratio": high},
                                 {"min_ratio": low, "max_ratio": high, "shared_domain": "allow"}])

    def a_request(self):
        if self.dice.random() < 0.1:
            return self.a_share()
        request = {}
        kind = self.dice.random()
        if kind < 0.5:
            request["core_ids"] = self.some_cpus()
        elif kind < 0.7:
            request["cpu"] = {"pool": "fast", "count": self.dice.randint(1, 2)}
        else:
            request["task_ids"] = [str(self.a_task())]
        if "core_ids" not in request and self.dice.random() < 0.4:
            request.pop("task_ids", None)
            request.update(self.a_group())
            if "cpu" in request and self.dice.random() < 0.3:
                request["cpu"]["memory"] = "near"
            if "cgroup" in request and self.dice.random() < 0.3:
                request["owner"] = {"cgroup": True, "within_seconds": self.dice.choice([5, 3600])}
        if self.dice.random() < 0.8:
            request["cache"] = self.a_cache()
        if self.dice.random() < 0.2:
            request["rdt"] = {"mba": {"percentage": self.dice.choice([10, 50, 100])}}
        if "l2_cat" in self.shape and self.dice.random() < 0.4:
            request["l2"] = {"ways": self.dice.randint(1, 3)}
        if self.dice.random() < 0.4:
            request["pstate"] = self.a_frequency()
        if self.dice.random() < 0.2:
            request["labels"] = {"team": self.dice.choice(["red", "blue"])}
        return request

    def ask(self, method, path, body=None, headers=()):
        """A request is granted, or refused with a reason and without a change; workloads may end meanwhile."""
        before = self.grants()
        try:
            status, text, answered = self.node.request(method, path, body, {"Content-Type": "application/json", "Accept": "application/json", **dict(headers)})
        except (OSError, http.client.HTTPException) as death:
            assert self.may_refuse, death
            self.note(method, path, body, repr(death))
            return None, {}
        self.note(method, path, body, *headers, status, text[:300])
        has_cpus = "cannot set the CPU affinity" not in text  # which are the host's own, and few
        assert status in (200, 201, *REFUSED) or status in (500, 503) and (self.may_refuse or not has_cpus), (status, text)
        if status >= 400 and (now := self.grants()) is not None:
            assert all(each in before for each in now), (before, now)
        return status, json.loads(text) if status in (200, 201) and text else {}

    def grants(self):
        """None: nrd has died of a fault."""
        try:
            workloads = self.node.list()
            for w in workloads:
                w.get("cpu", {}).pop("enforced", None)  # as CPUs come and go
            return [{key: w.get(key) for key in GRANT} for w in workloads]
        except (OSError, http.client.HTTPException):
            assert self.may_refuse
            return None

    def path_of_one(self):
        workloads = self.grants()
        return f"/v1/workloads/{self.dice.choice(workloads)['id']}" if workloads else None

    def create(self):
        request = self.a_request()
        if self.dice.random() < 0.2:
            request.setdefault("owner", {"pid": self.a_task()})
        self.ask("POST", "/v1/workloads", request)

    def create_twice(self):
        """With an Idempotency-Key, and a stop in between."""
        request, key = self.a_request(), {"Idempotency-Key": f"key-{self.dice.random()}"}
        status, made = self.ask("POST", "/v1/workloads", request, key.items())
        if status == 201 and not self.may_refuse:
            if self.dice.random() < 0.3:
                self.node.kill9_and_start()
            before = [each["id"] for each in self.node.list()]
            again, same = self.ask("POST", "/v1/workloads", request, key.items())
            assert (again, same.get("id")) == (201, made["id"]) or again == 409, (again, same, made)
            assert {each["id"] for each in self.node.list()} <= set(before)

    def put(self):
        path, request = f"/v1/workloads/w{self.dice.randint(1, 3)}", self.a_request()
        status, _ = self.ask("PUT", path, request)
        if status in (200, 201) and not self.may_refuse:
            again, _ = self.ask("PUT", path, request)
            assert again in (200, 400, 404, 409), again

    def dry_run(self):
        """What a dry run says is what the request does; it changes nothing itself."""
        request = self.a_request()
        status, dry = self.ask("POST", "/v1/workloads?dry_run=true", request)
        real, made = self.ask("POST", "/v1/workloads", request)
        if self.is_settled and not self.may_refuse:
            assert (status, real) in [(200, 201), (real, real)], (status, real, dry)
            assert not made or all(dry["workload"].get(key) == made.get(key) for key in GRANT[1:-1]), (dry, made)

    def patch(self):
        changed = self.a_request()
        if self.dice.random() < 0.2:
            changed[self.dice.choice(["cache", "pstate", "labels", "l2"])] = None
        if path := self.path_of_one():
            for key in "cpu", "task_ids", "cgroup", "unit", "owner":
                changed.pop(key, None)
            self.ask("PATCH", path, changed)

    def patch_stale(self):
        if path := self.path_of_one():
            status, _ = self.ask(self.dice.choice(["PATCH", "DELETE"]), path, {"labels": {"a": "b"}}, [("If-Match", '"1-999-0123456789abcdef"')])
            assert status in (None, 403, 404, 412, 503), status

    def delete(self):
        if path := self.path_of_one():
            self.ask("DELETE", path)

    def two_at_once(self):
        """Of which each is answered."""
        workloads = [each["id"] for each in self.node.list()] or ["1"]
        asked = [self.dice.choice([("POST", "/v1/workloads", self.a_request()), ("DELETE", f"/v1/workloads/{self.dice.choice(workloads)}", None),
                                   ("PATCH", f"/v1/workloads/{self.dice.choice(workloads)}", {"cache": self.a_cache()})]) for _ in range(4)]
        answers = [None] * len(asked)

        def send(nth, method, path, body):
            answers[nth] = self.node.request(method, path, body)[:2]

        threads = [threading.Thread(target=send, args=(nth, *each)) for nth, each in enumerate(asked)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.note("at once", *zip(asked, answers))
        assert all(each and each[0] in (200, 201, *REFUSED) for each in answers), answers

    CLIENTS = [create, create, create_twice, put, dry_run, patch, patch, patch_stale, delete, delete]

    def act(self):
        self.dice.choice([*self.CLIENTS * 2, *self.OTHERS])(self)

    OTHERS = [two_at_once, Neighbours.hotplug, Neighbours.remount, Neighbours.unmount, Neighbours.turbo, Neighbours.driver, Neighbours.frequency,
              Neighbours.group, Neighbours.tamper, Neighbours.stray_cpu, Neighbours.stray_task, Neighbours.vanish, Neighbours.end_task, Neighbours.cgroup,
              Neighbours.hardware_fault, Neighbours.disk_fault, Neighbours.restart, Neighbours.reload, Host.unit, Host.declare]

    def calm(self):
        """All as at the start, except what clients have been granted."""
        self.note("calm")
        while self.offline:
            self.sim.control(f"online {self.offline.pop()}")
        if not self.has_turbo:
            self.turbo()
        if not self.is_mounted:
            self.unmount()
        if self.has_cdp != ("cdp" in self.shape):
            self.has_cdp = "cdp" in self.shape
            self.sim.control("remount cdp" if self.has_cdp else "remount percent")
            self.foreign.clear()
        if self.is_active != (self.shape["cpufreq"] == "intel_pstate"):
            self.driver()
        for name in sorted(self.foreign):
            os.rmdir(self.sim.path(f"{KEPT}/{name}"))
        self.foreign.clear()
        wait_for(lambda: cpus_of(self.node.call("GET", "/v1/node")["cpus"]["online"]) == set(range(self.shape["cpus"])), "the CPUs")
        self.reload_files()

    def end_all(self):
        """By requests, or by a reset while nrd is stopped."""
        self.undeclare()
        if self.dice.random() < 0.5:
            for workload in self.node.list():
                self.ask("DELETE", f"/v1/workloads/{workload['id']}")
        else:
            self.node.terminate()
            reset = self.node.run_daemon("--reset")
            assert reset.returncode == 0, reset.stderr
            self.node.start()
        with contextlib.suppress(AssertionError):
            wait_for(lambda: self.remains() == [], "nothing to remain")
        remains = self.remains()
        assert remains == [], remains

    def remains(self):
        """What differs from the start once there are no workloads. Ways, CPUs and groups stay claimed until the next boot."""
        tree = self.node.hardware()
        kept = {"ways", "cpu", "group"} | ({"noise"} if self.settings["noise"] == "true" or self.has_refused else set())
        claims = [each for each in self.node.rows("SELECT kind, key FROM baseline") if each[0] not in kept]
        return [*self.node.list(), *((name, tree.get(name), self.first_tree.get(name)) for name in {*tree, *self.first_tree}
                                     if tree.get(name) != self.first_tree.get(name)), *self.unowned_differences([], self.sim.freq()),
                *self.host_differences([], tree), *self.cgroup_differences([], tree), *claims]
