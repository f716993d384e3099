"""The nodes that the cases of docs/rmd-compatibility.md ask. A module that says pytest_plugins = "rmd_nodes" may have

    node       RMD's example: 20 ways as OS 1, guarantee 10, best effort 7, shared 2; policies in TOML; 40 CPUs, caches 0 and 1
    odd        what RMD was never tried on: cache ids that do not follow the sockets, masks of two ways at least, ways that I/O
               fills, four classes, infra ways, policies in YAML under a name that cpu_map.toml gives, best effort that gives way

All modules of one run have the same ones, which are empty before and after each case.
"""

import tempfile

import pytest
from harness import Node
from rmd_layout import POLICIES
from rmd_table import kept

OF_ITS_TIME = "[cache_pools]\nos = 1\nguarantee = 10\nbesteffort = 7\nshared = 2\n"
THRIFTY = "[skylake.thrifty.cache]\nmax = 1\nmin = 1\n[skylake.thrifty.mba]\npercentage = 50\n"
ODD = """
[cache_pools]
os = 2
guarantee = 7
besteffort = 7
shared = 2
infra = 2
shrink = true
[drift]
interval_seconds = 1
"""
ODD_POLICIES = """
lab:
  gold: {cache: {Max: 4, Min: 4}}
default:
  gold: {cache: {max: 2, min: 2}}
"""
ODD_CPUS = '[[Lab]]\nfamily = 6\nmodel = 85\n'


@pytest.fixture(scope="session")
def node_of_its_time():
    with tempfile.TemporaryDirectory() as folder:
        policies = kept(folder, file=("policy.toml", POLICIES + THRIFTY))
        with Node(policies + OF_ITS_TIME, cpus=40, ways=20, cpufreq="intel_pstate", msr="perf") as node:
            yield node


@pytest.fixture(scope="session")
def odd_node():
    with tempfile.TemporaryDirectory() as folder:
        policies = kept(folder, file=("policy.yaml", ODD_POLICIES), cpu_map=("cpu_map.toml", ODD_CPUS))
        with Node(policies + ODD, ways=20, closids=4, mb_closids=8, cache_ids="4,0", min_cbm_bits=2, shareable="c0000",
                  cpufreq="intel_pstate", msr="perf") as node:
            yield node


def emptied(node):
    node.sim.control("reset")  # faults of a case that failed
    before = node.plain()
    yield node
    for workload in node.list():
        node.delete(workload["id"])
    assert node.plain() == before


@pytest.fixture
def node(node_of_its_time):
    yield from emptied(node_of_its_time)


@pytest.fixture
def odd(odd_node):
    yield from emptied(odd_node)
