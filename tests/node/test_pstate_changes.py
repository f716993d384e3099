"""Frequencies that other programs change, and CPUs that come and go, while workloads hold theirs."""

import os

import pytest

from frequencies import DEFAULT, NO_TURBO, SCALING_MAX, WINDOW, post, window
from harness import DRIFT, Node, refusal, wait_for


def test_foreign_changes_are_reverted():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        post(node, WINDOW)
        node.sim.write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", "2000000\n")
        wait_for(lambda: node.health()["drift_repairs"] == 1, "the repair")
        assert window(node, 4)["max"] == 3_000_000
        # CPUs without a workload may be changed by other programs.
        node.sim.write("/sys/devices/system/cpu/cpu9/cpufreq/scaling_max_freq", "2000000\n")
        wait_for(lambda: node.call("GET", "/v1/pstate/9")["set"]["max_khz"] == 2_000_000, "a check")
        assert window(node, 9)["max"] == 2_000_000 and node.health()["drift_repairs"] == 1


OF_CPU_4 = "/sys/devices/system/cpu/cpu4/cpufreq"


def others_write(node, low, high):
    """As tuned and cpupower do."""
    node.sim.write(f"{OF_CPU_4}/scaling_min_freq", f"{low}\n")
    node.sim.write(f"{OF_CPU_4}/scaling_max_freq", f"{high}\n")


def stored_of_others(node):
    """What is to be given back instead of the baseline."""
    return node.rows("SELECT CAST(key AS INTEGER), document ->> 'min_khz', document ->> 'max_khz', document ->> 'governor'"
                     " FROM baseline WHERE kind = 'external_frequency'")


def test_foreign_limits_are_reverted_and_restored_at_the_end():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
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


@pytest.mark.parametrize("moment", ["kill-before", "kill-after"])
def test_foreign_limits_are_known_after_a_kill_during_the_repair(moment):
    with Node(DRIFT, cpufreq="intel_pstate") as node:
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


@pytest.mark.parametrize("end", ["terminate", "kill9"])
def test_a_driver_that_replaces_another_one_while_nrd_is_down_gets_its_own_setting_back(end):
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        getattr(node, end)()
        node.sim.write("/sys/devices/system/cpu/intel_pstate/status", "passive\n")
        before = node.sim.freq()["4"]
        node.start()
        assert window(node, 4) == {"min": 1_200_000, "max": 3_000_000} and node.sim.freq()["4"]["governor"] == "schedutil"
        assert node.list()[0]["status"] == "Successful" and node.health()["status"] == "ok"
        node.delete(id)
        assert node.sim.freq()["4"] == before and node.stored() == {}


@pytest.mark.parametrize("pstate", [WINDOW, {"governor": "performance"}], ids=["window", "governor"])
def test_a_driver_that_replaces_another_one_just_before_a_request_gets_its_own_setting_back(pstate):
    with Node("[drift]\ninterval_seconds = 3600\n", cpufreq="intel_pstate") as node:
        node.sim.write("/sys/devices/system/cpu/intel_pstate/status", "passive\n")
        before = node.sim.freq()
        id = post(node, pstate)["id"]
        node.kill9_and_start()
        assert node.list()[0]["status"] == "Successful"
        node.delete(id)
        assert node.sim.freq() == before


def test_a_governor_alone_shows_the_window_of_the_driver_that_replaced_another_one():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        for cpu in 4, 5:
            node.sim.write(SCALING_MAX % cpu, "2000000\n")
        made = post(node, {"governor": "performance"})
        assert made["granted_frequencies"]["4"]["max_khz"] == 2_000_000
        node.sim.write("/sys/devices/system/cpu/intel_pstate/status", "passive\n")

        def granted():
            return node.list()[0]["granted_frequencies"]["4"]

        wait_for(lambda: granted()["max_khz"] == DEFAULT["max"], "a check that finds the other driver")
        wait_for(lambda: node.sim.freq()["4"]["governor"] == "performance" and node.list()[0]["status"] == "Successful", "the governor")
        assert granted()["min_khz"] == DEFAULT["min"] and window(node, 4) == DEFAULT


