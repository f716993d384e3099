"""The machines that can be simulated, and CPUs that come and go."""

import os
import re

import pytest

from resctrl import at, mkdir, read, write

CPU = "/sys/devices/system/cpu"


def cache_id(node, cpu):
    return int(node.read(f"{CPU}/cpu{cpu}/cache/index3/id"))


def test_eight_sockets_of_eight_cpus(start):
    node = start(sockets=8, cpus=64)
    assert node.read(f"{CPU}/possible") == "0-63\n"
    packages = [int(node.read(f"{CPU}/cpu{cpu}/topology/physical_package_id")) for cpu in range(64)]
    assert packages == [cpu // 8 for cpu in range(64)]
    assert node.read(f"{CPU}/cpu9/topology/package_cpus_list") == "8-15\n"
    assert node.read("/sys/devices/system/node/node7/cpulist") == "56-63\n"
    assert os.readlink(node.path(f"{CPU}/cpu63/node7")) == "../../node/node7"
    assert sorted(node.dump()["/"]["L3"]) == [str(cache) for cache in range(8)]


def test_cache_ids_are_taken_in_the_order_of_sockets_and_shown_ascending(start):
    node = start(sockets=4, cpus=16, cache_ids=[4, 0, 7, 2])
    assert [cache_id(node, cpu) for cpu in (0, 4, 8, 12)] == [4, 0, 7, 2]
    assert read(node, "schemata").splitlines()[-1] == "    L3:0=7ff;2=7ff;4=7ff;7=7ff"


def test_a_socket_may_have_several_caches(start):
    node = start(sockets=2, cpus=16, caches_per_socket=2)
    assert [cache_id(node, cpu) for cpu in (0, 4, 8, 12)] == [0, 1, 2, 3]
    assert node.read(f"{CPU}/cpu5/cache/index3/shared_cpu_list") == "4-7\n"


def test_thirty_two_ways_and_sixty_four_classes(start):
    node = start(ways=32, closids=64)
    for number in range(63):
        mkdir(node, f"G{number}")
    with pytest.raises(OSError):
        mkdir(node, "one-too-many")
    write(node, "G0/schemata", "L3:0=80000000\n")
    assert node.dump()["G0"]["L3"] == {"0": "80000000", "1": "ffffffff"}


@pytest.mark.parametrize("options, rdt", [({}, True), ({"mb": False}, True), ({"rdt": False}, False)])
def test_proc_shows_whether_rdt_is_present(start, options, rdt):
    node = start(**options)
    flags = set(re.search(r"^flags\s*: (.*)$", node.read("/proc/cpuinfo"), re.M).group(1).split())
    assert ({"rdt_a", "cat_l3", "cqm"} <= flags) == rdt
    assert ("mba" in flags) == (rdt and options.get("mb", True))
    assert ("nodev\tresctrl\n" in node.read("/proc/filesystems")) == rdt
    assert os.path.exists(at(node, "schemata")) == rdt


def test_cpuinfo_has_every_cpu_online(start):
    node = start(sockets=8, cpus=64, offline="5")
    processors = re.findall(r"^processor\s*: (\d+)$", node.read("/proc/cpuinfo"), re.M)
    assert processors == [str(cpu) for cpu in range(64) if cpu != 5]


def test_programs_count_the_simulated_cpus(start):
    node = start(cpus=64, offline="5")
    counted = node.run_inside(["getconf", "-a"]).stdout
    assert re.search(r"_NPROCESSORS_CONF\s+64\n", counted)
    assert re.search(r"_NPROCESSORS_ONLN\s+63\n", counted)


def by_control(node, cpu, online):
    node.control(f"{'online' if online else 'offline'} {cpu}")


def by_sysfs(node, cpu, online):
    node.write(f"{CPU}/cpu{cpu}/online", "1\n" if online else "0\n")


@pytest.mark.parametrize("plug", [by_control, by_sysfs])
def test_a_cpu_that_goes_leaves_its_group_and_comes_back_to_the_root(node, plug):
    mkdir(node, "A")
    write(node, "A/cpus_list", "2-3")
    plug(node, 3, False)
    assert (node.dump()["A"]["cpus"], node.dump()["/"]["cpus"]) == ("2", "0-1,4-15")
    assert node.read(f"{CPU}/online") == "0-2,4-15\n"
    assert node.read(f"{CPU}/cpu3/online") == "0\n"
    assert not os.path.exists(node.path(f"{CPU}/cpu3/topology"))
    plug(node, 3, True)
    assert (node.dump()["A"]["cpus"], node.dump()["/"]["cpus"]) == ("2", "0-1,3-15")
    assert node.read(f"{CPU}/cpu3/cache/index3/shared_cpu_list") == "0-7\n"


def test_a_cache_whose_last_cpu_goes_is_gone_and_comes_back_with_full_masks(start):
    node = start(sockets=2, cpus=4)
    write(node, "schemata", "L3:0=3;1=3\n")
    by_control(node, 2, False)
    assert node.dump()["/"]["L3"] == {"0": "3", "1": "3"}
    by_control(node, 3, False)
    assert node.dump()["/"]["L3"] == {"0": "3"}
    by_control(node, 3, True)
    assert node.dump()["/"]["L3"] == {"0": "3", "1": "7ff"}


def test_cpu_zero_cannot_go(node):
    assert not os.path.exists(node.path(f"{CPU}/cpu0/online"))
