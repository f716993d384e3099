"""Frequencies of CPUs: the real daemon on a simulated cpufreq and simulated registers, read back by others."""

import os

import pytest

from frequencies import BOTH, DEFAULT, MAX_PERCENT, NO_TURBO, WINDOW, post, refused_window, window
from harness import DRIFT, Node, refusal, wait_for
from nrdctl import run_nrdctl


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
    refused = refused_window(intel, pstate)
    assert refused.status == status and says in refused.text, refused


def test_a_workload_that_asks_nothing_is_refused(intel):
    assert "No RDT/Plugins params in workload" in refused_window(intel, {}).text


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
        assert refusal(intel.call, "GET", path).status == 404


def test_nrdctl_creates_and_shows_it(intel):
    def run(*words):
        return run_nrdctl("--url", f"http://127.0.0.1:{intel.port}", *words)
    made = run("workload", "create", "--cpus", "4-5", "--min-ratio", "12", "--max-ratio", "30")
    assert made.returncode == 0, made
    id = intel.list()[0]["id"]
    assert "12-30" in made.stdout and "12-30" in run("workload", "list").stdout and "12-30" in run("workload", "show", id).stdout
    assert "none, CPUs 4-5, ratio 12-30" in run("ways").stdout
    asked_nothing = run("workload", "create", "--cpus", "6")
    assert asked_nothing.returncode == 2 and "no resources given; use --ways" in asked_nothing.stderr
    # There are no counters of branches here, so the daemon's refusal shows what was asked.
    adaptive = run("workload", "create", "--cpus", "6", "--adaptive", "3.5")
    assert adaptive.returncode == 1 and "--adaptive: branch monitoring" in adaptive.stderr
    assert run("workload", "create", "--cpus", "6", "--adaptive", "-1").returncode == 2


# Domains

def test_cpus_that_share_a_frequency_with_others_need_confirmation():
    with Node(cpufreq="acpi-cpufreq", freq_domain="core", freq_base=3500) as node:
        refused = refused_window(node, WINDOW, ["4"])
        assert refused.status == 400
        assert "CPU 4 shares its frequency with CPU 5" in refused.text and "core_ids with all of 4-5" in refused.text
        before = node.sim.freq()
        made = post(node, {**WINDOW, "shared_domain": "allow"}, ["4"])
        assert window(node, 5) == {"min": 1_200_000, "max": 3_000_000}
        # Another workload in the same domain: the same window or none.
        other = refusal(post, node, {"max_ratio": 20, "shared_domain": "allow"}, ["5"])
        assert "for which workload 1 requests a different frequency" in other.text
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
        refused = refusal(post, node, {"governor": "performance"}, ["6"])
        assert refused.text.startswith("Failed to validate workload. Reason: /pstate/governor")
        node.delete(made["id"])
        assert node.sim.freq() == before


def test_without_driver_and_hwp_one_ratio_can_be_set():
    with Node(msr="perf") as node:
        before = node.sim.freq()
        assert "supports a single ratio only" in refused_window(node, WINDOW).text
        made = post(node, {"max_ratio": 18})
        assert node.sim.freq()["4"]["msr"]["0x199"] >> 8 & 0xff == 18
        node.delete(made["id"])
        assert node.sim.freq() == before


def test_a_node_without_frequency_control_reports_it():
    with Node() as node:
        refused = refused_window(node, WINDOW)
        assert refused.status == 422 and "load a driver" in refused.text
        assert node.call("GET", "/v1/pstate")["cpus"] == [] and len(node.call("GET", "/v1/pstate")["missing"]) == 1


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
    refused = refusal(intel.call, "POST", "/v1/workloads", {"core_ids": ["6"], "plugins": {"pstate": {"max_ratio": 99}}})
    assert "/plugins/pstate/max_ratio: CPU 6 does not support this frequency" in refused.text


def test_limits_between_two_ratios_are_reported_as_requestable_values():
    with Node(cpufreq="amd-pstate", freq_min=550, freq_max=3675) as node:
        assert "(allowed: 6 to 36)" in refused_window(node, {"min_ratio": 5}).text
        assert window(node, 4) != DEFAULT
        post(node, {"min_ratio": 6, "max_ratio": 36})
        assert window(node, 4) == {"min": 600_000, "max": 3_600_000}


