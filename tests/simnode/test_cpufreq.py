"""cpufreq: which files each driver has, what may be written to them, and who else sees it."""

import errno
import os
import signal

import pytest

from resctrl import refused
from simnode import SimNodeError

CPU = "/sys/devices/system/cpu"
ACTIVE = ["intel_pstate", "amd-pstate-epp"]
PASSIVE = ["intel_cpufreq", "acpi-cpufreq", "amd-pstate"]
EVERYWHERE = {
    "affected_cpus", "cpuinfo_max_freq", "cpuinfo_min_freq", "related_cpus", "scaling_available_governors",
    "scaling_cur_freq", "scaling_driver", "scaling_governor", "scaling_max_freq", "scaling_min_freq", "scaling_setspeed",
}
EPP = {"energy_performance_available_preferences", "energy_performance_preference"}
ACPI = {"bios_limit", "freqdomain_cpus", "scaling_available_frequencies"}


def file(name, cpu=0):
    return f"{CPU}/cpu{cpu}/cpufreq/{name}"


def read(node, name, cpu=0):
    return node.read(file(name, cpu)).rstrip("\n")


def write(node, name, value, cpu=0):
    node.write(file(name, cpu), f"{value}\n")


def limits(node, cpu=0):
    return int(read(node, "scaling_min_freq", cpu)), int(read(node, "scaling_max_freq", cpu))


def test_without_the_option_there_is_no_cpufreq(node):
    assert not {"cpufreq", "intel_pstate"} & set(os.listdir(node.path(CPU)))
    assert not os.path.lexists(node.path(f"{CPU}/cpu0/cpufreq"))
    assert node.freq()["0"] == {}


@pytest.mark.parametrize(
    "driver, own",
    [("intel_pstate", EPP | {"base_frequency"}), ("intel_cpufreq", EPP | {"base_frequency"}), ("acpi-cpufreq", ACPI),
     ("amd-pstate", set()), ("amd-pstate-epp", EPP)],
)
def test_each_driver_has_its_files(start, driver, own):
    node = start(cpufreq=driver)
    assert set(os.listdir(node.path(f"{CPU}/cpu15/cpufreq"))) == EVERYWHERE | own
    assert read(node, "scaling_driver") == driver
    for name in EVERYWHERE | own:
        assert node.read(file(name)).endswith("\n")


def test_the_folder_of_a_cpu_is_a_link_to_its_policy(start):
    node = start(cpufreq="intel_pstate")
    assert os.readlink(node.path(f"{CPU}/cpu3/cpufreq")) == "../cpufreq/policy3"
    assert sorted(os.listdir(node.path(f"{CPU}/cpufreq"))) == sorted(f"policy{cpu}" for cpu in range(16))
    assert "cpufreq" in os.listdir(node.path(f"{CPU}/cpu3"))


def test_the_frequencies_are_those_of_the_options(start):
    node = start(cpufreq="intel_pstate", freq_min=1000, freq_base=2500, freq_max=4000)
    assert read(node, "cpuinfo_min_freq") == "1000000"
    assert read(node, "base_frequency") == "2500000"
    assert read(node, "cpuinfo_max_freq") == "4000000"
    assert limits(node) == (1000000, 4000000)


def test_acpi_lists_its_frequencies(start):
    node = start(cpufreq="acpi-cpufreq", freq_min=2000)
    assert read(node, "scaling_available_frequencies").split() == ["3500000", "2200000", "2100000", "2000000"]
    assert read(node, "bios_limit") == "3500000"


def test_a_write_affects_its_own_cpu_only(start):
    node = start(cpufreq="intel_pstate")
    write(node, "scaling_min_freq", 1234567, cpu=3)
    write(node, "scaling_max_freq", 2345678, cpu=3)
    assert limits(node, 3) == (1234567, 2345678)
    assert limits(node, 4) == (800000, 3500000)
    assert node.freq()["3"] == {"min": 1234567, "max": 2345678, "governor": "powersave", "epp": "balance_performance"}


def test_unsupported_frequencies_are_clamped(start):
    node = start(cpufreq="intel_pstate")
    write(node, "scaling_max_freq", 99999999)
    write(node, "scaling_min_freq", 1)
    assert limits(node) == (800000, 3500000)
    write(node, "scaling_min_freq", 99999999)
    assert limits(node) == (3500000, 3500000)


