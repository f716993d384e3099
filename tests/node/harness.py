"""The real daemon on the simulated node, seen from outside: HTTP, the kernel's files, the database, Debian's pqos.

    with Node() as node:
        id = node.create("4-7", 2, 2)["id"]
        node.kill9_and_start()
        node.assert_consistent({id})
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "simnode"))
from faulty_disk import Disk  # noqa: E402
from masks import bits, cpus_of, is_one_run, longest_run  # noqa: E402
from reservations import free_port, on_cpus_of_nodes, use_all_cpus  # noqa: E402,F401
from simnode import SimNode  # noqa: E402

NRD = os.environ.get("NRD", "build/dev/daemon/nrd")
NRDCTL = os.environ.get("NRDCTL", "build/dev/cli/nrdctl")
FAULTY_DISK = os.environ.get("NRD_FAULTY_DISK")
SCRIPTED_COUNTERS = os.environ.get("NRD_SCRIPTED_COUNTERS")
RESCTRL_MOUNT = os.environ.get("NRD_RESCTRL_MOUNT")
DEADLINE = 30  # seconds; a sanitized daemon on a busy machine
START = 120  # the same with a thousand CPUs, each of which has dozens of simulated files
# What a sanitizer or an INVARIANT writes. A test that passes over one of these has not passed.
BUGS = re.compile(r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|internal bookkeeping is wrong|terminate called).*$", re.M)
# timeout(1) ends a suite by SIGTERM: nodes are taken down then as after Ctrl-C, and leave no folder and no process.
signal.signal(signal.SIGTERM, signal.default_int_handler)
DRIFT = "[drift]\ninterval_seconds = 1\n"  # of the configuration: look every second
# Masks by the same rules on every host; whose MB it is follows CPUID, as libpqos does. A machine has its own.
PLAIN = {"sockets": 2, "cpus": 16, "ways": 11, "closids": 16, "min_cbm_bits": 1, "sparse_masks": False}


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status, self.text = status, text


def refusal(act, *arguments, **named):
    """The Refused that a call raises."""
    try:
        accepted = act(*arguments, **named)
    except Refused as refused:
        return refused
    raise AssertionError(f"not refused: {arguments} {named}: {accepted}")


def wait_for(condition, what, deadline=DEADLINE):
    end = time.monotonic() + deadline
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline} s in vain for {what}")
        time.sleep(0.005)


def replace(path, content):
    """Another file with this content takes its place."""
    with open(path + ".new", "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    os.rename(path + ".new", path)


class Node:
    host = "127.0.0.1"

    def __init__(self, config="", faulty_disk=False, start=True, counters=None, flags=(), mounts=False, **shape):
        self.counters = counters  # a folder of tests/perf/scripted_counters.c
        self.flags = flags
        self.folder = tempfile.mkdtemp(prefix="nrd-node-")
        self.state = os.path.join(self.folder, "state")
        self.socket = os.path.join(self.folder, "nrd.sock")
        self.config = os.path.join(self.folder, "nrd.toml")
        self.configure(config)
        self.disk = Disk(os.path.join(self.folder, "disk")) if faulty_disk else None
        self.mounts = os.path.join(self.folder, "mounts") if mounts else None  # of tests/mount/resctrl_mount.c
        self.environment = {}  # of the daemon, beside this process's own
        self.daemon = None
        self.port = None
        try:
            self.power_on(**shape)
            if start:
                self.start()
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        died = self.daemon and self.daemon.poll()
        journal = self.end()
        if failed:
            print(journal)
            return
        assert not died, f"the daemon died with {died}: {journal}"
        assert not BUGS.search(journal), journal

    def end(self):
        """Takes everything down. The journal, which is all that is left."""
        self.kill9()
        self.sim.stop()
        journal = self.journal()
        shutil.rmtree(self.folder)
        return journal

    def mount_calls(self):
        """What the preloaded tests/mount was asked to mount and unmount, one line a call."""
        with contextlib.suppress(FileNotFoundError), open(self.mounts) as notes:
            return notes.read().splitlines()
        return []

    def power_on(self, **shape):
        """A node of this shape; the one before it must be off."""
        self.sim = SimNode()
        with on_cpus_of_nodes():
            self.sim.start(["sleep", "infinity"], **(shape if "machine" in shape else {**PLAIN, **shape}))

    # The daemon

    def command(self, *flags):
        return self.sim.inside([NRD, "--config", self.config, "--state-dir", self.state, "--unix-socket", self.socket, *flags])

    def run_daemon(self, *flags):
        """For what ends soon: the ended process, with its output."""
        return subprocess.run(self.command(*flags), capture_output=True, text=True, timeout=2 * DEADLINE, env={**os.environ, **self.environment})

    def spawn(self):
        self.port = free_port()
        env = {**os.environ, **self.environment}
        if self.disk:
            env.update(LD_PRELOAD=FAULTY_DISK, NRD_DISK_DIR=self.state, NRD_DISK_CONTROL=os.path.join(self.folder, "disk"))
        if self.counters:
            env.update(LD_PRELOAD=SCRIPTED_COUNTERS, NRD_COUNTERS=self.counters)
        if self.mounts:
            env.update(LD_PRELOAD=RESCTRL_MOUNT, NRD_RESCTRL_MOUNTS=self.mounts, NRD_SIMNODE_CONTROL=self.sim.socket_path)
        if self.disk or self.counters or self.mounts:
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + env.get("ASAN_OPTIONS", "")
        self.log = open(os.path.join(self.folder, "log"), "a")
        with on_cpus_of_nodes():
            self.daemon = subprocess.Popen(self.command("--debug", "--debug-port", str(self.port), *self.flags), stderr=self.log, env=env)

    def configure(self, text):
        """For its next start or reload."""
        with open(self.config, "w") as file:
            file.write(text)

    def failure_to_start(self):
        """Starts the daemon, which refuses to serve: the line that says why."""
        self.spawn()
        assert self.wait_dead() == 1
        return self.journal().splitlines()[-1]

    def start(self):
        self.spawn()
        wait_for(lambda: self.answers() or self.daemon.poll() is not None, "the daemon to answer", START)
        assert self.daemon.poll() is None, f"the daemon did not start: {self.journal()}"

    def answers(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/v1/health")[0] == 200 and self.listens()
        return False

    def listens(self):
        """Whether the port is this daemon's: one of another node may have taken it first."""
        process = f"/proc/{self.daemon.pid}"
        sockets = set()
        for table in ("tcp", "tcp6"):
            with open(f"{process}/net/{table}") as lines:
                for _, local, _, state, *_, inode in (line.split()[:10] for line in lines):
                    if local.endswith(f":{self.port:04X}") and state == "0A":  # TCP_LISTEN
                        sockets.add(f"socket:[{inode}]")
        return any(os.readlink(f"{process}/fd/{name}") in sockets for name in os.listdir(f"{process}/fd"))

    def journal(self):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.folder, "log")) as file:
            return file.read()
        return ""

    said_before = 0

    def said(self):
        """The journal since the present test began (shared_node.py)."""
        return self.journal()[self.said_before:]

    def kill9(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.kill()
        self.wait_dead()

    def kill9_and_start(self):
        self.kill9()
        self.start()

    def wait_dead(self):
        """Its exit status: -9 unless something else ended it."""
        if not self.daemon:
            return None
        status = self.daemon.wait(DEADLINE)
        self.log.close()
        self.daemon = None
        return status

    def terminate(self):
        self.daemon.send_signal(signal.SIGTERM)
        return self.wait_dead()

    def sighup(self, *messages):
        """Until the journal has one of these messages once more."""
        def said():
            return sum(self.journal().count(message) for message in messages)

        before = said()
        self.daemon.send_signal(signal.SIGHUP)
        wait_for(lambda: said() > before, f"one of {messages}")

    def reboot(self):
        """Power off and on: the daemon is gone, and of the hardware's state nothing is left."""
        self.kill9()
        self.sim.control("wipe")
        self.start()

    # HTTP

    def connect(self, timeout):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, timeout=DEADLINE):
        connection = self.connect(timeout)
        try:
            if headers is None:
                headers = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body if body is None or isinstance(body, (bytes, str)) else json.dumps(body),
                               headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def call(self, method, path, body=None):
        status, text, _ = self.request(method, path, body)
        if status not in (200, 201, 202):
            raise Refused(status, text)
        return json.loads(text) if text else None

    def create(self, cpus, most, least, **more):
        cores = cpus if isinstance(cpus, list) else [cpus]
        return self.call("POST", "/v1/workloads", {"core_ids": cores, "cache": {"max": most, "min": least}, **more})

    def delete(self, id):
        return self.call("DELETE", f"/v1/workloads/{id}")

    def list(self):
        return self.call("GET", "/v1/workloads")

    def health(self):
        return self.call("GET", "/v1/health")

    # What the others see

    def hardware(self):
        return self.sim.dump()

    def pqos_show(self):
        """Masks by (socket, class) and classes by CPU, as Debian's tool shows them."""
        masks, classes, socket_id = {}, {}, None
        for line in self.sim.run_inside(["pqos", "-I", "-s"]).stdout.splitlines():
            if found := re.search(r"L3CA.*definitions for Socket (\d+)", line):
                socket_id = int(found[1])
            if found := re.search(r"L3CA (COS\d+) => MASK 0x([0-9a-f]+)", line):
                masks[socket_id, found[1]] = int(found[2], 16)
            if found := re.search(r"Core (\d+),.*=> (COS\d+)", line):
                classes[int(found[1])] = found[2]
        return masks, classes

    def plain(self):
        """Masks and CPUs of every class, without what a reboot of the tree recreates."""
        return {name: (group["L3"], group["cpus"]) for name, group in self.hardware().items()}

    def stored(self):
        """Workloads in the database."""
        grants = {id: json.loads(document)["grant"] for id, document in self.rows("SELECT coalesce(given_id, id), document FROM workload ORDER BY id")}
        return {str(id): (f"COS{grant.get('clos', 0)}", {cache: ways for cache, ways in grant.get("ways", []) if not cache.startswith("L2:")})
                for id, grant in grants.items()}

    def rows(self, query):
        """What the database holds, as another program reads it from a copy."""
        copy = tempfile.mkdtemp(dir=self.folder)
        for name in ("nrd.db", "nrd.db-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(os.path.join(self.state, name), copy)
        with contextlib.closing(sqlite3.connect(os.path.join(copy, "nrd.db"))) as db:
            found = db.execute(query).fetchall()
        shutil.rmtree(copy)
        return found

    def change_store(self, statement, parameters=()):
        """What the database holds, while the daemon is down."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.state, "nrd.db"))) as db, db:
            db.execute(statement, parameters)

    def assert_consistent(self, acknowledged=None):
        """Acknowledged = answered = stored = hardware, and nothing more anywhere."""
        workloads = self.list()
        if acknowledged is not None:
            assert {w["id"] for w in workloads} == set(acknowledged)
        assert all(w["status"] == "Successful" for w in workloads), workloads
        answered = {w["id"]: (w["cos_name"], {c: g["mask"] for c, g in w["granted_ways"].items()}) for w in workloads}
        assert self.stored() == answered
        self.assert_asked_for(workloads)
        groups = self.hardware()
        node = self.call("GET", "/v1/node")
        wanted_cpus, with_tasks = {}, set()
        for w in workloads:
            wanted_cpus.setdefault(w["cos_name"], set()).update(cpus_of(*w.get("core_ids", [])))
            if w.get("task_ids"):
                with_tasks.add(w["cos_name"])
        for name, group in groups.items():
            if name != "/":
                assert cpus_of(group["cpus"]) == wanted_cpus.get(name, set()), (name, groups)
        assert cpus_of(groups["/"]["cpus"]) == cpus_of(node["cpus"]["online"]) - set().union(*wanted_cpus.values()), groups
        self.assert_masks(workloads, groups, wanted_cpus, with_tasks, "L3", node["caches"], "granted_ways",
                          node["capabilities"]["l3_cat"])
        if "l2_caches" in node:
            self.assert_masks(workloads, groups, wanted_cpus, with_tasks, "L2", node["l2_caches"], "granted_l2_ways",
                              node["capabilities"]["l2_cat"])

    @staticmethod
    def assert_masks(workloads, groups, class_cpus, with_tasks, level, caches, granted_key, cat):
        """Each class has what was granted. On caches with ways in use, the OS has the longest run of the others, or all of
        them where masks may have holes, and so has each class without ways there that may run there."""
        granted = {}
        for w in workloads:
            granted.setdefault(w["cos_name"], {}).update({c: g["mask"] for c, g in w.get(granted_key, {}).items()})
        full = (1 << cat["ways"]) - 1
        for cache in caches:
            id, cpus = str(cache["id"]), cpus_of(cache["cpus"])
            free = full & ~int(cache["infra"]["mask"], 16)
            for ways in granted.values():
                free &= ~int(ways.get(id, "0"), 16)
            left = int(groups["/"][level][id], 16)
            if free != full:
                assert left & ~free == 0 and (cat["sparse_masks"] or is_one_run(f"{left:x}")), (level, id, groups)
                assert left.bit_count() == (free.bit_count() if cat["sparse_masks"] else longest_run(free)), (id, groups)
                assert int(cache["idle"]["mask"], 16) == free & ~left, cache
            for name, group in groups.items():
                may_run_there = name == "/" or name in with_tasks or cpus & class_cpus.get(name, set())
                wanted = int(granted.get(name, {}).get(id, f"{left if may_run_there else full:x}"), 16)
                assert int(group[level][id], 16) == wanted, (name, level, id, groups)

    def assert_asked_for(self, workloads):
        """Each workload has what it requested: so many contiguous ways on the caches of its CPUs, shared with no other."""
        node = self.call("GET", "/v1/node")
        caches = {str(cache["id"]): cpus_of(cache["cpus"]) for cache in node["caches"]}
        l2_caches = {str(cache["id"]): cpus_of(cache["cpus"]) for cache in node.get("l2_caches", [])}
        owned, shared = {}, {}  # by cache: ways of one workload each, and those of the class that some share
        l2_owned = {}
        for w in workloads:
            most, least = w["cache"].get("max"), w["cache"].get("min")
            cpus = cpus_of(*w["core_ids"])
            assert set(w["granted_ways"]) == {cache for cache, its in caches.items() if w["cache"] and its & cpus}, w
            l2_touched = {cache for cache, its in l2_caches.items() if "l2" in w and its & cpus}
            assert set(w.get("granted_l2_ways", {})) == l2_touched, w
            for cache, granted in w.get("granted_l2_ways", {}).items():
                assert is_one_run(granted["mask"]) and bits(granted["mask"]) == granted["ways"] == w["l2"]["ways"], w
                assert l2_owned.get(cache, 0) & int(granted["mask"], 16) == 0, workloads
                l2_owned[cache] = l2_owned.get(cache, 0) | int(granted["mask"], 16)
            for cache, granted in w["granted_ways"].items():
                mask = granted["mask"]
                assert is_one_run(mask) and bits(mask) == granted["ways"] > 0, w
                if most == 0:
                    shared[cache] = int(mask, 16)
                    continue
                assert min(least, most) <= bits(mask) <= most, w
                assert owned.get(cache, 0) & int(mask, 16) == 0, workloads
                owned[cache] = owned.get(cache, 0) | int(mask, 16)
        assert all(owned.get(cache, 0) & mask == 0 for cache, mask in shared.items()), workloads


@contextlib.contextmanager
def process():
    """One that does nothing and ends with the block."""
    started = subprocess.Popen(["sleep", "infinity"], start_new_session=True)
    try:
        yield started
    finally:
        started.kill()
        started.wait()