@pytest.mark.parametrize("offline", ["gone", "busy"])
def test_cpus_that_go_and_come_back(offline):
    with Node(DRIFT, cpufreq="intel_pstate", cpufreq_offline=offline, min_over_max="clamp") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("offline 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a check")
        assert node.list()[0]["status"] == "Successful"
        node.delete(id)
        assert window(node, 4) == DEFAULT
        node.sim.control("online 5")
        wait_for(lambda: window(node, 5) == DEFAULT, "what was left on CPU 5 to be put back")


# The world changes around it

def after_a_check(node):
    """Writes to CPU 15, which has no workload, and waits for the next observation."""
    wanted = 2_000_000 if node.call("GET", "/v1/pstate/15")["set"]["max_khz"] != 2_000_000 else 2_100_000
    node.sim.write("/sys/devices/system/cpu/cpu15/cpufreq/scaling_max_freq", f"{wanted}\n")
    wait_for(lambda: node.call("GET", "/v1/pstate/15")["set"]["max_khz"] == wanted, "a check")


def test_a_governor_alone_does_not_depend_on_turbo():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        id = post(node, {"governor": "performance"})["id"]
        node.sim.write(NO_TURBO, "1\n")
        for governor in "powersave", "performance":
            patched = node.call("PATCH", f"/v1/workloads/{id}", {"pstate": {"governor": governor}})
            assert patched["status"] == "Successful" and node.sim.freq()["4"]["governor"] == governor
        after_a_check(node)
        assert node.list()[0]["status"] == "Successful" and node.health()["status"] == "ok"
        node.sim.write(NO_TURBO, "0\n")
        after_a_check(node)
        assert window(node, 4) == DEFAULT and node.list()[0]["status"] == "Successful"
        assert node.health()["drift_repairs"] == 0
        node.delete(id)
        assert window(node, 4) == DEFAULT


@pytest.mark.parametrize("request_of", [WINDOW | {"max_ratio": 20}, {"governor": "performance"}, {"turbo": False}],
                         ids=["window", "governor", "no turbo"])
@pytest.mark.parametrize("end", ["after", "while", "killed"])
def test_turbo_that_is_off_at_the_first_write_is_no_maximum_to_restore(request_of, end):
    with Node("[drift]\ninterval_seconds = 3600\n" if end == "while" else DRIFT, cpufreq="intel_pstate") as node:
        node.sim.write(NO_TURBO, "1\n")
        id = post(node, request_of)["id"]
        if end == "killed":
            node.kill9()
        if end != "while":
            node.sim.write(NO_TURBO, "0\n")
        if end == "killed":
            node.start()
        if end != "while":
            after_a_check(node)
            assert node.list()[0]["status"] == "Successful" and node.health()["status"] == "ok"
        if "governor" in request_of and end != "while":
            assert window(node, 4) == DEFAULT and node.health()["drift_repairs"] == 0
        node.delete(id)
        node.sim.write(NO_TURBO, "0\n")
        assert window(node, 4) == DEFAULT and "FREQUENCY_NOT_RESTORED" not in node.journal()


def test_a_maximum_that_others_write_while_turbo_is_off_is_restored_above_base():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        node.sim.write(SCALING_MAX % 4, "2000000\n")
        node.sim.write(NO_TURBO, "1\n")
        id = post(node, {"min_ratio": 10, "max_ratio": 15}, ["4"])["id"]
        node.sim.write(SCALING_MAX % 4, "3500000\n")
        wait_for(lambda: node.health()["drift_repairs"] == 1, "the repair")
        node.sim.write(NO_TURBO, "0\n")
        node.delete(id)
        assert window(node, 4) == DEFAULT


def test_a_cpu_that_cannot_be_restored_blocks_no_other_request():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        other = node.create("8", 2, 2)["id"]
        node.sim.write(NO_TURBO, "1\n")
        after_a_check(node)
        assert node.list()[0]["status"] == "Failed" and node.health()["status"] == "degraded"
        node.delete(other)
        assert node.create("10", 2, 2)["status"] == "Successful"
        node.sim.control("reset")
        node.sim.control("fault write 1 errno EIO")
        node.delete(id)
        assert "FREQUENCY_NOT_RESTORED" in node.journal() and node.list()[0]["status"] == "Successful"
        node.sim.write(NO_TURBO, "0\n")
        wait_for(lambda: window(node, 4) == DEFAULT, "what is owed")
        after_a_check(node)
        ends = [line for line in node.journal().splitlines() if "FREQUENCY_RESTORED" in line]
        assert len(ends) == 1 and ends[0].startswith("nrd notice") and "CPU=4" in ends[0]
        assert node.health()["status"] == "ok"


