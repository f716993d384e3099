"""kill -9 of the daemon at each of its writes, and of `nrdctl run` at each of its own, beside a real systemd: after the next
start no scope, property, mask, partition or baseline is there that no workload owns.

strace counts the calls of the engine's thread and kills it as it enters the one of this number, which is not executed. The
next number is tried until the request succeeds, so that no write is left out.
"""

import signal

import pytest

from daemon_node import SOCKET, STATE, DaemonNode
from machine import MachineError
from pool_node import ATTEMPTS, CGROUPS, LONG, NRDCTL, SystemdNode, pooled
from rdt_node import started
from masks import cpus_of
from shape import Shape

pytestmark = LONG
# What happens by itself is an hour away: writes are those of the request.
CONFIG = pooled("0", "1-3", "none", drift=3600, tasks=3600)
PARTITION = CONFIG.replace('"none"', '"partition"')
OFTEN = ("interval_seconds = 3600", "interval_seconds = 1")  # what a busy systemd did not answer is done with the next check
ALL, POOL = set(range(4)), {1, 2, 3}
WRITES = ("sendmsg", "write", "sched_setaffinity", "pwrite64")
CHANGES = ("SetUnitProperties", "StartUnit", "StartTransientUnit")  # methods of systemd
MOST_WRITES = 200  # of one kind in one request


class DyingNode(SystemdNode):
    systemd_timeout_ms, request_timeout = 20000, 300  # while strace stops it at each of its calls

    def engine(self):
        script = f"for t in /proc/{self.daemon.pid}/task/*; do [ $(cat $t/comm) != nrd-engine ] || echo ${{t##*/}}; done"
        return min(int(thread) for thread in self.vm.run(script).stdout.split())  # those that it starts have its name at first

    def die_at(self, call, number):
        """As soon as the engine makes this call. Returns the tracer."""
        return self.trace(call, "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}")

    def calls(self, call, request):
        """As strace shows them, of a request that succeeds."""
        tracer = self.trace(call, "-o", "/run/calls", "-s", "1000")
        assert request()
        tracer.kill()
        tracer.wait()
        return self.vm.read("/run/calls").splitlines()

    def trace(self, call, *options):
        engine = self.engine()
        tracer = self.vm.spawn(["strace", "-p", str(engine), "-e", f"trace={call}", *options])
        self.vm.wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in self.vm.read(f"/proc/{self.daemon.pid}/task/{engine}/status"), timeout=60, what="strace")
        return tracer

    def is_dead(self, tracer):
        """After the request. A tracer that has not killed it is ended."""
        if DaemonNode.request(self, "GET", "/v1/health")[0] == 0:
            self.daemon.wait()
        tracer.kill()
        tracer.wait()
        return self.daemon.poll() is not None

    def baselines(self):
        """Of what workloads and pools change; those of each CPU's class stay."""
        query = "SELECT kind, key FROM baseline WHERE kind <> 'cpu'"
        return sorted(self.vm.run(["sqlite3", "-readonly", f"{STATE}/nrd.db", query]).stdout.splitlines())

    def wait_for(self, condition, what):
        """Or tell what is there instead, and what the daemon has said."""
        try:
            self.vm.wait_until(condition, timeout=60, what=what)
        except MachineError as error:
            raise AssertionError(f"{error}\n{self.baselines()}\n{self.get('/v1/health')}\n{self.daemon.output()}") from None

    def reload(self, config):
        self.config = config
        self.vm.write("/run/nrd.toml", config)
        assert self.request("POST", "/v1/config/reload", {})[0] == 200

    def restart(self, config=CONFIG):
        if self.daemon.poll() is None:
            self.kill9()
        self.config = config
        self.start()


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(DyingNode, tmp_path_factory, CONFIG, cpu=Shape(sockets=1, cores=4, threads=1), systemd=True) as node:
        yield node


@pytest.fixture(autouse=True)
def nothing_is_left_for_the_next(node):
    yield
    if node.daemon.poll() is not None:
        node.restart()
    for workload in node.get("/v1/workloads"):
        node.request("DELETE", f"/v1/workloads/{workload['id']}")


