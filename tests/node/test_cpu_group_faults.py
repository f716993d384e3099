"""systemd, the kernel and the daemon fail while CPUs of units, scopes and cgroups change."""

import contextlib
import itertools

import pytest

from cpu_host import FEED, POOLS, TARGETS, Host, ask, assert_refused, host, share  # noqa: F401
from cpu_pools import patch, post, reload
from harness import Refused, wait_for
from nrdctl import run, start_run


@pytest.mark.parametrize("workload, parts", [(ask("unit"), ("feed.service runs on CPU 0-15, not on 2-3",)),
                                             ({**share(), **TARGETS["unit"]}, ("feed.service",))])
def test_a_success_without_effect_is_an_error(host, workload, parts):
    before = host.traces()
    host.systemd.mode = "idle"
    assert_refused(host, workload, 500, *parts)
    host.systemd.mode = "normal"
    wait_for(lambda: host.traces() == before, "the properties to be restored")
    post(host.node, workload)


def test_a_command_does_not_start_without_its_scope(host):
    before = host.traces()
    for mode in ("idle", "deaf"):
        host.systemd.mode = mode
        done = run(host.node, "--pool", "fast", "--count", "2", "--", "echo", "started")
        assert done.returncode != 0 and "systemd does not answer" in done.stderr and "started" not in done.stdout
        assert host.node.list() == []
    host.systemd.mode = "normal"
    assert host.traces() == before


@pytest.mark.parametrize("target", TARGETS)
def test_a_silent_systemd_is_a_503_in_time_and_nothing_is_kept(host, target):
    before = host.traces()
    host.systemd.mode = "deaf"
    assert_refused(host, ask(target), 503, "systemd does not answer")
    assert host.node.health()["status"]  # reads wait for nothing
    host.systemd.mode = "normal"
    assert host.traces() == before
    post(host.node, ask(target))


def test_a_refusal_of_systemd_is_an_error_with_its_reason(host):
    host.systemd.mode = "strict"
    assert_refused(host, ask("unit"), 500, "systemd refuses a request about", "Unit feed.service is masked.")
    host.systemd.mode = "normal"


def test_a_silent_systemd_fails_no_request_that_is_not_about_units(host):
    post(host.node, ask("unit"))
    host.systemd.mode = "deaf"
    ways = post(host.node, {"core_ids": ["12"], "cache": {"max": 2, "min": 2}})
    cpus = post(host.node, {"cpu": {"pool": "wide", "count": 1}})
    host.node.delete(ways["id"])
    host.node.delete(cpus["id"])
    host.systemd.mode = "normal"


def test_a_refused_request_leaves_nothing_that_fails_others(host):
    before = host.traces()
    host.systemd.mode = "deaf"
    assert_refused(host, ask("unit"), 503, "systemd does not answer")
    ways = post(host.node, {"core_ids": ["12"], "cache": {"max": 2, "min": 2}})
    host.node.delete(ways["id"])
    host.systemd.mode = "normal"
    wait_for(lambda: host.traces() == before, "the properties to be restored")


def test_a_slow_systemd_has_800_ms_of_a_request_in_all(host):
    before = host.traces()
    host.systemd.mode = "slow"
    assert_refused(host, ask("unit"), 503, "systemd does not answer", within=1.6)
    reload(host.node, "[cpu]\nsystemd_timeout_ms = 10000\n" + POOLS)
    host.node.delete(post(host.node, ask("unit"))["id"])
    host.systemd.mode = "normal"
    wait_for(lambda: host.traces() == before, "the properties to be restored")


def test_the_cgroup_files_decide_what_an_unconfirmed_change_of_a_scope_did(host):
    with start_run(host.node, "--pool", "fast", "--count", "2", "--", "sleep", "1000"):
        wait_for(lambda: host.node.list(), "the workload")
        workload = host.node.list()[0]
        scope = f"/nrd.slice/nrd-{workload['id']}.scope"
        host.systemd.mode = "mute"
        patch(host.node, workload["id"], {"cpu": {"count": 3}})
        assert host.cpus(scope) == "2-4"
        host.node.delete(workload["id"])
        assert host.cpus(scope) == host.cpus("")
        host.systemd.mode = "normal"


def test_the_cgroup_files_decide_what_an_unconfirmed_request_did(host):
    before = host.traces()
    host.systemd.mode = "mute"
    created = post(host.node, ask("unit"))
    assert host.cpus(FEED) == created["cpu"]["cpus"]
    host.systemd.mode = "normal"
    host.node.delete(created["id"])
    assert host.traces() == before


def test_the_half_that_systemd_did_in_time_is_taken_back(host):
    before = host.traces()
    host.systemd.mode = "mute"
    assert_refused(host, {**share(), **TARGETS["unit"]}, 503, "systemd does not answer")  # its CPUs took the time
    host.systemd.mode = "normal"
    wait_for(lambda: host.traces() == before, "the CPUs to be restored")


def test_a_command_runs_in_its_scope_when_systemd_did_not_confirm_it(host):
    post(host.node, ask("cgroup"))  # the controller is enabled
    host.systemd.StartUnit("nrd.slice", "fail")
    host.systemd.mode = "mute"
    done = run(host.node, "--pool", "fast", "--count", "2", "--", "echo", "started")
    assert (done.returncode, done.stdout) == (0, "started\n"), done


