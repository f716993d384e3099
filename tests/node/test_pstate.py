"""Frequencies of CPUs: the real daemon on a simulated cpufreq and simulated registers, read back by others."""

import json
import os
import subprocess

import pytest

from harness import NRDCTL, Node, Refused, wait_for
from fault_points import kinds_of_writes, struck

WINDOW = {"min_ratio": 12, "max_ratio": 30}
BOTH = {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}, "pstate": WINDOW}
DEFAULT = {"min": 800_000, "max": 3_500_000}
LOOKS = "[drift]\ninterval_seconds = 1\n"


def window(node, cpu):
    freq = node.sim.freq()[str(cpu)]
    return {key: freq[key] for key in ("min", "max")}


def post(node, pstate, cores=("4-5",), **more):
    return node.call("POST", "/v1/workloads", {"core_ids": list(cores), "pstate": pstate, **more})


def refusal(node, pstate, cores=("4-5",), **more):
    before = node.sim.freq()
    with pytest.raises(Refused) as refused:
        post(node, pstate, cores, **more)
    assert node.sim.freq() == before and node.list() == []
    return refused.value


@pytest.fixture(scope="module")
def intel():
    with Node(cpufreq="intel_pstate") as node:
        yield node


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    yield
    if "intel" in request.fixturenames:
        node = request.getfixturevalue("intel")
        for workload in node.list():
            node.delete(workload["id"])
        assert all(window(node, cpu) == DEFAULT for cpu in range(16))


def test_a_window_by_ratio_is_set_and_taken_back(intel):
    made = post(intel, WINDOW)
    assert made["status"] == "Successful" and made["pstate"] == WINDOW == made["plugins"]["pstate"]
    assert made["cos_name"] == "" and made["cache"] == {} and made["pool"] == "none"
    assert made["granted_frequencies"]["4"] == {"min_khz": 1_200_000, "max_khz": 3_000_000, "min_ratio": 12, "max_ratio": 30}
    for cpu in range(16):
        assert window(intel, cpu) == ({"min": 1_200_000, "max": 3_000_000} if cpu in (4, 5) else DEFAULT)
    # An independent program, through the kernel's files.
    read = intel.sim.run_inside(["cat", "/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq"]).stdout
    assert read == "3000000\n"
    intel.delete(made["id"])
    assert window(intel, 4) == DEFAULT


def test_a_limit_that_the_kernel_applies_later_is_awaited():
    with Node(cpufreq="intel_pstate", freq_applied_after=50) as node:
        made = post(node, WINDOW)
        assert window(node, 4) == {"min": 1_200_000, "max": 3_000_000}
        node.call("PATCH", f"/v1/workloads/{made['id']}", {"pstate": {"min_ratio": 9, "max_ratio": 20}})
        assert window(node, 5) == {"min": 900_000, "max": 2_000_000}
        node.delete(made["id"])
        assert window(node, 4) == DEFAULT


@pytest.mark.parametrize("pstate, expected", [
    ({"min_mhz": 1250, "max_mhz": 2990}, (1_200_000, 2_900_000)),
    ({"max_ratio": 22}, (2_200_000, 2_200_000)), ({"min_ratio": 22}, (2_200_000, 2_200_000)),
    ({"turbo": False}, (800_000, 2_200_000)), ({"min_ratio": 10, "max_ratio": 30, "turbo": False}, (1_000_000, 2_200_000))])
def test_requested_frequencies_are_rounded_and_reported(intel, pstate, expected):
    made = post(intel, pstate)
    assert made["pstate"] == pstate
    granted = made["granted_frequencies"]["4"]
    assert (granted["min_khz"], granted["max_khz"]) == expected == tuple(window(intel, 4).values())


def test_the_shape_under_plugins_says_the_same(intel):
    made = intel.call("POST", "/v1/workloads", {"core_ids": ["4"], "plugins": {"pstate": WINDOW}})
    assert made["pstate"] == WINDOW and window(intel, 4) == {"min": 1_200_000, "max": 3_000_000}


def test_governor_and_preference_are_set_and_taken_back(intel):
    made = post(intel, {"governor": "performance"})
    assert (intel.sim.freq()["4"]["governor"], intel.sim.freq()["4"]["epp"]) == ("performance", "performance")
    patched = intel.call("PATCH", f"/v1/workloads/{made['id']}", {"pstate": {"governor": "powersave", "epp": "power"}})
    assert patched["status"] == "Successful"
    assert (intel.sim.freq()["4"]["governor"], intel.sim.freq()["4"]["epp"]) == ("powersave", "power")
    intel.delete(made["id"])
    assert (intel.sim.freq()["4"]["governor"], intel.sim.freq()["4"]["epp"]) == ("powersave", "balance_performance")


