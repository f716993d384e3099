"""Random requests, hotplug, turbo, foreign groups, tampering and kill -9 on random machines: what is answered is what there is,
a restart changes nothing, and nothing remains. NRD_WORLD_SEED=N runs one world only."""

import contextlib
import os

import pytest
from harness import wait_for
from random_world import World

LONG = bool(os.environ.get("NRD_LONG"))
SEEDS = [int(os.environ["NRD_WORLD_SEED"])] if "NRD_WORLD_SEED" in os.environ else range(40 if LONG else 2)
STEPS = 60 if LONG else 25


def settle(world):
    with contextlib.suppress(AssertionError):
        wait_for(lambda: not world.differences(), "answers to be as the kernel")
    assert world.differences() == []


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_what_the_kernel_has(seed):
    with World(seed) as world:
        for _ in range(STEPS):
            world.act()
            if world.dice.random() < 0.6:  # else the next step comes before nrd has seen this one
                settle(world)
        world.calm()
        settle(world)
        workloads, tree = world.node.list(), world.node.hardware()
        world.node.kill9_and_start()
        assert (world.node.list(), world.node.hardware()) == (workloads, tree)
        for workload in workloads:
            world.ask("DELETE", f"/v1/workloads/{workload['id']}")
        wait_for(lambda: world.node.hardware() == world.first_tree, "the tree of the start")
        if not world.was_limited:  # a limit at the first write counts as the CPU's setting
            wait_for(lambda: world.sim.freq() == world.first_frequencies, "the frequencies of the start")
