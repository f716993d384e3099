"""The kernel's rules for what resctrl counts: mon_data, mon_groups and info/L3_MON. One promise a test."""

import errno
import os

import pytest
from resctrl import at, last_status, mkdir, read, refused, rmdir, write
from simnode import SimNodeError

COUNTERS = {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"}


def test_every_group_has_counters_for_every_cache_and_they_start_at_nothing(start):
    node = start(cache_ids="4,0")
    mkdir(node, "A")
    for group in ("", "A/"):
        assert set(os.listdir(at(node, group + "mon_data"))) == {"mon_L3_00", "mon_L3_04"}
        assert set(os.listdir(at(node, group + "mon_data/mon_L3_04"))) == COUNTERS
        assert {read(node, f"{group}mon_data/mon_L3_00/{counter}") for counter in COUNTERS} == {"0\n"}
        assert os.listdir(at(node, group + "mon_groups")) == []


def test_info_lists_countable_events(node):
    assert set(os.listdir(at(node, "info/L3_MON"))) == {"max_threshold_occupancy", "mon_features", "num_rmids"}
    assert set(read(node, "info/L3_MON/mon_features").splitlines()) == COUNTERS
    assert read(node, "info/L3_MON/num_rmids") == "128\n"
    assert int(read(node, "info/L3_MON/max_threshold_occupancy")) > 0
    assert "cqm_mbm_total" in node.read("/proc/cpuinfo")


def test_a_test_moves_a_counter_of_one_group_on_one_cache(node):
    mkdir(node, "A")
    node.use("A", 1, "mbm_total_bytes", 5)
    node.use("A", 1, "mbm_total_bytes", "+7")
    node.use("/", 0, "llc_occupancy", 64)
    assert read(node, "A/mon_data/mon_L3_01/mbm_total_bytes") == "12\n"
    assert read(node, "A/mon_data/mon_L3_00/mbm_total_bytes") == "0\n"
    assert read(node, "mon_data/mon_L3_00/llc_occupancy") == "64\n"
    for word in ("Unavailable", "Error"):
        node.use("A", 1, "mbm_total_bytes", word)
        assert read(node, "A/mon_data/mon_L3_01/mbm_total_bytes") == word + "\n"
    node.use("A", 1, "mbm_total_bytes", "+1")
    assert read(node, "A/mon_data/mon_L3_01/mbm_total_bytes") == "13\n"


@pytest.mark.parametrize("wrong", [("B", 0, "llc_occupancy", 1), ("/", 7, "llc_occupancy", 1), ("/", 0, "llc", 1),
                                   ("/", 0, "llc_occupancy", "much"), ("/", 0, "llc_occupancy", -1)])
def test_an_immovable_counter_is_an_error(node, wrong):
    with pytest.raises(SimNodeError):
        node.use(*wrong)


def test_a_group_below_mon_groups_is_part_of_its_class(node):
    mkdir(node, "A")
    mkdir(node, "A/mon_groups/x")
    assert set(os.listdir(at(node, "A/mon_groups/x"))) == {"cpus", "cpus_list", "mon_data", "tasks"}
    node.use("A", 0, "mbm_total_bytes", 5)
    node.use("A/mon_groups/x", 0, "mbm_total_bytes", 7)
    assert read(node, "A/mon_data/mon_L3_00/mbm_total_bytes") == "12\n"
    assert read(node, "A/mon_groups/x/mon_data/mon_L3_00/mbm_total_bytes") == "7\n"
    assert read(node, "mon_data/mon_L3_00/mbm_total_bytes") == "0\n"


def test_its_cpus_are_its_classes_and_leave_with_it(node):
    mkdir(node, "A")
    mkdir(node, "A/mon_groups/x")
    mkdir(node, "A/mon_groups/y")
    write(node, "A/cpus_list", "4-7\n")
    assert refused(write, node, "A/mon_groups/x/cpus_list", "3-4\n") == errno.EINVAL
    assert last_status(node) == "Can only add CPUs to mongroup that belong to parent\n"
    write(node, "A/mon_groups/x/cpus_list", "4-6\n")
    write(node, "A/mon_groups/y/cpus_list", "6\n")
    assert (read(node, "A/mon_groups/x/cpus_list"), read(node, "A/mon_groups/y/cpus_list")) == ("4-5\n", "6\n")
    assert read(node, "A/cpus_list") == "4-7\n"
    write(node, "A/cpus_list", "5-7\n")  # all of them are the class's own again
    assert read(node, "A/mon_groups/x/cpus_list") == read(node, "A/mon_groups/y/cpus_list") == "\n"


def test_groups_end_with_their_class_and_a_new_one_counts_from_nothing(node):
    mkdir(node, "A")
    mkdir(node, "A/mon_groups/x")
    node.use("A", 0, "mbm_total_bytes", 5)
    rmdir(node, "A")
    mkdir(node, "A")
    assert os.listdir(at(node, "A/mon_groups")) == []
    assert read(node, "A/mon_data/mon_L3_00/mbm_total_bytes") == "0\n"
    mkdir(node, "mon_groups/y")
    rmdir(node, "mon_groups/y")
    assert os.listdir(at(node, "mon_groups")) == []


def test_there_are_as_many_groups_as_counters(start):
    node = start(rmids=3)
    mkdir(node, "A")
    mkdir(node, "A/mon_groups/x")
    assert refused(mkdir, node, "B") == errno.ENOSPC
    assert last_status(node) == "Out of RMIDs\n"
    assert refused(mkdir, node, "mon_groups/y") == errno.ENOSPC
    rmdir(node, "A/mon_groups/x")
    mkdir(node, "B")


def test_a_node_without_monitoring_has_nothing_of_it(start):
    node = start(monitoring=False)
    assert "L3_MON" not in os.listdir(at(node, "info"))
    assert not {"mon_data", "mon_groups"} & set(os.listdir(at(node, "")))
    assert not os.path.exists(at(node, "mon_data")) and not os.path.exists(at(node, "info/L3_MON/num_rmids"))
    assert " cqm" not in node.read("/proc/cpuinfo") and "cat_l3" in node.read("/proc/cpuinfo")


def test_a_cpu_model_may_count_fewer_events(start):
    node = start(mon_features="llc_occupancy")
    assert read(node, "info/L3_MON/mon_features") == "llc_occupancy\n"
    assert os.listdir(at(node, "mon_data/mon_L3_00")) == ["llc_occupancy"]


def test_a_reboot_forgets_all_of_it(node):
    mkdir(node, "mon_groups/x")
    node.use("/", 0, "llc_occupancy", 64)
    node.control("wipe")
    assert os.listdir(at(node, "mon_groups")) == [] and read(node, "mon_data/mon_L3_00/llc_occupancy") == "0\n"