def test_a_patch_replaces_keeps_or_removes_it(intel):
    id = intel.call("POST", "/v1/workloads", BOTH)["id"]
    path = f"/v1/workloads/{id}"
    assert intel.call("PATCH", path, {"cache": {"max": 3, "min": 3}, "pstate": {}})["pstate"] == WINDOW
    assert intel.call("PATCH", path, {"pstate": {"max_ratio": 20}})["granted_frequencies"]["5"]["max_ratio"] == 20
    assert window(intel, 5) == {"min": 2_000_000, "max": 2_000_000}
    again = intel.call("GET", path)
    assert intel.call("PATCH", path, again) == again, "an answer that is sent back changes nothing"
    removed = intel.call("PATCH", path, {"pstate": None})
    assert "pstate" not in removed and window(intel, 5) == DEFAULT
    assert removed["cache"] == {"max": 3, "min": 3}


def test_moving_to_other_cpus_takes_the_window_along(intel):
    id = post(intel, WINDOW)["id"]
    intel.call("PATCH", f"/v1/workloads/{id}", {"core_ids": ["5-6"]})
    assert window(intel, 4) == DEFAULT and window(intel, 6) == {"min": 1_200_000, "max": 3_000_000}


@pytest.mark.parametrize("pstate, status, says", [
    ({"governor": "turbo"}, 400, '/pstate/governor: CPU 4 does not know "turbo" (allowed: performance, powersave)'),
    ({"epp": "maximum"}, 400, "/pstate/epp: CPU 4 does not know"),
    ({"governor": "performance", "epp": "power"}, 400, "/pstate/epp: under the governor"),
    ({"max_ratio": 7}, 400, "/pstate/max_ratio: CPU 4 does not support this frequency (allowed: 8 to 35)"),
    ({"max_ratio": 36}, 400, "(allowed: 8 to 35)"), ({"max_mhz": 4_294_967_295}, 400, "(allowed: 800 MHz to 3500 MHz)"),
    ({"min_ratio": 30, "max_ratio": 20}, 400, "/pstate/min_ratio: is above the maximum"),
    ({"min_ratio": 30, "turbo": False}, 400, "/pstate/turbo: false, but min_ratio is above the base frequency"),
    ({"max_ratio": 0}, 400, "/pstate/max_ratio"), ({"max_ratio": -1}, 400, "/pstate/max_ratio"),
    ({"max_ratio": 2.5}, 400, "/pstate/max_ratio"), ({"max_ratio": "22"}, 400, "/pstate/max_ratio"),
    ({"ratio": 0.0, "min_ratio": 0}, 400, "/pstate/min_ratio"), ({"ratio": -1}, 400, "/pstate/ratio: expected a number above 0"),
    ({"ratio": "NaN"}, 400, "/pstate/ratio: expected a number above 0"), ({"ratio": 1, "monitoring": "yes"}, 400, "/pstate/monitoring"),
    ([], 400, "/pstate: expected an object")])
def test_refusals_name_the_field_and_what_is_allowed(intel, pstate, status, says):
    refused = refusal(intel, pstate)
    assert refused.status == status and says in refused.text, refused


def test_a_workload_that_asks_nothing_is_refused(intel):
    assert "No RDT/Plugins params in workload" in refusal(intel, {}).text


def test_get_pstate_shows_limits_setting_and_owner(intel):
    made = post(intel, WINDOW)
    shown = intel.call("GET", "/v1/pstate/4")
    assert shown["driver"] == "intel_pstate" and shown["interface"] == "cpufreq" and shown["workload"] == made["id"]
    assert shown["limits"] == {**shown["limits"], "min_khz": 800_000, "max_khz": 3_500_000, "base_khz": 2_200_000, "max_ratio": 35}
    assert shown["set"]["max_khz"] == 3_000_000 and shown["governors"] == ["performance", "powersave"]
    everything = intel.call("GET", "/v1/pstate")
    assert len(everything["cpus"]) == 16 and everything["missing"] == [] and everything["cpus"][4] == shown
    assert everything["cpus"][3]["workload"] is None
    for path in ("/v1/pstate/16", "/v1/pstate/x", "/v1/pstate/-1"):
        with pytest.raises(Refused) as refused:
            intel.call("GET", path)
        assert refused.value.status == 404