@pytest.mark.parametrize("name, value", [("scaling_min_freq", 2500000), ("scaling_max_freq", 1500000)])
def test_a_minimum_above_the_maximum_is_refused(start, name, value):
    node = start(cpufreq="intel_pstate")
    write(node, "scaling_min_freq", 2000000)
    write(node, "scaling_max_freq", 2000000)
    assert refused(node.write, file(name), f"{value}\n") == errno.EINVAL
    assert limits(node) == (2000000, 2000000)


@pytest.mark.parametrize("name", ["scaling_min_freq", "scaling_max_freq"])
@pytest.mark.parametrize("text", ["fast\n", "-1\n", "\n", "1000000 kHz\n", "1e6\n"])
def test_values_that_are_no_numbers_are_refused(start, name, text):
    node = start(cpufreq="intel_pstate")
    assert refused(node.write, file(name), text) == errno.EINVAL
    assert limits(node) == (800000, 3500000)


@pytest.mark.parametrize("driver", ACTIVE)
def test_an_active_driver_has_two_governors(start, driver):
    node = start(cpufreq=driver)
    assert read(node, "scaling_available_governors").split() == ["performance", "powersave"]
    assert read(node, "scaling_governor") == "powersave"


@pytest.mark.parametrize("driver", PASSIVE)
def test_a_passive_driver_has_all_governors(start, driver):
    node = start(cpufreq=driver)
    governors = read(node, "scaling_available_governors").split()
    assert sorted(governors) == ["conservative", "ondemand", "performance", "powersave", "schedutil", "userspace"]
    assert read(node, "scaling_governor") == "schedutil"
    for governor in governors:
        write(node, "scaling_governor", governor)
        assert read(node, "scaling_governor") == governor


@pytest.mark.parametrize("driver", ACTIVE + PASSIVE)
def test_an_unknown_governor_is_refused(start, driver):
    node = start(cpufreq=driver)
    before = read(node, "scaling_governor")
    assert refused(node.write, file("scaling_governor"), "turbo\n") == errno.EINVAL
    assert read(node, "scaling_governor") == before


def test_current_follows_governor_and_limits(start):
    node = start(cpufreq="intel_pstate")
    assert read(node, "scaling_cur_freq") == "800000"
    write(node, "scaling_governor", "performance")
    write(node, "scaling_max_freq", 3000000)
    assert read(node, "scaling_cur_freq") == "3000000"


def test_setspeed_is_of_the_governor_userspace(start):
    node = start(cpufreq="acpi-cpufreq")
    assert read(node, "scaling_setspeed") == "<unsupported>"
    assert refused(node.write, file("scaling_setspeed"), "2000000\n") == errno.EINVAL
    write(node, "scaling_governor", "userspace")
    write(node, "scaling_setspeed", 2000000)
    assert (read(node, "scaling_setspeed"), read(node, "scaling_cur_freq")) == ("2000000", "2000000")


@pytest.mark.parametrize("driver", ACTIVE)
def test_epp_accepts_available_preferences_only(start, driver):
    node = start(cpufreq=driver)
    assert read(node, "energy_performance_preference") == "balance_performance"
    available = read(node, "energy_performance_available_preferences").split()
    assert available == ["default", "performance", "balance_performance", "balance_power", "power"]
    for epp in available[1:]:
        write(node, "energy_performance_preference", epp)
        assert read(node, "energy_performance_preference") == epp
    write(node, "energy_performance_preference", "default")
    assert read(node, "energy_performance_preference") == "balance_performance"
    assert refused(node.write, file("energy_performance_preference"), "eco\n") == errno.EINVAL


@pytest.mark.parametrize("driver", ACTIVE)
def test_the_governor_performance_decides_epp_while_it_lasts(start, driver):
    node = start(cpufreq=driver)
    write(node, "energy_performance_preference", "power")
    write(node, "scaling_governor", "performance")
    assert read(node, "energy_performance_preference") == "performance"
    assert refused(node.write, file("energy_performance_preference"), "balance_power\n") == errno.EBUSY
    write(node, "energy_performance_preference", "performance")
    write(node, "scaling_governor", "powersave")
    assert read(node, "energy_performance_preference") == "power"


def test_a_passive_driver_leaves_epp_alone(start):
    node = start(cpufreq="intel_cpufreq")
    write(node, "scaling_governor", "performance")
    write(node, "energy_performance_preference", "power")
    assert read(node, "energy_performance_preference") == "power"


@pytest.mark.parametrize("domain, together", [("cpu", "5"), ("core", "4 5"), ("socket", "4 5 6 7")])
def test_cpus_of_a_domain_are_set_together(start, domain, together):
    node = start(cpus=8, cpufreq="acpi-cpufreq", freq_domain=domain)
    for name in ("related_cpus", "affected_cpus", "freqdomain_cpus"):
        assert read(node, name, 5) == together
    write(node, "scaling_max_freq", 2000000, cpu=5)
    changed = [cpu for cpu in range(8) if limits(node, cpu)[1] == 2000000]
    assert changed == [int(cpu) for cpu in together.split()]


