"""systemd, the kernel and the daemon fail while a command gets its scope, and while the rest of the host is confined."""

import contextlib
import itertools

import pytest

from cpu_host import POOLS, Host, ask, host  # noqa: F401
from cpu_pools import post, reload
from harness import Refused, wait_for
from nrdctl import run

FAST = ("--pool", "fast", "--count", "2", "--memory", "near")
FAULTS = ["errno EIO", "errno EBUSY", "lie"]


def assert_no_scope(host, before, nth):
    wait_for(lambda: host.node.list() == [], f"the workload to go (write {nth})")
    host.systemd.collect()
    wait_for(lambda: host.traces() == before, f"no trace (write {nth})")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_write_that_fails_starts_no_command_outside_its_cpus(host, fault):
    show = ("--", "/bin/sh", "-c", "echo $NRD_CPUS")
    before = host.traces()
    assert run(host.node, *FAST, *show).stdout == "2-3\n"
    assert_no_scope(host, before, 0)
    host.sim.control("reset")
    run(host.node, *FAST, *show)
    refused = 0
    for nth in range(1, host.sim.writes() + 1):
        host.sim.control("reset")
        host.sim.control(f"fault write {nth} {fault}")
        done = run(host.node, *FAST, *show)
        host.sim.control("reset")
        assert done.stdout == ("2-3\n" if done.returncode == 0 else ""), (nth, done)
        refused += done.returncode != 0
        assert_no_scope(host, before, nth)
    assert refused > 0


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_a_kill_at_any_request_to_systemd_leaves_no_scope(host, is_done):
    before = host.traces()
    for nth in itertools.count(1):
        killed = []

        def kill(count, done):
            if (count, done) == (nth, is_done):
                killed.append(nth)
                host.node.daemon.kill()

        host.systemd.changes = 0
        host.systemd.on_change = kill
        done = run(host.node, *FAST, "--", "echo", "started")
        host.systemd.on_change = lambda count, done: None
        if not killed:
            break  # it had no such request
        # The last request comes when the command has ended.
        assert (done.returncode, done.stdout) in [(3, ""), (0, "started\n")], done
        host.node.wait_dead()
        host.node.start()
        assert_no_scope(host, before, nth)
    assert nth > 1


# The rest of the host

MOVES = [("none", "slices"), ("none", "partition"), ("slices", "partition"), ("partition", "slices"), ("slices", "none"), ("partition", "none")]