def test_nrdctl_creates_and_shows_it(intel):
    def run(*words):
        return subprocess.run([NRDCTL, "--url", f"http://127.0.0.1:{intel.port}", *words], capture_output=True, text=True)
    made = run("workload", "create", "--cpus", "4-5", "--min-ratio", "12", "--max-ratio", "30")
    assert made.returncode == 0, made
    id = intel.list()[0]["id"]
    assert "12-30" in made.stdout and "12-30" in run("workload", "list").stdout and "12-30" in run("workload", "show", id).stdout
    assert "none, CPUs 4-5, ratio 12-30" in run("ways").stdout
    asked_nothing = run("workload", "create", "--cpus", "6")
    assert asked_nothing.returncode == 2 and "no resources given; use --ways" in asked_nothing.stderr
    # There are no counters of branches here, so the daemon's refusal shows what was asked.
    adaptive = run("workload", "create", "--cpus", "6", "--adaptive", "3.5")
    assert adaptive.returncode == 1 and "/pstate/ratio: branch monitoring" in adaptive.stderr
    assert run("workload", "create", "--cpus", "6", "--adaptive", "-1").returncode == 2


# Crashes and faults


@pytest.mark.parametrize("shape", [{"cpufreq": "intel_pstate"}, {"cpufreq": "acpi-cpufreq", "freq_domain": "core"}, {"msr": "hwp"}])
def test_it_survives_kill_9_and_reboot_and_leaves_no_trace(shape):
    with Node(**shape) as node:
        before = node.sim.freq()
        made = node.call("POST", "/v1/workloads", BOTH)
        held = node.sim.freq()
        assert held != before
        node.kill9()
        node.start()
        assert node.sim.freq() == held and node.list() == [{**made, "status": "Successful"}]
        node.reboot()
        assert node.sim.freq() == held and node.list()[0]["status"] == "Successful"
        node.kill9()
        node.start()
        node.delete(made["id"])
        assert node.sim.freq() == before and node.stored() == {}


def writes_of(node):
    return int(node.sim.control("count").partition("=")[2])


def count_writes(shape):
    with Node(**shape) as node:
        node.sim.control("reset")
        node.call("POST", "/v1/workloads", BOTH)
        return writes_of(node)


@pytest.mark.parametrize("fault", ["errno EIO", "errno EINVAL", "lie"])
@pytest.mark.parametrize("shape", [{"cpufreq": "intel_pstate"}, {"msr": "hwp"}], ids=["cpufreq", "msr"])
def test_a_failed_write_restores_cache_and_frequency(shape, fault):
    writes = count_writes(shape)
    assert writes >= 5  # two masks, the CPUs at once, and their frequencies
    with Node(**shape) as node:
        frequencies, ways = node.sim.freq(), node.plain()
        for n in range(1, writes + 1):
            node.sim.control("reset")
            node.sim.control(f"fault write {n} {fault}")
            with pytest.raises(Refused) as refused:
                node.call("POST", "/v1/workloads", BOTH)
            assert refused.value.status == 500, (n, refused.value)
            assert node.sim.freq() == frequencies and node.plain() == ways and node.list() == [] and node.stored() == {}, n
        assert node.call("POST", "/v1/workloads", BOTH)["status"] == "Successful"


def writes_of_a_life(shape):
    with Node(**shape) as node:
        node.sim.control("reset")
        node.delete(node.call("POST", "/v1/workloads", BOTH)["id"])
        return kinds_of_writes(node)


def test_after_dying_at_any_write_the_next_start_reports_the_real_state():
    shape = {"cpufreq": "intel_pstate"}
    writes = writes_of_a_life(shape)
    for turn, moment in enumerate(("kill-before", "kill-after")):
        for n in struck(writes, turn):
            with Node(**shape) as node:
                untouched = (node.sim.freq(), node.plain())
                node.sim.control("reset")
                node.sim.control(f"fault write {n} {moment}")
                try:
                    made = node.call("POST", "/v1/workloads", BOTH)
                    node.delete(made["id"])
                    raise AssertionError(f"write {n} was not reached")
                except OSError:
                    pass
                node.wait_dead()
                node.start()
                stored = node.list()
                if stored:
                    assert stored[0]["status"] == "Successful" and window(node, 4) == {"min": 1_200_000, "max": 3_000_000}
                    node.delete(stored[0]["id"])
                assert (node.sim.freq(), node.plain()) == untouched, (n, moment)


