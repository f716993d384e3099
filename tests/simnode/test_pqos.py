"""Debian's pqos as an independent client: what it sets is what the node holds, and what it shows."""

import re

import pytest

with open("/proc/cpuinfo") as cpuinfo:
    HOST_IS_INTEL = "GenuineIntel" in cpuinfo.read()


@pytest.fixture
def start(start):
    """Of the host's vendor, since libpqos asks CPUID."""
    return lambda **options: start(vendor="host", **options)


def pqos(node, *arguments):
    return node.run_inside(["pqos", "-I", *arguments]).stdout


def test_masks_set_by_pqos_arrive(node):
    pqos(node, "-e", "llc@0:1=0x3;llc@1:2=0x7f0")
    groups = node.dump()
    assert groups["COS1"]["L3"] == {"0": "3", "1": "7ff"}
    assert groups["COS2"]["L3"] == {"0": "7ff", "1": "7f0"}


def test_bandwidth_set_by_pqos_arrives(node):
    pqos(node, "-e", "mba@1:1=50")
    assert node.dump()["COS1"]["MB"]["1"] == "50"


def test_cpus_associated_by_pqos_arrive(node):
    pqos(node, "-a", "llc:1=4,5;llc:2=9")
    groups = node.dump()
    assert (groups["COS1"]["cpus"], groups["COS2"]["cpus"], groups["/"]["cpus"]) == ("4-5", "9", "0-3,6-8,10-15")


def test_tasks_associated_by_pqos_arrive(node):
    pqos(node, "-a", f"pid:3={node.pid}")
    assert node.dump()["COS3"]["tasks"] == [node.pid]


def test_pqos_shows_the_current_settings(node):
    pqos(node, "-e", "llc@1:5=0x1c")
    pqos(node, "-a", "llc:5=12")
    shown = pqos(node, "-s")
    assert "L3CA COS5 => MASK 0x1c" in shown
    assert re.search(r"Core 12, .*L3ID 1 => COS5", shown)


def test_pqos_resets_everything(node):
    pqos(node, "-e", "llc@0:1=0x3;mba@0:1=40")
    pqos(node, "-a", "llc:1=4,5")
    pqos(node, "-R")
    groups = node.dump()
    assert groups["COS1"]["L3"] == {"0": "7ff", "1": "7ff"}
    assert groups["COS1"]["MB"] == groups["/"]["MB"]
    assert groups["/"]["cpus"] == "0-15"


@pytest.mark.parametrize(
    "shape",
    [
        {"sockets": 8, "cpus": 64},
        {"sockets": 1, "cpus": 4},
        {"ways": 20, "closids": 12, "mb_closids": 8},
        {"mb": False},
        {"offline": "3,8-9"},
        {"min_cbm_bits": 2, "shareable": "600"},
    ],
    ids=str,
)
def test_pqos_works_on_every_shape(start, shape):
    node = start(**shape)
    pqos(node, "-e", "llc@0:1=0x3")
    assert node.dump()["COS1"]["L3"]["0"] == "3"
    assert "L3CA COS1 => MASK 0x3" in pqos(node, "-s")


def test_pqos_works_with_several_caches_a_socket_where_it_knows_them(start):
    """libpqos 4.5 asks CPUID for the vendor (cpuinfo_init()), and on Intel takes a socket's number for its cache's."""
    node = start(caches_per_socket=2)
    masks = {name: group["L3"] for name, group in node.dump().items()}
    refused = node.run_inside(["pqos", "-I", "-e", "llc@1:0=0x3"], check=False)
    if HOST_IS_INTEL:
        assert refused.returncode != 0 and node.dump()["/"]["L3"] == masks["/"], refused.stdout
    else:
        assert refused.returncode == 0 and node.dump()["/"]["L3"] == {**masks["/"], "1": "3"}, refused.stdout


def test_pqos_finds_no_rdt_on_a_node_without(start):
    shown = start(rdt=False).run_inside(["pqos", "-I", "-s"], check=False)
    assert shown.returncode != 0
