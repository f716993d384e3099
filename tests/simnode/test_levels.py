"""Nodes with CDP, and with caches of the second level, alone or beside the third, as Debian's pqos sees them."""

import errno
import os
import re

import pytest

from resctrl import at, flags, last_status, mkdir, read, refused, write
from simnode import SimNode, SimNodeError


def test_code_and_data_have_masks_of_their_own():
    with SimNode().start(["sleep", "infinity"], cdp=True, mb=False) as node:
        assert read(node, "schemata").splitlines()[-2:] == ["L3DATA:0=7ff;1=7ff", "L3CODE:0=7ff;1=7ff"]
        assert read(node, "info/L3CODE/cbm_mask") == "7ff\n"
        shown = node.run_inside(["pqos", "-I", "-s"]).stdout
        assert "L3CA COS0 => DATA 0x7ff, CODE 0x7ff" in shown, shown
        write(node, "COS1/schemata", "L3CODE:0=3\n")
        assert node.dump()["COS1"]["L3"]["0"] == "7ff" and node.dump()["COS1"]["code"]["0"] == "3"
        node.run_inside(["pqos", "-I", "-e", "llc:1d=0xf"])
        assert node.dump()["COS1"]["L3"]["0"] == "f" and node.dump()["COS1"]["code"]["0"] == "3"


def test_a_node_without_a_third_level():
    with SimNode().start(["sleep", "infinity"], level=2, mb=False, caches_per_socket=2) as node:
        assert read(node, "schemata").strip() == "L2:0=7ff;1=7ff;2=7ff;3=7ff"
        assert "L2CA COS0 => MASK 0x7ff" in node.run_inside(["pqos", "-I", "-s"]).stdout
        node.run_inside(["pqos", "-I", "-e", "l2:1=0xf"])
        assert node.dump()["COS1"]["L3"]["2"] == "f"


# L2 beside L3


def l2_and_l3(**options):
    # Of the host's vendor, since libpqos asks CPUID; masks follow the same rules for all.
    return {"vendor": "host", "sparse_masks": False, "min_cbm_bits": 1, "l2_cat": True, "l2_cpus": 2, "cpus": 8, "ways": 15, **options}


def pqos(node, *arguments):
    return node.run_inside(["pqos", "-I", *arguments], check=False)


def refusal(node, text):
    """The errno of a write to COS1's schemata, and why."""
    return refused(write, node, "COS1/schemata", text), last_status(node)


def test_both_levels_have_lines_and_folders(start):
    node = start(**l2_and_l3(shareable="6000", closids=8))
    lines = read(node, "schemata").splitlines()
    assert [line.split(":")[0] for line in lines] == ["    MB", "    L2", "    L3"]
    assert lines[1:] == ["    L2:0=ffff;1=ffff;2=ffff;3=ffff", "    L3:0=7fff;1=7fff"]
    info = {name: read(node, f"info/L2/{name}").strip() for name in os.listdir(at(node, "info/L2"))}
    assert info == {
        "num_closids": "8",
        "cbm_mask": "ffff",
        "min_cbm_bits": "1",
        "shareable_bits": "0",
        "sparse_masks": "0",
        "bit_usage": ";".join(f"{cache}=" + "S" * 16 for cache in range(4)),
    }
    assert read(node, "info/L3/cbm_mask") == "7fff\n"
    assert read(node, "info/L3/shareable_bits") == "6000\n"
    assert {"cat_l2", "cdp_l2", "cat_l3", "cdp_l3"} <= set(flags(node))
    assert sorted(os.listdir(at(node, "mon_data"))) == ["mon_L3_00", "mon_L3_01"]


def test_a_write_changes_the_masks_it_names_and_no_others(start):
    node = start(**l2_and_l3())
    mkdir(node, "COS1")
    write(node, "COS1/schemata", "L2:1=f;3=f0\n")
    group = node.dump()["COS1"]
    assert (group["L2"], group["L3"]) == ({"0": "ffff", "1": "f", "2": "ffff", "3": "f0"}, {"0": "7fff", "1": "7fff"})
    write(node, "COS1/schemata", "L3:1=3\nL2:0=1;1=2;2=4;3=8000\n")
    group = node.dump()["COS1"]
    assert (group["L2"], group["L3"]) == ({"0": "1", "1": "2", "2": "4", "3": "8000"}, {"0": "7fff", "1": "3"})
    assert read(node, "COS1/schemata").splitlines()[1:] == ["    L2:0=0001;1=0002;2=0004;3=8000", "    L3:0=7fff;1=0003"]
    assert read(node, "COS1/size").splitlines()[1:] == [
        "    L2:0=65536;1=65536;2=65536;3=65536", f"    L3:0={15 << 20};1={2 << 20}"]
    assert node.dump()["/"]["L2"] == {str(cache): "ffff" for cache in range(4)}