def test_foreign_changes_are_reverted():
    with Node("[drift]\ninterval_seconds = 1\n", cpufreq="intel_pstate") as node:
        post(node, WINDOW)
        node.sim.write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", "2000000\n")
        wait_for(lambda: node.health()["drift_repairs"] == 1, "the repair")
        assert window(node, 4)["max"] == 3_000_000
        # CPUs without a workload may be changed by other programs.
        node.sim.write("/sys/devices/system/cpu/cpu9/cpufreq/scaling_max_freq", "2000000\n")
        wait_for(lambda: node.call("GET", "/v1/pstate/9")["set"]["max_khz"] == 2_000_000, "a look")
        assert window(node, 9)["max"] == 2_000_000 and node.health()["drift_repairs"] == 1


OF_CPU_4 = "/sys/devices/system/cpu/cpu4/cpufreq"


def others_write(node, low, high):
    """As tuned and cpupower do."""
    node.sim.write(f"{OF_CPU_4}/scaling_min_freq", f"{low}\n")
    node.sim.write(f"{OF_CPU_4}/scaling_max_freq", f"{high}\n")


def stored_of_others(node):
    """What is to be given back instead of the baseline."""
    return node.rows("SELECT cpu, min_khz, max_khz, governor FROM frequency_of_others")


def test_foreign_limits_are_reverted_and_restored_at_the_end():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        others_write(node, 1_000_000, 2_000_000)
        wait_for(lambda: window(node, 4) == {"min": 1_200_000, "max": 3_000_000}, "the repair")
        # A look may come between the two writes, and then the next one has the other.
        wait_for(lambda: stored_of_others(node) == [(4, 1_000_000, 2_000_000, "powersave")], "both to be stored")
        wait_for(lambda: node.health()["drift_repairs"] >= 1, "the end of that look")
        repairs = node.health()["drift_repairs"]
        node.sim.write(f"{OF_CPU_4}/scaling_governor", "performance\n")
        wait_for(lambda: node.health()["drift_repairs"] > repairs, "the next repair")
        assert node.sim.freq()["4"]["governor"] == "powersave"
        assert node.list()[0]["status"] == "Successful"
        node.delete(id)
        assert window(node, 4) == {"min": 1_000_000, "max": 2_000_000} and window(node, 5) == DEFAULT
        assert node.sim.freq()["4"]["governor"] == "performance" and stored_of_others(node) == []