def test_an_offline_cpu_leaves_affected_cpus_but_not_related_cpus(start):
    node = start(cpus=4, sockets=1, cpufreq="acpi-cpufreq", freq_domain="socket")
    node.control("offline 2")
    assert read(node, "affected_cpus") == "0 1 3"
    assert read(node, "related_cpus") == "0 1 2 3"
    assert not os.path.lexists(node.path(f"{CPU}/cpu2/cpufreq"))


def test_a_returning_cpu_keeps_its_settings(start):
    node = start(cpufreq="intel_pstate")
    write(node, "scaling_max_freq", 2000000, cpu=3)
    write(node, "energy_performance_preference", "power", cpu=3)
    node.control("offline 3")
    assert not os.path.lexists(node.path(f"{CPU}/cpu3/cpufreq"))
    assert not os.path.lexists(node.path(f"{CPU}/cpufreq/policy3"))
    assert "3" not in node.freq()
    node.control("online 3")
    assert limits(node, 3) == (800000, 2000000)
    assert read(node, "energy_performance_preference", 3) == "power"


def test_the_policy_of_an_offline_cpu_can_stay_and_be_busy(start):
    node = start(cpufreq="intel_pstate", cpufreq_offline="busy")
    node.control("offline 3")
    with pytest.raises(OSError) as failure:
        read(node, "scaling_max_freq", 3)
    assert failure.value.errno == errno.EBUSY
    assert refused(node.write, file("scaling_max_freq", 3), "2000000\n") == errno.EBUSY
    node.control("online 3")
    assert limits(node, 3) == (800000, 3500000)


def test_turbo_off_lowers_the_maximum_while_it_is_off(start):
    node = start(cpufreq="intel_pstate")
    node.write(f"{CPU}/intel_pstate/no_turbo", "1\n")
    assert limits(node) == (800000, 2200000)
    assert read(node, "cpuinfo_max_freq") == "3500000"
    node.write(f"{CPU}/intel_pstate/no_turbo", "0\n")
    assert limits(node) == (800000, 3500000)
    assert refused(node.write, f"{CPU}/intel_pstate/no_turbo", "off\n") == errno.EINVAL


def test_boost_off_lowers_the_maximum_while_it_is_off(start):
    node = start(cpufreq="acpi-cpufreq")
    assert node.read(f"{CPU}/cpufreq/boost") == "1\n"
    node.write(f"{CPU}/cpufreq/boost", "0\n")
    assert limits(node) == (800000, 2200000)
    node.write(f"{CPU}/cpufreq/boost", "1\n")
    assert limits(node) == (800000, 3500000)
    assert refused(node.write, f"{CPU}/cpufreq/boost", "2\n") == errno.EINVAL


@pytest.mark.parametrize("driver, has", [("intel_pstate", True), ("intel_cpufreq", True), ("acpi-cpufreq", False)])
def test_intel_has_a_folder_of_its_own(start, driver, has):
    node = start(cpufreq=driver)
    folder = node.path(f"{CPU}/intel_pstate")
    assert os.path.isdir(folder) == has
    assert os.path.exists(node.path(f"{CPU}/cpufreq/boost")) != has
    if has:
        found = {name: node.read(f"{CPU}/intel_pstate/{name}").rstrip("\n") for name in os.listdir(folder)}
        assert found == {
            "status": "active" if driver == "intel_pstate" else "passive", "no_turbo": "0", "min_perf_pct": "22",
            "max_perf_pct": "100", "turbo_pct": "47", "num_pstates": "28",
        }


def test_percents_are_clamped_to_each_other(start):
    node = start(cpufreq="intel_pstate")
    for name, value, taken in [("max_perf_pct", 60, "60"), ("min_perf_pct", 80, "60"), ("min_perf_pct", 1, "22"),
                               ("max_perf_pct", 200, "100")]:
        node.write(f"{CPU}/intel_pstate/{name}", f"{value}\n")
        assert node.read(f"{CPU}/intel_pstate/{name}") == taken + "\n"
    assert refused(node.write, f"{CPU}/intel_pstate/min_perf_pct", "half\n") == errno.EINVAL