def test_a_bus_that_comes_back_is_used_again(host):
    before = host.traces()
    first = post(host.node, ask("unit"))
    host.bus.disappear()
    with pytest.raises(Refused, match="503"):
        patch(host.node, first["id"], {"cpu": {"count": 3}})
    assert host.node.list()[0]["cpu"]["cpus"] == "2-3"
    host.bus.appear()
    patch(host.node, first["id"], {"cpu": {"count": 3}})
    assert host.cpus(FEED) == "2-4"
    host.node.delete(first["id"])
    assert host.traces() == before


@pytest.mark.parametrize("is_deaf", [True, False])
def test_the_daemon_starts_with_a_silent_systemd_and_confines_later(tmp_path, is_deaf):
    with Host(tmp_path, "[cpu]\nconfine = \"slices\"\n" + POOLS, start=False) as host:
        host.systemd.mode, host.bus.is_deaf = "deaf", is_deaf
        host.node.start()
        assert "systemd does not answer" in host.node.health()["hardware_problem"]
        host.systemd.mode, host.bus.is_deaf = "normal", False
        host.bus.disconnect()
        wait_for(lambda: host.cpus("/system.slice") == "0-1,9,12-15", "the slices to be confined")
        wait_for(lambda: host.node.health()["hardware_problem"] == "", "the daemon to recover")


# Writes fail

FAULTS = ["errno EIO", "errno EBUSY", "lie"]
MEMORY = {"cgroup": "/idle", "cpu": {"pool": "fast", "count": 2, "memory": "near"}}
REQUESTS = {"cgroup's memory": MEMORY, "unit": ask("unit"), "cgroup": ask("cgroup"), "unit's share": {**share(), **TARGETS["unit"]}, "cgroup's share": {**share(), **TARGETS["cgroup"]}}


def path_of(request):
    return FEED if "unit" in request else request["cgroup"]


def writes_of(host, workload):
    """How many there are for its creation and its deletion."""
    host.sim.control("reset")
    created = post(host.node, workload)
    for_creation = host.sim.writes()
    host.node.delete(created["id"])
    return for_creation, host.sim.writes() - for_creation


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_write_that_fails_takes_all_of_the_request_back(host, request_, fault):
    host.node.delete(post(host.node, request_)["id"])
    before = host.traces()
    refused = 0
    for nth in range(1, writes_of(host, request_)[0] + 1):
        host.sim.control("reset")
        host.sim.control(f"fault write {nth} {fault}")
        try:
            created = post(host.node, request_)
        except Refused as failure:
            assert failure.status in (500, 503), failure
            refused += 1
        else:
            assert host.cpus(path_of(request_)) == created["cpu"]["cpus"], nth
            host.node.delete(created["id"])
        host.sim.control("reset")
        assert host.node.list() == []
        wait_for(lambda: host.traces() == before, f"the state before (write {nth})")
        wait_for(lambda: host.node.health()["hardware_problem"] == "", "the daemon to recover")
    assert refused > 0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_write_that_fails_in_a_deletion_leaves_no_trace_in_the_end(host, request_, fault):
    host.node.delete(post(host.node, request_)["id"])
    before = host.traces()
    _, writes = writes_of(host, request_)
    assert writes > 0
    for nth in range(1, writes + 1):
        created = post(host.node, request_)
        host.sim.control("reset")
        host.sim.control(f"fault write {nth} {fault}")
        with contextlib.suppress(Refused):
            host.node.delete(created["id"])
        host.sim.control("reset")
        with contextlib.suppress(Refused):
            host.node.delete(created["id"])
        wait_for(lambda: host.traces() == before, f"no trace (write {nth})")


# The daemon is killed


def assert_consistent_after_restart(host, request_, before):
    host.node.wait_dead()
    host.sim.control("reset")
    host.node.start()
    workloads = host.node.list()
    if workloads:
        assert host.cpus(path_of(request_)) == workloads[0]["cpu"]["cpus"] and workloads[0]["status"] == "Successful"
        host.node.delete(workloads[0]["id"])
    assert host.traces() == before


@pytest.mark.parametrize("fault", ["kill-before", "kill-after"])
@pytest.mark.parametrize("request_", [REQUESTS["cgroup"], REQUESTS["cgroup's share"], MEMORY], ids=["cpus", "share", "memory"])
def test_a_kill_at_any_write_leaves_a_cgroup_as_it_was_or_as_granted(host, request_, fault):
    before = host.traces()
    for nth in itertools.count(1):
        host.sim.control("reset")
        host.sim.control(f"fault write {nth} {fault}")
        with contextlib.suppress(OSError):
            host.node.delete(post(host.node, request_)["id"])
            break  # it had no such write
        assert_consistent_after_restart(host, request_, before)
    assert nth > 4


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("request_", [REQUESTS["unit"], REQUESTS["unit's share"]], ids=["cpus", "share"])
def test_a_kill_at_any_request_to_systemd_leaves_a_unit_as_it_was_or_as_granted(host, request_, is_done):
    before = host.traces()
    for nth in itertools.count(1):
        host.systemd.changes = 0
        host.systemd.on_change = lambda count, done: host.node.daemon.kill() if (count, done) == (nth, is_done) else None
        with contextlib.suppress(OSError):
            host.node.delete(post(host.node, request_)["id"])
            break  # it had no such request
        host.systemd.on_change = lambda count, done: None
        assert_consistent_after_restart(host, request_, before)
    assert nth > 2