def test_foreign_limits_before_a_delete_are_kept_without_a_refresh():
    with Node("[drift]\ninterval_seconds = 3600\n", cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        others_write(node, 1_000_000, 2_000_000)
        node.delete(id)
        assert window(node, 4) == {"min": 1_000_000, "max": 2_000_000} and window(node, 5) == DEFAULT


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
def test_foreign_limits_are_known_after_a_kill_during_the_repair(moment):
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("reset")
        node.sim.control(f"fault write 2 {moment}")  # the first is others'
        node.sim.write(f"{OF_CPU_4}/scaling_max_freq", "2000000\n")
        assert node.wait_dead() == -9
        assert stored_of_others(node) == [(4, 800_000, 2_000_000, "powersave")]
        node.start()
        assert window(node, 4) == {"min": 1_200_000, "max": 3_000_000}
        node.delete(id)
        assert window(node, 4) == {"min": 800_000, "max": 2_000_000}


def test_a_write_of_ours_that_failed_is_not_remembered():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("reset")
        for nth in range(2, 8):  # the first write of the patch is taken, and what would take it back is not
            node.sim.control(f"fault write {nth} errno EIO")
        with pytest.raises(Refused):
            node.call("PATCH", f"/v1/workloads/{id}", {"pstate": {"min_ratio": 10, "max_ratio": 20}})
        assert window(node, 4) == {"min": 1_000_000, "max": 3_000_000}
        wait_for(lambda: window(node, 4) == {"min": 1_200_000, "max": 3_000_000}, "the repair")
        wait_for(lambda: node.health()["status"] == "ok", "the end of the problem")
        assert stored_of_others(node) == [] and "FREQUENCY_REMEMBERED" not in node.journal()
        node.delete(id)
        assert window(node, 4) == DEFAULT


def test_a_limit_of_the_kernel_is_not_remembered():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("reset")
        node.sim.control("fault write 2 lie")  # taken, but not so: as under a limit of thermal
        node.sim.write(f"{OF_CPU_4}/scaling_max_freq", "2000000\n")
        wait_for(lambda: "HARDWARE_PROBLEM" in node.journal(), "the refusal")
        wait_for(lambda: window(node, 4) == {"min": 1_200_000, "max": 3_000_000}, "the end of the limit")
        wait_for(lambda: node.health()["status"] == "ok", "the end of the problem")
        assert stored_of_others(node) == []
        node.delete(id)
        assert window(node, 4) == DEFAULT


@pytest.mark.parametrize("offline", ["gone", "busy"])
def test_cpus_that_go_and_come_back(offline):
    with Node("[drift]\ninterval_seconds = 1\n", cpufreq="intel_pstate", cpufreq_offline=offline, min_over_max="clamp") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("offline 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a look")
        assert node.list()[0]["status"] == "Successful"
        node.delete(id)
        assert window(node, 4) == DEFAULT
        node.sim.control("online 5")
        wait_for(lambda: window(node, 5) == DEFAULT, "what was left on CPU 5 to be put back")


# Domains


def test_cpus_that_share_a_frequency_with_others_need_confirmation():
    with Node(cpufreq="acpi-cpufreq", freq_domain="core", freq_base=3500) as node:
        refused = refusal(node, WINDOW, ["4"])
        assert refused.status == 400
        assert "CPU 4 shares its frequency with CPU 5" in refused.text and "core_ids with all of 4-5" in refused.text
        before = node.sim.freq()
        made = post(node, {**WINDOW, "shared_domain": "allow"}, ["4"])
        assert window(node, 5) == {"min": 1_200_000, "max": 3_000_000}
        # Another workload in the same domain: the same window or none.
        with pytest.raises(Refused) as other:
            post(node, {"max_ratio": 20, "shared_domain": "allow"}, ["5"])
        assert "for which workload 1 requests a different frequency" in other.value.text
        second = post(node, {**WINDOW, "shared_domain": "allow"}, ["5"])
        node.delete(made["id"])
        assert window(node, 4) == {"min": 1_200_000, "max": 3_000_000}, "it still shares with a workload's"
        node.delete(second["id"])
        assert node.sim.freq() == before


def test_whole_domains_need_no_confirmation():
    with Node(cpufreq="acpi-cpufreq", freq_domain="core") as node:
        assert post(node, WINDOW, ["4-5"])["status"] == "Successful"


# Registers


def test_without_a_driver_hwp_takes_a_window():
    with Node(msr="hwp") as node:
        before = node.sim.freq()
        made = post(node, WINDOW)
        assert made["granted_frequencies"]["4"]["max_ratio"] == 30
        fd = os.open(node.sim.path("/dev/cpu/4/msr"), os.O_RDONLY)
        request = int.from_bytes(os.pread(fd, 8, 0x774), "little")
        os.close(fd)
        assert request & 0xffff == (30 << 8 | 12)
        assert node.call("GET", "/v1/pstate/4")["interface"] == "msr, IA32_HWP_REQUEST"
        assert refusal_text(node, {"governor": "performance"}, ["6"]).startswith("Failed to validate workload. Reason: /pstate/governor")
        node.delete(made["id"])
        assert node.sim.freq() == before


def refusal_text(node, pstate, cores):
    with pytest.raises(Refused) as refused:
        post(node, pstate, cores)
    return refused.value.text


def test_without_driver_and_hwp_one_ratio_can_be_set():
    with Node(msr="perf") as node:
        before = node.sim.freq()
        assert "supports a single ratio only" in refusal(node, WINDOW).text
        made = post(node, {"max_ratio": 18})
        assert node.sim.freq()["4"]["msr"]["0x199"] >> 8 & 0xff == 18
        node.delete(made["id"])
        assert node.sim.freq() == before


def test_a_node_without_frequency_control_reports_it():
    with Node() as node:
        refused = refusal(node, WINDOW)
        assert refused.status == 422 and "load a driver" in refused.text
        assert node.call("GET", "/v1/pstate")["cpus"] == [] and len(node.call("GET", "/v1/pstate")["missing"]) == 1


# The world changes around it

NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"


def after_a_look(node, cpu=15):
    """Writes to CPU 15, which has no workload, and waits for the next observation."""
    wanted = 2_000_000 if node.call("GET", f"/v1/pstate/{cpu}")["set"]["max_khz"] != 2_000_000 else 2_100_000
    node.sim.write(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq", f"{wanted}\n")
    wait_for(lambda: node.call("GET", f"/v1/pstate/{cpu}")["set"]["max_khz"] == wanted, "a look")


def test_a_cpu_that_cannot_be_restored_blocks_no_other_request():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        other = node.create("8", 2, 2)["id"]
        node.sim.write(NO_TURBO, "1\n")
        after_a_look(node)
        assert node.list()[0]["status"] == "Failed" and node.health()["status"] == "degraded"
        node.delete(other)
        assert node.create("10", 2, 2)["status"] == "Successful"
        node.delete(id)
        assert "FREQUENCY_OWED" in node.journal() and node.list()[0]["status"] == "Successful"
        node.sim.write(NO_TURBO, "0\n")
        wait_for(lambda: window(node, 4) == DEFAULT, "what is owed")
        after_a_look(node)
        assert node.health()["status"] == "ok"


def test_a_restored_cpu_is_unmanaged_again():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        node.delete(post(node, WINDOW)["id"])
        node.sim.write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", "2000000\n")
        post(node, WINDOW, ["9"])
        node.terminate()
        node.start()
        after_a_look(node)
        assert window(node, 4)["max"] == 2_000_000 and node.health()["drift_repairs"] == 0


def test_a_cpu_offline_between_two_looks_is_put_back_when_it_returns():
    with Node("[drift]\ninterval_seconds = 3\n", cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("offline 5")
        node.delete(id)
        node.sim.control("online 5")
        assert window(node, 5) != DEFAULT
        wait_for(lambda: window(node, 5) == DEFAULT, "CPU 5 to get back what it had")


def test_a_neighbour_that_is_offline_still_belongs_to_the_domain():
    with Node(LOOKS, cpufreq="acpi-cpufreq", freq_domain="core") as node:
        before = node.sim.freq()
        node.sim.control("offline 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a look")
        assert "shares its frequency with CPU 5" in refusal_text(node, WINDOW, ["4"])
        id = post(node, {**WINDOW, "shared_domain": "allow"}, ["4"])["id"]
        node.sim.control("online 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 200, "a look")
        node.delete(id)
        assert node.sim.freq() == before


def test_an_offline_owner_still_sets_the_limits_of_its_domain():
    with Node(LOOKS, cpufreq="acpi-cpufreq", freq_domain="core", freq_base=3500) as node:
        before = node.sim.freq()
        allowed = {**WINDOW, "shared_domain": "allow"}
        first, second = post(node, allowed, ["4"])["id"], post(node, allowed, ["5"])["id"]
        node.sim.control("offline 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a look")
        status, text, _ = node.request("PATCH", f"/v1/workloads/{first}", {"pstate": {"max_ratio": 20, "shared_domain": "allow"}})
        assert status == 400 and "for which workload 2 requests a different frequency" in text
        node.delete(first)
        after_a_look(node)
        assert window(node, 4) == {"min": 1_200_000, "max": 3_000_000}
        node.delete(second)
        assert window(node, 4) == {"min": before["4"]["min"], "max": before["4"]["max"]}
        node.sim.control("online 5")
        after_a_look(node)
        assert window(node, 5) == {"min": before["5"]["min"], "max": before["5"]["max"]}


def test_unreadable_cpus_are_not_touched():
    with Node("[drift]\ninterval_seconds = 3600\n", start=False, cpufreq="intel_pstate") as node:
        node.sim.control("fault read /sys/devices/system/cpu/cpufreq/policy9/scaling_max_freq errno EIO")
        node.start()
        id = post(node, WINDOW)["id"]
        node.delete(id)
        assert window(node, 4) == DEFAULT


def test_a_workload_without_cache_leaves_classes_alone():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        node.delete(node.create("4", 2, 2)["id"])
        post(node, WINDOW, ["4"])
        node.sim.run_inside(["mkdir", "/sys/fs/resctrl/COS7"])
        node.sim.write("/sys/fs/resctrl/COS7/cpus_list", "4\n")
        after_a_look(node)
        after_a_look(node)
        assert node.plain()["COS7"][1] == "4" and node.health()["drift_repairs"] == 0


def test_a_patch_cannot_leave_an_empty_workload(intel):
    id = post(intel, WINDOW)["id"]
    status, text, _ = intel.request("PATCH", f"/v1/workloads/{id}", {"pstate": None})
    assert status == 400 and "would request no resources" in text


def test_turbo_true_takes_turbo_false_back(intel):
    made = intel.call("POST", "/v1/workloads", {**BOTH, "pstate": {"turbo": False}})
    assert window(intel, 4)["max"] == 2_200_000
    assert "pstate" not in intel.call("PATCH", f"/v1/workloads/{made['id']}", {"pstate": {"turbo": True}})
    assert window(intel, 4) == DEFAULT


def test_unrequested_settings_stay_unchanged():
    with Node(cpufreq="intel_pstate") as node:
        node.sim.write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", "2000000\n")
        post(node, {"epp": "power"}, ["4"])
        assert window(node, 4)["max"] == 2_000_000 and node.sim.freq()["4"]["epp"] == "power"


def test_errors_point_into_plugins_where_that_was_sent(intel):
    with pytest.raises(Refused) as refused:
        intel.call("POST", "/v1/workloads", {"core_ids": ["6"], "plugins": {"pstate": {"max_ratio": 99}}})
    assert "/plugins/pstate/max_ratio: CPU 6 does not support this frequency" in refused.value.text


def test_limits_between_two_ratios_are_reported_as_requestable_values():
    with Node(cpufreq="amd-pstate", freq_min=550, freq_max=3675) as node:
        assert "(allowed: 6 to 36)" in refusal(node, {"min_ratio": 5}).text
        assert window(node, 4) != DEFAULT
        post(node, {"min_ratio": 6, "max_ratio": 36})
        assert window(node, 4) == {"min": 600_000, "max": 3_600_000}


def test_monitoring_without_counters_is_refused_with_the_reason(intel):
    refused = refusal(intel, {"ratio": 3.0, "monitoring": "on"})
    assert refused.status == 422 and "/pstate/ratio: branch monitoring: the kernel's perf has no hardware counters" in refused.text
    made = post(intel, {"ratio": "3.0", "monitoring": "off"})
    assert made["pstate"] == {"ratio": 3, "monitoring": "off"} and window(intel, 4) == DEFAULT
    assert intel.call("GET", "/v1/pstate?view=rmd") == [{"core_id": cpu, "monitoring": "off", "ratio_threshold": 3} for cpu in (4, 5)]


def test_where_there_is_a_table_windows_are_rounded_down_to_its_entries():
    with Node(cpufreq="acpi-cpufreq", freq_step=700) as node:
        assert node.call("GET", "/v1/pstate/4")["steps_khz"] == [800_000, 1_500_000, 2_200_000, 3_500_000]
        made = post(node, {"min_ratio": 10, "max_ratio": 30})
        assert made["granted_frequencies"]["4"]["max_khz"] == 2_200_000
        assert window(node, 4) == {"min": 800_000, "max": 2_200_000}
        made = node.call("PATCH", f"/v1/workloads/{made['id']}", {"pstate": {"max_ratio": 21}})
        assert window(node, 4) == {"min": 1_500_000, "max": 1_500_000}
        node.delete(made["id"])
        assert window(node, 4) == DEFAULT


def test_without_a_driver_amd_takes_one_of_its_pstates():
    control = "0xc0010062"
    with Node(msr="amd") as node:
        told = node.call("GET", "/v1/pstate/4")
        assert told["interface"] == "msr, MSRC001_0062" and told["steps_khz"] == [800_000, 1_500_000, 2_200_000]
        assert "supports a single ratio only" in refusal_text(node, {"min_ratio": 10, "max_ratio": 20}, ["4-5"])
        made = post(node, {"max_ratio": 16})
        assert made["granted_frequencies"]["4"]["min_khz"] == 1_500_000
        assert node.sim.freq()["4"]["msr"][control] == 1
        # An independent program, through the register's file.
        read = "import os; print(os.pread(os.open('/dev/cpu/5/msr', os.O_RDONLY), 8, 0xc0010062)[0])"
        assert node.sim.run_inside(["/usr/bin/python3", "-c", read]).stdout == "1\n"
        node.kill9()
        node.start()
        assert node.sim.freq()["5"]["msr"][control] == 1
        node.delete(made["id"])
        assert node.sim.freq()["4"]["msr"][control] == 0


@pytest.mark.parametrize("msr", ["perf", "hwp", "amd"])
def test_without_a_driver_threads_of_a_core_are_one_domain(msr):
    with Node(msr=msr, threads=2) as node:
        assert "shares its frequency with CPU 5" in refusal_text(node, {"max_ratio": 15}, ["4"])
        made = post(node, {"max_ratio": 15, "shared_domain": "allow"}, ["4"])
        freq = node.sim.freq()
        assert freq["4"]["msr"] == freq["5"]["msr"] != freq["6"]["msr"]
        node.delete(made["id"])
        freq = node.sim.freq()
        assert freq["4"]["msr"] == freq["5"]["msr"] == freq["6"]["msr"]


def test_turbo_and_hwp_are_reported():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        assert node.call("GET", "/v1/pstate")["turbo"] is True and node.call("GET", "/v1/pstate/4")["hwp"] is True
        node.sim.write(NO_TURBO, "1\n")
        wait_for(lambda: node.call("GET", "/v1/pstate")["turbo"] is False, "a look")
    with Node(msr="perf") as node:
        assert node.call("GET", "/v1/pstate")["turbo"] is None and node.call("GET", "/v1/pstate/4")["hwp"] is False
    with Node(cpufreq="amd-pstate") as node:
        assert node.call("GET", "/v1/pstate/4")["hwp"] is None
        post(node, {"turbo": False})
        assert window(node, 4) == {"min": 800_000, "max": 2_200_000}


SCALING_MAX = "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_max_freq"


@pytest.mark.parametrize("config", [LOOKS, "[drift]\ninterval_seconds = 3600\n"], ids=["looks", "never"])
def test_after_a_failed_post_the_cpu_is_unmanaged(config):
    with Node(config, cpufreq="intel_pstate") as node:
        node.sim.control("reset")
        node.sim.control("fault write 1 errno EIO")
        with pytest.raises(Refused):
            post(node, WINDOW, ["4"])
        node.sim.write(SCALING_MAX % 4, "2000000\n")
        post(node, WINDOW, ["9"])
        assert window(node, 4)["max"] == 2_000_000
        node.kill9()
        node.start()
        assert window(node, 4)["max"] == 2_000_000
        node.delete(post(node, WINDOW, ["4"])["id"])
        assert window(node, 4)["max"] == 2_000_000


def test_a_cpu_that_is_offline_when_it_is_patched_does_not_count():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("offline 5")
        assert node.call("PATCH", f"/v1/workloads/{id}", {"pstate": {"max_ratio": 20}})["status"] == "Successful"
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a look")
        assert node.list()[0]["status"] == "Successful" and node.health()["status"] == "ok"


@pytest.mark.parametrize("shape, path", [
    ({"msr": "perf"}, "/dev/cpu/9/msr/0xce"),
    ({"cpufreq": "intel_pstate"}, "/sys/devices/system/cpu/cpufreq/policy9/cpuinfo_max_freq"),
    ({"cpufreq": "intel_pstate"}, "/sys/devices/system/cpu/cpufreq/policy9/scaling_max_freq"),
    ({"cpufreq": "amd-pstate-epp"}, "/sys/devices/system/cpu/cpufreq/policy9/energy_performance_preference")],
    ids=["register", "limit", "knob", "preference"])
def test_an_unreadable_cpu_does_not_block_the_others(shape, path):
    with Node("[drift]\ninterval_seconds = 3600\n", start=False, **shape) as node:
        node.sim.control(f"fault read {path} errno EINVAL")
        node.start()
        made = node.call("POST", "/v1/workloads", {"core_ids": ["4-5"], "cache": {"max": 2, "min": 2}, "pstate": {"max_ratio": 15}})
        assert made["status"] == "Successful"


def test_above_base_is_refused_while_turbo_is_off():
    with Node(LOOKS, cpufreq="intel_pstate") as node:
        node.sim.write(NO_TURBO, "1\n")
        wait_for(lambda: node.call("GET", "/v1/pstate")["turbo"] is False, "a look")
        assert "/pstate/max_ratio: CPU 4 does not support this frequency while turbo is off (allowed: 8 to 22)" in refusal(node, {"max_ratio": 30}).text


def test_the_turbo_of_a_table_can_be_asked_for_and_left_out():
    with Node(cpufreq="acpi-cpufreq", freq_base=2300, freq_max=2301) as node:
        assert node.call("GET", "/v1/pstate/4")["limits"]["base_khz"] == 2_300_000
        for pstate, fastest in (({"max_mhz": 2301}, 2_301_000), ({"max_ratio": 24}, 2_301_000), ({"max_mhz": 2300}, 2_300_000),
                                ({"turbo": False}, 2_300_000)):
            made = post(node, pstate, ["4"])
            assert window(node, 4)["max"] == fastest
            node.delete(made["id"])