def test_another_status_is_another_driver_with_fresh_policies(start):
    node = start(cpufreq="intel_pstate")
    write(node, "scaling_max_freq", 2000000)
    node.write(f"{CPU}/intel_pstate/status", "passive\n")
    assert (read(node, "scaling_driver"), limits(node)) == ("intel_cpufreq", (800000, 3500000))
    assert refused(node.write, f"{CPU}/intel_pstate/status", "off\n") == errno.EBUSY
    assert refused(node.write, f"{CPU}/intel_pstate/status", "idle\n") == errno.EINVAL


def test_a_reboot_forgets_all_that_was_set(start):
    node = start(cpufreq="intel_pstate")
    fresh = node.freq()
    write(node, "scaling_min_freq", 2000000)
    write(node, "scaling_governor", "performance")
    node.write(f"{CPU}/intel_pstate/no_turbo", "1\n")
    node.control("wipe")
    assert node.freq() == fresh
    assert node.read(f"{CPU}/intel_pstate/no_turbo") == "0\n"


def test_writes_count_together_with_those_of_resctrl(start):
    node = start(cpufreq="intel_pstate")
    node.write("/sys/fs/resctrl/schemata", "L3:0=3\n")
    write(node, "scaling_max_freq", 2000000, cpu=3)
    with pytest.raises(OSError):
        write(node, "scaling_governor", "turbo")
    assert node.log() == [
        "write schemata L3:0=3\n",
        f"write {CPU}/cpufreq/policy3/scaling_max_freq 2000000\n",
        f"write {CPU}/cpufreq/policy0/scaling_governor turbo\n",
    ]


def test_the_nth_write_fails_or_lies(start):
    node = start(cpufreq="intel_pstate")
    node.control("fault write 2 errno EIO")
    node.control("fault write 3 lie")
    write(node, "scaling_max_freq", 3000000)
    assert refused(node.write, file("scaling_max_freq"), "2900000\n") == errno.EIO
    write(node, "scaling_max_freq", 2800000)
    assert limits(node) == (800000, 3000000)


@pytest.mark.parametrize("kind, left", [("kill-before", 3500000), ("kill-after", 2000000)])
def test_the_writer_is_killed_before_or_after_its_write(start, kind, left):
    node = start(cpufreq="intel_pstate")
    node.control(f"fault write 1 {kind}")
    writer = node.run_inside(["sh", "-c", f"echo 2000000 > {file('scaling_max_freq')}; echo alive"], check=False)
    assert (writer.returncode, writer.stdout) == (-signal.SIGKILL, "")
    assert node.freq()["0"]["max"] == left


def test_a_read_fails_once(start):
    node = start(cpufreq="intel_pstate")
    node.control(f"fault read {CPU}/cpufreq/policy0/scaling_max_freq errno EIO")
    with pytest.raises(OSError) as failure:
        read(node, "scaling_max_freq")
    assert failure.value.errno == errno.EIO
    assert limits(node) == (800000, 3500000)


def test_a_read_fault_on_a_file_that_is_not_there_is_an_error(start):
    node = start(cpufreq="intel_pstate")
    for path in (file("scaling_max_freq"), f"{CPU}/cpufreq/policy99/scaling_max_freq", "/etc/passwd"):
        with pytest.raises(SimNodeError, match="no such file"):
            node.control(f"fault read {path} errno EIO")


def test_frequencies_that_do_not_ascend_are_refused(start):
    with pytest.raises(SimNodeError, match="--freq-min"):
        start(freq_min=3000)


def test_an_unknown_driver_is_refused_with_the_known_ones(start):
    with pytest.raises(SimNodeError, match="acpi-cpufreq"):
        start(cpufreq="speedstep")


def test_a_table_resolves_limits_to_its_entries(start):
    node = start(cpufreq="acpi-cpufreq", freq_step=700)
    assert read(node, "scaling_available_frequencies").split() == ["3500000", "2200000", "1500000", "800000"]
    write(node, "scaling_max_freq", 3_400_000)
    assert limits(node) == (800_000, 2_200_000)
    write(node, "scaling_min_freq", 900_000)
    assert limits(node) == (1_500_000, 2_200_000)
    write(node, "scaling_max_freq", 1_500_000)
    assert limits(node) == (1_500_000, 1_500_000)


def test_drivers_without_a_table_take_any_frequency(start):
    node = start(cpufreq="amd-pstate", freq_step=700)
    write(node, "scaling_max_freq", 3_400_000)
    assert limits(node) == (800_000, 3_400_000)


def test_amd_pstate_reports_its_base_frequency_beside_cpufreq(start):
    assert start(cpufreq="amd-pstate").read(f"{CPU}/cpu3/acpi_cppc/nominal_freq") == "2200\n"
