"""Random requests, and what the kernel, other software and the administrator do meanwhile, on random machines, with faults of
hardware and disk: what is answered is what there is, a restart changes nothing, and nothing remains. NRD_WORLD_SEED=N runs one world
only, of NRD_WORLD_STEPS steps."""

import contextlib
import os

import pytest
from harness import wait_for
from random_world import World

LONG = bool(os.environ.get("NRD_LONG"))
SEEDS = [int(os.environ["NRD_WORLD_SEED"])] if "NRD_WORLD_SEED" in os.environ else range(40 if LONG else 2)
STEPS = int(os.environ.get("NRD_WORLD_STEPS", 60 if LONG else 25))


def settle(world):
    with contextlib.suppress(AssertionError):
        wait_for(lambda: not world.differences(), "answers to be as the kernel")
    world.is_settled = True
    found = world.differences()
    assert found == [], found


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_what_the_kernel_has(seed):
    with World(seed) as world:
        for _ in range(STEPS):
            world.act()
            world.is_settled = False
            if world.dice.random() < 0.6:  # else the next step comes before nrd has seen this one
                settle(world)
        world.calm()
        settle(world)
        before = [*world.node.list(), world.node.hardware()]
        world.node.kill9_and_start()
        after = [*world.node.list(), world.node.hardware()]
        assert before == after, [each for each in zip(before, after) if each[0] != each[1]]
        world.end_all()
