"""The emulated CPU: the kernel offers cache allocation and frequencies on it, and its registers show what the kernel did."""

import pytest

from machine import Machine
from shape import Shape

RESCTRL = "/sys/fs/resctrl"
PQR_ASSOC, L3_MASK, MBA_INTEL, MBA_AMD, HWP_REQUEST = 0xC8F, 0xC90, 0xD50, 0xC0000200, 0x774


@pytest.fixture(scope="module", params=["Intel", "AMD"])
def vm(request, tmp_path_factory):
    """With resctrl and a group "a" that has all CPUs of the first cache."""
    with Machine(tmp_path_factory.mktemp("share"), cpu=Shape(vendor=request.param)) as machine:
        machine.run(f"modprobe msr; mount -t resctrl resctrl {RESCTRL}; mkdir {RESCTRL}/a")
        machine.write(f"{RESCTRL}/a/cpus_list", "0-3\n")
        yield machine


def test_caches_and_classes_are_those_of_the_shape(vm):
    assert vm.read(f"{RESCTRL}/info/L3/cbm_mask") == "7ff\n"
    assert vm.read(f"{RESCTRL}/info/L3/num_closids") == "16\n"
    assert vm.read(f"{RESCTRL}/info/L3/min_cbm_bits") == ("0\n" if vm.cpu.vendor == "AMD" else "1\n")
    assert vm.read(f"{RESCTRL}/info/MB/num_closids") == "8\n"
    assert [vm.read(f"/sys/devices/system/cpu/cpu{cpu}/cache/index3/shared_cpu_list") for cpu in (0, 7)] == ["0-3\n", "4-7\n"]


def test_registers_show_the_values_written_by_the_kernel(vm):
    assert [vm.msr(cpu, PQR_ASSOC) >> 32 for cpu in range(8)] == [1] * 4 + [0] * 4
    vm.write(f"{RESCTRL}/a/schemata", "L3:0=30\n")
    masks = [(cpu, L3_MASK + clos) for cpu in (0, 3, 4) for clos in (0, 1)]
    assert vm.msrs(masks) == [0x7FF, 0x30, 0x7FF, 0x30, 0x7FF, 0x7FF]
    limit, limits = ("16", (MBA_AMD, 16)) if vm.cpu.vendor == "AMD" else ("40", (MBA_INTEL, 60))
    vm.write(f"{RESCTRL}/a/schemata", f"MB:1={limit}\n")
    assert vm.msr(4, limits[0] + 1) == limits[1] != vm.msr(0, limits[0] + 1)


def test_code_changes_under_cpus_that_run_it(vm):
    """Static keys of the scheduler, which all CPUs execute: without rdt/stale-code.patch one of a hundred changes hangs the machine."""
    vm.run("""for _ in {1..8}; do while sleep 0.001; do :; done & done
              for _ in {1..20}; do for value in 1 0; do echo $value > /proc/sys/kernel/sched_schedstats; done; done
              kill $(jobs -p)""")


def test_counters_move_for_the_group_that_runs(vm):
    def counted(group, cache, counter):
        return int(vm.read(f"{RESCTRL}/{group}mon_data/mon_L3_0{cache}/{counter}"))
    ids = [int(name.rsplit("_", 1)[1]) for name in vm.run(["ls", f"{RESCTRL}/mon_data"]).stdout.split()]
    before = counted("a/", ids[0], "mbm_total_bytes")
    vm.wait_until(lambda: counted("a/", ids[0], "mbm_total_bytes") > before)
    assert counted("a/", ids[0], "llc_occupancy") > 0 == counted("a/", ids[1], "llc_occupancy")


def test_frequencies_reach_the_register(vm):
    if vm.cpu.vendor == "AMD":
        assert vm.msr(0, 0xC0010064) >> 63 == 1
        return
    vm.write("/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq", "3000000\n")
    assert [vm.msr(cpu, HWP_REQUEST) >> 8 & 0xFF for cpu in (4, 5)] == [35, 30]