class Task:
    name = "task"

    def __init__(self, node):
        self.node = node
        self.process = node.vm.spawn(["taskset", "-c", "0,2", "sleep", "infinity"])
        node.vm.wait_until(lambda: self.cpus() == self.before, timeout=60, what="taskset")
        self.body = {"task_ids": [str(self.process.pid)], "cpu": {"pool": "fast", "count": 2}}

    before = {0, 2}

    def cpus(self):
        return self.node.mask_of(self.process.pid)

    def end(self):
        self.node.end(self.process)


class Cgroup:
    name = "cgroup"
    before = ALL

    def __init__(self, node):
        self.node = node
        node.vm.run(f"echo +cpuset > {CGROUPS}/cgroup.subtree_control; mkdir -p {CGROUPS}/job")
        self.process = node.vm.spawn(["bash", "-c", f"echo $$ > {CGROUPS}/job/cgroup.procs; exec sleep infinity"])
        node.vm.wait_until(lambda: node.cgroup_of(self.process.pid) == "/job", timeout=60, what="the process in the cgroup")
        self.body = {"cgroup": "/job", "cpu": {"pool": "fast", "count": 2}}

    def cpus(self):
        effective = self.node.effective("/job")
        assert self.node.mask_of(self.process.pid) == effective
        return effective

    def end(self):
        self.node.end(self.process)


class Unit:
    name = "unit"
    before = ALL

    def __init__(self, node):
        self.node = node
        node.service("feed.service", "/bin/sleep infinity")
        node.vm.run(["systemctl", "start", "feed"])
        self.body = {"unit": "feed.service", "cpu": {"pool": "fast", "count": 2}}

    def cpus(self):
        effective = self.node.effective("/system.slice/feed.service")
        assert self.node.mask_of(self.node.main_of("feed")) == effective
        text = self.node.property_of("feed", "AllowedCPUs")
        assert (cpus_of(text.replace(" ", ",")) or ALL) == effective
        return effective

    def end(self):
        self.node.vm.run(["systemctl", "stop", "feed"])


def assert_owned(node, target, baselines):
    """What is limited is a workload's, and nothing is left of it."""
    workloads = node.get("/v1/workloads")
    if workloads:
        workload, = workloads
        node.vm.wait_until(lambda: target.cpus() == cpus_of(workload["cpu"]["exclusive"]), timeout=60, what="the CPUs of the workload")
        assert node.request("DELETE", f"/v1/workloads/{workload['id']}")[0] in (200, 204)
    node.wait_for(lambda: target.cpus() == target.before and node.baselines() == baselines, f"CPUs {target.before} and the baselines {baselines}")


def sweep(node, call, request, assert_consistent):
    """Dies at each call of this kind that a request makes. The request returns whether it succeeded."""
    for number in range(1, MOST_WRITES):
        if not dies(node, call, number, request, assert_consistent):
            return
    raise AssertionError(f"more than {MOST_WRITES} times {call}")


def sweep_messages(node, request, assert_consistent):
    """The same for a request most of whose messages to systemd ask: dies at each one that changes something, and at the next."""
    messages = node.calls("sendmsg", request)
    assert_consistent()
    node.reload(CONFIG)
    changes = [number for number, message in enumerate(messages, 1) if any(method in message for method in CHANGES)]
    print(f"{len(changes)} changes among {len(messages)} messages", flush=True)
    assert changes
    for number in sorted({*changes, *(number + 1 for number in changes)}):
        dies(node, "sendmsg", number, request, assert_consistent)


def dies(node, call, number, request, assert_consistent):
    """False if the request succeeded before. Repeated if systemd was too busy."""
    for _ in range(ATTEMPTS):
        tracer = node.die_at(call, number)
        has_succeeded = request()
        is_dead = node.is_dead(tracer)
        print(f"{call} {number}: {'dead' if is_dead else 'done' if has_succeeded else 'too slow'}", flush=True)
        node.restart(CONFIG.replace(*OFTEN, 1))
        assert_consistent()
        node.reload(CONFIG)
        if is_dead or has_succeeded:
            return is_dead
    raise AssertionError(f"{ATTEMPTS} requests did neither die at {call} {number} nor succeed")