@pytest.mark.parametrize(
    "line, status",
    [
        ("L2:0=5\n", "The mask 5 has non-consecutive 1-bits\n"),
        ("L2:0=1\n", "Need at least 2 bits in the mask\n"),
        ("L2:0=1ffff\n", "Mask out of range\n"),
        ("L3:0=ffff\n", "Mask out of range\n"),  # one way more than L3 has, not more than L2
        ("L2:4=f\n", "ok\n"),  # the kernel does not say why
        ("L3:2=f\n", "ok\n"),  # an L2 cache has that id, no L3 cache
        ("L2DATA:0=f\n", "Unknown or unsupported resource name 'L2DATA'\n"),
    ],
)
def test_a_wrong_line_of_either_level_changes_nothing_and_says_why(start, line, status):
    node = start(**l2_and_l3(min_cbm_bits=2))
    mkdir(node, "COS1")
    before = node.dump()
    assert refusal(node, "L2:1=3\nL3:1=3\n" + line) == (errno.EINVAL, status)
    assert node.dump() == before


def test_an_injected_fault_hits_a_write_of_l2(start):
    node = start(**l2_and_l3())
    mkdir(node, "COS1")
    node.control("reset")
    node.control("fault write 1 errno EIO")
    node.control("fault write 2 lie")
    assert refusal(node, "L2:0=1\n")[0] == errno.EIO
    write(node, "COS1/schemata", "L2:0=2\n")
    assert node.dump()["COS1"]["L2"]["0"] == "ffff"
    assert node.log() == ["write COS1/schemata L2:0=1\n", "write COS1/schemata L2:0=2\n"]


def test_an_exclusive_group_keeps_others_off_its_ways_of_both_levels(start):
    node = start(**l2_and_l3())
    mkdir(node, "COS1")
    write(node, "schemata", "L3:0=7ff0;1=7ff0\n")
    write(node, "COS1/schemata", "L3:0=f;1=f\nL2:0=3;1=3;2=3;3=3\n")
    with pytest.raises(OSError):
        write(node, "COS1/mode", "exclusive\n")
    write(node, "schemata", "L2:0=fffc;1=fffc;2=fffc;3=fffc\n")
    write(node, "COS1/mode", "exclusive\n")
    for line in ("L2:2=fffe\n", "L3:1=7ff8\n"):
        with pytest.raises(OSError):
            write(node, "schemata", line)
        assert last_status(node) == "Overlaps with exclusive group\n"
    mkdir(node, "COS2")
    assert (node.dump()["COS2"]["L2"]["2"], node.dump()["COS2"]["L3"]["0"]) == ("fffc", "7ff0")
    assert read(node, "info/L2/bit_usage").startswith("0=SSSSSSSSSSSSSSEE;")


def test_pqos_shows_and_sets_both_levels(start):
    node = start(**l2_and_l3())
    shown = pqos(node, "-s").stdout
    assert "L2CA COS0 => MASK 0xffff" in shown and "L3CA COS0 => MASK 0x7fff" in shown, shown
    assert re.search(r"Core 5, L2ID 2, L3ID 1 => COS0", shown), shown
    before = node.dump()
    assert pqos(node, "-e", "l2@1:2=0x3").returncode == 0
    after = node.dump()
    assert after["COS2"]["L2"] == {"0": "ffff", "1": "3", "2": "ffff", "3": "ffff"}
    assert after["COS2"]["L3"] == before["COS2"]["L3"] and after["COS1"] == before["COS1"]
    assert pqos(node, "-e", "llc@1:2=0xf0").returncode == 0
    assert node.dump()["COS2"]["L2"] == after["COS2"]["L2"] and node.dump()["COS2"]["L3"] == {"0": "7fff", "1": "f0"}
    assert pqos(node, "-e", "l2:2=0x5").returncode != 0
    assert node.dump()["COS2"]["L2"] == after["COS2"]["L2"]
    assert pqos(node, "-R").returncode == 0
    assert node.dump()["COS2"]["L2"] == before["COS2"]["L2"] and node.dump()["COS2"]["L3"] == before["COS2"]["L3"]