def test_monitoring_without_counters_is_refused_with_the_reason(intel):
    refused = refused_window(intel, {"ratio": 3.0, "monitoring": "on"})
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
        assert "supports a single ratio only" in refusal(post, node, {"min_ratio": 10, "max_ratio": 20}, ["4-5"]).text
        made = post(node, {"max_ratio": 16})
        assert made["granted_frequencies"]["4"]["min_khz"] == 1_500_000
        assert node.sim.freq()["4"]["msr"][control] == 1
        # An independent program, through the register's file.
        read = "import os; print(os.pread(os.open('/dev/cpu/5/msr', os.O_RDONLY), 8, 0xc0010062)[0])"
        assert node.sim.run_inside(["/usr/bin/python3", "-c", read]).stdout == "1\n"
        node.kill9_and_start()
        assert node.sim.freq()["5"]["msr"][control] == 1
        node.delete(made["id"])
        assert node.sim.freq()["4"]["msr"][control] == 0


@pytest.mark.parametrize("msr", ["perf", "hwp", "amd"])
def test_without_a_driver_threads_of_a_core_are_one_domain(msr):
    with Node(msr=msr, threads=2) as node:
        assert "shares its frequency with CPU 5" in refusal(post, node, {"max_ratio": 15}, ["4"]).text
        made = post(node, {"max_ratio": 15, "shared_domain": "allow"}, ["4"])
        freq = node.sim.freq()
        assert freq["4"]["msr"] == freq["5"]["msr"] != freq["6"]["msr"]
        node.delete(made["id"])
        freq = node.sim.freq()
        assert freq["4"]["msr"] == freq["5"]["msr"] == freq["6"]["msr"]


def test_turbo_and_hwp_are_reported():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        assert node.call("GET", "/v1/pstate")["turbo"] is True and node.call("GET", "/v1/pstate/4")["hwp"] is True
        node.sim.write(NO_TURBO, "1\n")
        wait_for(lambda: node.call("GET", "/v1/pstate")["turbo"] is False, "a check")
    with Node(msr="perf") as node:
        assert node.call("GET", "/v1/pstate")["turbo"] is None and node.call("GET", "/v1/pstate/4")["hwp"] is False
    with Node(cpufreq="amd-pstate") as node:
        assert node.call("GET", "/v1/pstate/4")["hwp"] is None
        post(node, {"turbo": False})
        assert window(node, 4) == {"min": 800_000, "max": 2_200_000}


def test_above_base_is_refused_while_turbo_is_off():
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        node.sim.write(NO_TURBO, "1\n")
        wait_for(lambda: node.call("GET", "/v1/pstate")["turbo"] is False, "a check")
        refused = refused_window(node, {"max_ratio": 30})
        assert "/pstate/max_ratio: CPU 4 does not support this frequency while turbo is off (allowed: 8 to 22)" in refused.text


def test_the_limit_of_intel_pstate_for_all_cpus_counts():
    """scaling_max_freq does not show it."""
    with Node(DRIFT, cpufreq="intel_pstate") as node:
        post(node, {"max_ratio": 21}, ["2"])
        limited = post(node, {"min_ratio": 12, "max_ratio": 30})
        any_window = post(node, {"governor": "performance"}, ["8"])
        node.sim.write(MAX_PERCENT, "60\n")
        wait_for(lambda: node.call("GET", "/v1/pstate")["max_perf_pct"] == 60, "a check")
        assert [each["id"] for each in node.list() if each["status"] == "Failed"] == [limited["id"]]
        assert "CPU 4 of workload 2 cannot reach its maximum" in node.health()["hardware_problem"]
        refused = refusal(post, node, {"max_ratio": 22}, ["10"])
        assert "does not support this frequency while max_perf_pct of intel_pstate is 60 (allowed: 8 to 21)" in refused.text
        post(node, {"max_ratio": 21}, ["10"])
        node.sim.write(MAX_PERCENT, "100\n")
        wait_for(lambda: node.health()["status"] == "ok", "the end of the limit")
        assert any_window["id"] in {each["id"] for each in node.list() if each["status"] == "Successful"}
        assert node.call("GET", "/v1/pstate")["max_perf_pct"] is None


def test_the_turbo_of_a_table_can_be_asked_for_and_left_out():
    with Node(cpufreq="acpi-cpufreq", freq_base=2300, freq_max=2301) as node:
        assert node.call("GET", "/v1/pstate/4")["limits"]["base_khz"] == 2_300_000
        for pstate, fastest in (({"max_mhz": 2301}, 2_301_000), ({"max_ratio": 24}, 2_301_000), ({"max_mhz": 2300}, 2_300_000),
                                ({"turbo": False}, 2_300_000)):
            made = post(node, pstate, ["4"])
            assert window(node, 4)["max"] == fastest
            node.delete(made["id"])
