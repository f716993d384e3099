"""nrdctl genconf: on every kind of node, nrd starts with what it writes, and has the pools it draws."""

import os
import tomllib

import pytest
from harness import NRD, NRDCTL, Node


def genconf(node, *flags):
    return node.sim.run_inside([NRDCTL, "genconf", *flags], check=False)


@pytest.mark.parametrize("shape, drawn", [
    ({"ways": 15}, "OGGGGGGGGBBBBBS"),
    ({"ways": 20, "min_cbm_bits": 2}, "OOGGGGGGGGGBBBBBBBSS"),
    ({"rdt": False}, None),
])
def test_nrd_starts_with_it_and_divides_the_cache_so(shape, drawn):
    with Node(start=False, **shape) as node:
        made = genconf(node)
        assert made.returncode == 0, made.stderr
        assert (f"  {drawn}  " in made.stdout) == bool(drawn)
        pools = tomllib.loads(made.stdout).get("cache_pools", {})
        node.configure(made.stdout)
        node.start()
        assert pools == ({name: drawn.count(letter) for name, letter in
                          (("os", "O"), ("guarantee", "G"), ("besteffort", "B"), ("shared", "S"))} if drawn else {})
        if drawn:
            free = node.call("GET", "/v1/cache/l3/1")["available_ways_pool"]
            first, last = drawn.index("G"), drawn.rindex("G")
            assert free["guaranteed"] == f"{first}-{last}", free


def test_a_file_is_made_once_and_replaced_only_by_force():
    with Node(start=False) as node:
        path = os.path.join(node.folder, "made.toml")
        assert genconf(node, "--output", path).returncode == 0
        with open(path, "a") as file:
            file.write("# mine\n")
        refused = genconf(node, "--output", path)
        assert refused.returncode == 1 and f"{path} already exists" in refused.stderr
        with open(path) as file:
            assert file.read().endswith("# mine\n")
        assert genconf(node, "--output", path, "--force").returncode == 0
        with open(path) as file:
            assert file.read() == genconf(node).stdout
        checked = node.sim.run_inside([NRD, "--config", path, "--check-config"], check=False)
        assert checked.stdout == f"{path}: ok\n", checked.stderr