def test_code_and_data_of_l2_alone(start):
    node = start(**l2_and_l3(l2_cdp=True))
    assert read(node, "schemata").splitlines()[1:] == [
        "L2DATA:0=ffff;1=ffff;2=ffff;3=ffff", "L2CODE:0=ffff;1=ffff;2=ffff;3=ffff", "    L3:0=7fff;1=7fff"]
    names = os.listdir(at(node, "info"))
    assert {"L2CODE", "L2DATA", "L3"} <= set(names) and "L2" not in names
    assert "L2CA COS0 => DATA 0xffff, CODE 0xffff" in pqos(node, "-s").stdout
    assert pqos(node, "-e", "l2@0:1d=0xf").returncode == 0
    write(node, "COS1/schemata", "L2CODE:0=f0\n")
    group = node.dump()["COS1"]
    assert (group["L2"]["0"], group["l2_code"]["0"], group["L2"]["1"], group["l2_code"]["1"]) == ("f", "f0", "ffff", "ffff")
    assert group["L3"] == {"0": "7fff", "1": "7fff"} and "code" not in group
    assert refusal(node, "L2:0=f\n") == (errno.EINVAL, "Unknown or unsupported resource name 'L2'\n")


def test_code_and_data_of_l3_alone(start):
    group = start(**l2_and_l3(cdp=True)).dump()["/"]
    assert group["code"] == group["L3"] == {"0": "7fff", "1": "7fff"} and len(group["L2"]) == 4 and "l2_code" not in group


@pytest.mark.parametrize("sharing", [1, 2, 4])
def test_neighbours_of_one_l3_cache_share_an_l2_cache(start, sharing):
    node = start(cpus=16, caches_per_socket=2, cache_ids=[4, 0, 7, 2], l2_cat=True, l2_cpus=sharing, l2_ways=10)
    for cpu in range(16):
        folder = f"/sys/devices/system/cpu/cpu{cpu}/cache/index2"
        first = cpu // sharing * sharing
        shared = str(cpu) if sharing == 1 else f"{first}-{first + sharing - 1}"
        assert node.read(f"{folder}/id") == f"{cpu // sharing}\n"
        assert node.read(f"{folder}/shared_cpu_list") == shared + "\n"
        assert node.read(f"{folder}/ways_of_associativity") == "10\n"
        assert node.read(f"{folder}/size") == "640K\n"
    assert node.dump()["/"]["L2"] == {str(cache): "3ff" for cache in range(16 // sharing)}
    assert sorted(node.dump()["/"]["L3"]) == ["0", "2", "4", "7"]


def test_an_l2_cache_whose_last_cpu_goes_is_gone_and_comes_back_with_full_masks(start):
    node = start(**l2_and_l3(l2_cdp=True))
    write(node, "schemata", "L2DATA:1=3\nL2CODE:1=3\nL3:0=3\n")
    node.control("offline 2")
    assert node.dump()["/"]["L2"]["1"] == "3"
    assert node.read("/sys/devices/system/cpu/cpu3/cache/index2/shared_cpu_list") == "3\n"
    node.control("offline 3")
    assert sorted(node.dump()["/"]["L2"]) == sorted(node.dump()["/"]["l2_code"]) == ["0", "2", "3"]
    node.control("online 2")
    assert (node.dump()["/"]["L2"]["1"], node.dump()["/"]["l2_code"]["1"], node.dump()["/"]["L3"]["0"]) == ("ffff", "ffff", "3")


def test_without_l2_cat_there_is_no_trace_of_it(node):
    assert set(node.dump()["/"]) == {"closid", "mode", "L3", "MB", "cpus", "tasks"}
    assert "L2" not in read(node, "schemata") and not os.path.exists(at(node, "info/L2"))
    assert "cat_l2" not in flags(node)
    assert node.read("/sys/devices/system/cpu/cpu5/cache/index2/id") == "5\n"
    assert node.read("/sys/devices/system/cpu/cpu5/cache/index2/size") == "1024K\n"


@pytest.mark.parametrize(
    "options, rule",
    [
        ({"l2_cat": True, "level": 2}, "--l2-cat and --l2-cpus need --level 3"),
        ({"l2_cpus": 2, "level": 2}, "--l2-cat and --l2-cpus need --level 3"),
        ({"l2_cat": True, "rdt": False}, "--l2-cat needs RDT, which --no-rdt takes away"),
        ({"l2_cdp": True}, "--l2-cdp needs --l2-cat"),
        ({"l2_cat": True, "l2_ways": 33}, "--l2-ways must be 1 to 32"),
        ({"l2_cat": True, "l2_ways": 1, "min_cbm_bits": 2}, "--min-cbm-bits must be at most --l2-ways"),
        ({"l2_cpus": 3}, "--l2-cpus must divide the CPUs of an L3 cache"),
    ],
)
def test_options_of_l2_that_do_not_fit_are_refused(start, options, rule):
    with pytest.raises(SimNodeError, match=rule):
        start(**options)