def test_a_restored_cpu_is_unmanaged_again():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        node.delete(post(node, WINDOW)["id"])
        node.sim.write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", "2000000\n")
        post(node, WINDOW, ["9"])
        node.terminate()
        node.start()
        after_a_check(node)
        assert window(node, 4)["max"] == 2_000_000 and node.health()["drift_repairs"] == 0


def test_a_cpu_offline_between_two_checks_is_put_back_when_it_returns():
    with Node("[drift]\ninterval_seconds = 3\n", cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("offline 5")
        node.delete(id)
        node.sim.control("online 5")
        assert window(node, 5) != DEFAULT
        wait_for(lambda: window(node, 5) == DEFAULT, "CPU 5 to get back what it had")


def test_a_neighbour_that_is_offline_still_belongs_to_the_domain():
    with Node(DRIFT, cpufreq="acpi-cpufreq", freq_domain="core") as node:
        before = node.sim.freq()
        node.sim.control("offline 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a check")
        assert "shares its frequency with CPU 5" in refusal(post, node, WINDOW, ["4"]).text
        id = post(node, {**WINDOW, "shared_domain": "allow"}, ["4"])["id"]
        node.sim.control("online 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 200, "a check")
        node.delete(id)
        assert node.sim.freq() == before


def test_an_offline_owner_still_sets_the_limits_of_its_domain():
    with Node(DRIFT, cpufreq="acpi-cpufreq", freq_domain="core", freq_base=3500) as node:
        before = node.sim.freq()
        allowed = {**WINDOW, "shared_domain": "allow"}
        first, second = post(node, allowed, ["4"])["id"], post(node, allowed, ["5"])["id"]
        node.sim.control("offline 5")
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a check")
        status, text, _ = node.request("PATCH", f"/v1/workloads/{first}", {"pstate": {"max_ratio": 20, "shared_domain": "allow"}})
        assert status == 400 and "for which workload 2 requests a different frequency" in text
        node.delete(first)
        after_a_check(node)
        assert window(node, 4) == {"min": 1_200_000, "max": 3_000_000}
        node.delete(second)
        assert window(node, 4) == {"min": before["4"]["min"], "max": before["4"]["max"]}
        node.sim.control("online 5")
        after_a_check(node)
        assert window(node, 5) == {"min": before["5"]["min"], "max": before["5"]["max"]}


def test_unreadable_cpus_are_not_touched():
    with Node("[drift]\ninterval_seconds = 3600\n", start=False, cpufreq="intel_pstate") as node:
        node.sim.control("fault read /sys/devices/system/cpu/cpufreq/policy9/scaling_max_freq errno EIO")
        node.start()
        id = post(node, WINDOW)["id"]
        node.delete(id)
        assert window(node, 4) == DEFAULT


def test_a_workload_without_cache_leaves_classes_alone():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        node.delete(node.create("4", 2, 2)["id"])
        post(node, WINDOW, ["4"])
        node.sim.run_inside(["mkdir", "/sys/fs/resctrl/COS7"])
        node.sim.write("/sys/fs/resctrl/COS7/cpus_list", "4\n")
        after_a_check(node)
        after_a_check(node)
        assert node.plain()["COS7"][1] == "4" and node.health()["drift_repairs"] == 0


@pytest.mark.parametrize("config", [DRIFT, "[drift]\ninterval_seconds = 3600\n"], ids=["looks", "never"])
def test_after_a_failed_post_the_cpu_is_unmanaged(config):
    with Node(config, cpufreq="intel_pstate") as node:
        node.sim.control("reset")
        node.sim.control("fault write 1 errno EIO")
        assert refusal(post, node, WINDOW, ["4"])
        node.sim.write(SCALING_MAX % 4, "2000000\n")
        post(node, WINDOW, ["9"])
        assert window(node, 4)["max"] == 2_000_000
        node.kill9_and_start()
        assert window(node, 4)["max"] == 2_000_000
        node.delete(post(node, WINDOW, ["4"])["id"])
        assert window(node, 4)["max"] == 2_000_000


def test_a_cpu_that_is_offline_when_it_is_patched_does_not_count():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        id = post(node, WINDOW)["id"]
        node.sim.control("offline 5")
        assert node.call("PATCH", f"/v1/workloads/{id}", {"pstate": {"max_ratio": 20}})["status"] == "Successful"
        wait_for(lambda: node.request("GET", "/v1/pstate/5")[0] == 404, "a check")
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


def test_windows_of_a_replaced_driver_do_not_block_other_ratios():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        ids = [post(node, pstate, [cpu])["id"] for cpu, pstate in
               [("2", WINDOW), ("4", {"min_ratio": 20, "max_ratio": 20}), ("6", {"min_ratio": 20, "max_ratio": 20, "governor": "performance"})]]
        node.kill9()
        node.sim.stop()
        node.power_on(msr="perf")
        node.start()
        assert [each["status"] for each in node.list()] == ["Failed", "Successful", "Failed"]
        assert node.sim.freq()["4"]["msr"]["0x199"] >> 8 == 20
        assert "the frequency of CPU 2 of workload 1 cannot be set (CPU 2 supports a single frequency only" in node.health()["hardware_problem"]
        for id in ids:
            node.delete(id)
        assert node.health()["status"] == "ok"


EPP, BASE = (f"/sys/devices/system/cpu/cpufreq/policy9/{file}" for file in ("energy_performance_preference", "base_frequency"))


def test_a_cpu_without_a_workload_shows_the_preference_of_its_driver():
    with Node(DRIFT, start=False, cpufreq="intel_pstate") as node:
        node.sim.write(os.path.join(os.path.dirname(EPP), "scaling_governor"), "performance\n")
        node.start()
        assert node.call("GET", "/v1/pstate/9")["set"]["epp"] == node.sim.read(EPP).strip() == "performance"
        node.sim.write("/sys/devices/system/cpu/intel_pstate/status", "passive\n")
        wait_for(lambda: node.call("GET", "/v1/pstate/9")["driver"] == "intel_cpufreq", "the other driver")
        assert node.call("GET", "/v1/pstate/9")["set"]["epp"] == node.sim.read(EPP).strip() != "performance"


@pytest.mark.parametrize("shape, places", [
    ({"cpufreq": "intel_pstate"}, [(EPP, EPP, 0), (BASE, BASE, 0)]),
    ({"msr": "perf"}, [(f"/dev/cpu/9/msr/{register:#x}", "/dev/cpu/9/msr", register) for register in (0xCE, 0x199)])],
    ids=["driver", "registers"])
def test_a_cpu_without_a_workload_is_not_interrupted(shape, places):
    """To read these files the kernel interrupts the CPU. A fault that waits for a read is still there at the end."""
    with Node(DRIFT, **shape) as node:
        for fault, _, _ in places:
            node.sim.control(f"fault read {fault} errno EIO")
        made = node.call("POST", "/v1/workloads", {"core_ids": ["4"], "cache": {"max": 2, "min": 2}, "pstate": {"max_ratio": 15}})
        for repaired in (1, 2):
            node.sim.write("/sys/fs/resctrl/COS2/schemata", "L3:0=7ff\n")
            wait_for(lambda: node.health()["drift_repairs"] == repaired, "a check")
        for path in ("node", "pstate", "pstate/9", "workloads", "cache", "health"):
            node.call("GET", f"/v1/{path}")
        node.request("GET", "/metrics")
        node.call("PATCH", f"/v1/workloads/{made['id']}", {"pstate": {"max_ratio": 16}})
        node.delete(made["id"])
        for _, path, offset in places:
            with pytest.raises(OSError), open(node.sim.path(path), "rb", buffering=0) as file:
                os.pread(file.fileno(), 8, offset)