def succeeds(node, method, path, body=None):
    return DaemonNode.request(node, method, path, body)[0] in (200, 201, 204)


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("kind", [Task, Cgroup, Unit], ids=lambda kind: kind.name)
def test_nothing_is_left_of_a_request_that_died_at_a_write(node, kind, call):
    target = kind(node)
    baselines = node.baselines()
    made = node.act("POST", "/v1/workloads", target.body)
    assert target.cpus() == cpus_of(made["cpu"]["exclusive"])
    node.delete(made)
    sweep(node, call, lambda: succeeds(node, "POST", "/v1/workloads", target.body), lambda: assert_owned(node, target, baselines))
    target.end()


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("kind", [Task, Cgroup, Unit], ids=lambda kind: kind.name)
def test_nothing_is_left_of_a_deletion_that_died_at_a_write(node, kind, call):
    target = kind(node)
    baselines = node.baselines()

    def delete():
        workload, = node.get("/v1/workloads")
        return succeeds(node, "DELETE", f"/v1/workloads/{workload['id']}")

    def assert_consistent():
        assert_owned(node, target, baselines)
        node.act("POST", "/v1/workloads", target.body)

    node.delete(node.act("POST", "/v1/workloads", target.body))
    node.act("POST", "/v1/workloads", target.body)
    sweep(node, call, delete, assert_consistent)
    assert_owned(node, target, baselines)
    target.end()


def launch(node, prefix=(), attempts=ATTEMPTS):
    """The command, and its process if it has started. Repeated if systemd was too busy."""
    runs = lambda: node.vm.run("pgrep -f '^sleep 4321' || true").stdout.split()
    for _ in range(attempts):
        process = node.vm.spawn([*prefix, NRDCTL, "--socket", SOCKET, "run", "--pool", "fast", "--count", "1", "--", "sleep", "4321"])
        node.vm.wait_until(lambda: runs() or process.poll() is not None, timeout=120, what="the command, or its end")
        if process.poll() != 75:
            break
    return process, runs()


def assert_no_scopes(node, baselines):
    for pid in node.vm.run("pgrep -f '^sleep 4321' || true").stdout.split():
        node.vm.run(["kill", "-9", pid], check=False)
    node.vm.wait_until(lambda: node.get("/v1/workloads") == [] and node.scopes() == [], timeout=60, what="the end of the scope and its workload")
    node.vm.wait_until(lambda: node.baselines() == baselines, timeout=60, what="the end of the baseline")


@pytest.mark.parametrize("call", WRITES)
def test_nothing_is_left_of_a_scope_whose_request_died_at_a_write(node, call):
    process, runs = launch(node)
    assert runs, process.output()
    assert_no_scopes(node, [])
    sweep(node, call, lambda: bool(launch(node, attempts=1)[1]), lambda: assert_no_scopes(node, []))


@pytest.mark.parametrize("call", ["sendto", "sendmsg", "write", "sched_setaffinity", "execve"])
def test_nothing_is_left_of_a_command_that_died_at_a_write_of_the_launcher(node, call):
    for number in range(1, MOST_WRITES):
        tracer, runs = launch(node, ["strace", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"])
        assert_no_scopes(node, [])
        if runs:
            print(f"{call}: {number - 1} deaths")
            return
        assert tracer.poll() == -signal.SIGKILL, tracer.output()
    raise AssertionError(f"more than {MOST_WRITES} times {call}")


@pytest.mark.parametrize("call", WRITES)
def test_nothing_is_left_of_a_confinement_that_died_at_a_write(node, call):
    """With the new configuration the next start confines, with the previous one nothing is."""
    masks = node.masks()

    def reload():
        node.vm.write("/run/nrd.toml", PARTITION)
        return succeeds(node, "POST", "/v1/config/reload", {})

    def assert_confined_and_released():
        partition = lambda: node.vm.read(f"{CGROUPS}/nrd.slice/cpuset.cpus.partition")
        node.restart(PARTITION.replace(*OFTEN, 1))
        node.wait_for(lambda: partition() == "root\n" and node.get("/v1/health")["status"] == "ok", "the confinement")
        assert node.effective("/nrd.slice") == POOL and node.effective("/system.slice") == {0}
        node.restart(CONFIG.replace(*OFTEN, 1))
        node.wait_for(lambda: partition() == "member\n" and node.baselines() == [], "the end of the confinement")
        assert node.effective("/system.slice") == ALL and node.property_of("system.slice", "AllowedCPUs") == ""
        after = node.masks()
        assert {pid: mask for pid, mask in after.items() if pid in masks} == {pid: mask for pid, mask in masks.items() if pid in after}

    if call == "sendmsg":
        sweep_messages(node, reload, assert_confined_and_released)
    else:
        sweep(node, call, reload, assert_confined_and_released)