@pytest.fixture
def confined(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda kind: stack.enter_context(Host(tmp_path, f'[cpu]\nconfine = "{kind}"\n' + POOLS))


def confine(host, kind):
    reload(host.node, f'[cpu]\nconfine = "{kind}"\n' + POOLS)


def confinement(host):
    """What the host has of it: CPUs and properties of the slices, and the partition."""
    slices = [(host.cpus(f"/{name}"), host.property(name)) for name in ("system.slice", "user.slice")]
    with contextlib.suppress(FileNotFoundError):
        return slices, host.read("/nrd.slice", "cpuset.cpus.partition"), host.read("/nrd.slice", "cpuset.cpus")
    return slices, "member", ""


def states(host, old, new):
    """Before and after the reload, with how many writes."""
    confine(host, new)
    confine(host, old)  # from here on nrd.slice is there
    before = confinement(host)
    host.sim.control("reset")
    confine(host, new)
    writes, after = host.sim.writes(), confinement(host)
    confine(host, old)
    assert confinement(host) == before != after
    return before, after, writes


def assert_settled(host, wanted, what):
    wait_for(lambda: confinement(host) == wanted, f"the confinement {what}")
    wait_for(lambda: host.node.health()["hardware_problem"] == "", f"the daemon to recover {what}")


@pytest.mark.parametrize("fault", ["errno EIO", "lie"])
@pytest.mark.parametrize("old, new", MOVES)
def test_a_write_that_fails_leaves_the_host_confined_as_before_or_as_asked(confined, old, new, fault):
    host = confined(old)
    before, after, writes = states(host, old, new)
    refusals = 0
    for nth in range(1, writes + 1):
        host.sim.control("reset")
        host.sim.control(f"fault write {nth} {fault}")
        wanted = after
        try:
            confine(host, new)
        except Refused as refused:
            assert refused.status in (400, 409, 500, 503), refused
            wanted = before
            refusals += 1
        host.sim.control("reset")
        assert_settled(host, wanted, f"after write {nth}")
        confine(host, old)
        assert_settled(host, before, f"again, after write {nth}")
    assert refusals > 0, writes


@pytest.mark.parametrize("mode", ["idle", "deaf", "mute"])
@pytest.mark.parametrize("old, new", [("none", "slices"), ("slices", "none"), ("slices", "partition")])
def test_a_systemd_that_fails_leaves_the_host_confined_as_before_or_as_asked(confined, old, new, mode):
    host = confined(old)
    before, after, _ = states(host, old, new)
    host.systemd.mode = mode
    wanted = after
    try:
        confine(host, new)
    except Refused:
        wanted = before
    host.systemd.mode = "normal"
    assert wanted == before or mode == "mute"  # which does what it is asked
    assert_settled(host, wanted, f"after {mode}")


def test_a_reload_waits_for_a_slow_systemd_that_was_silent_before(confined):
    host = confined("slices")
    _, after, _ = states(host, "slices", "none")
    host.systemd.mode = "mute"
    with contextlib.suppress(Refused):
        confine(host, "none")
        confine(host, "slices")
    host.systemd.mode, host.systemd.delay = "slow", 0.04
    confine(host, "none")
    host.systemd.mode = "normal"
    assert_settled(host, after, "slowly")


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("old, new", [("none", "slices"), ("slices", "none"), ("none", "partition"), ("partition", "none")])
def test_a_kill_at_any_request_to_systemd_confines_as_configured_after_the_next_start(confined, old, new, is_done):
    host = confined(old)
    before, after, _ = states(host, old, new)
    for nth in itertools.count(1):
        host.systemd.changes = 0
        host.systemd.on_change = lambda count, done: host.node.daemon.kill() if (count, done) == (nth, is_done) else None
        with contextlib.suppress(OSError):
            confine(host, new)
            break  # it had no such request
        host.systemd.on_change = lambda count, done: None
        host.node.wait_dead()
        host.node.start()
        assert_settled(host, after, f"after request {nth}")
        confine(host, old)
        assert_settled(host, before, f"again, after request {nth}")
    host.systemd.on_change = lambda count, done: None
    assert nth > 1


@pytest.mark.parametrize("fault", ["kill-before", "kill-after"])
@pytest.mark.parametrize("old, new", [("none", "partition"), ("partition", "none")])
def test_a_kill_at_the_write_of_the_partition_confines_as_configured_after_the_next_start(confined, old, new, fault):
    """The one write that nrd makes itself: the others are systemd's."""
    host = confined(old)
    _, after, _ = states(host, old, new)
    host.sim.control("reset")
    confine(host, new)
    nth, = (nth for nth, line in enumerate(host.sim.log(), 1) if ".partition" in line)
    confine(host, old)
    host.sim.control("reset")
    host.sim.control(f"fault write {nth} {fault}")
    with contextlib.suppress(OSError):
        confine(host, new)
    assert host.node.wait_dead() == -9
    host.node.start()
    assert_settled(host, after, "after the death")


def test_a_cgroup_that_vanishes_leaves_no_trace_and_hinders_no_other(host):
    workload = post(host.node, ask("cgroup"))
    before = host.cpus("/idle")
    host.sim.control("vanish /sys/fs/cgroup/jobs")
    second = post(host.node, ask("unit"))
    assert second["cpu"]["enforced"]["effective"] == second["cpu"]["cpus"] == "4-5"
    wait_for(lambda: host.node.health()["hardware_problem"] == "", "the daemon to settle")
    host.node.delete(workload["id"])
    host.node.delete(second["id"])
    assert host.cpus("/idle") == before
