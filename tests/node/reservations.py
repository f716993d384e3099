"""What suites that run at the same time do not take from each other: CPUs and ports."""

import contextlib
import functools
import itertools
import os
import random
import socket

reserved = []
has_one_cpu = True


def reserve(name):
    """Whether no other process of the tests has it. It is this one's until it ends."""
    place = socket.socket(socket.AF_UNIX)
    try:
        place.bind(f"\0nrd-tests-{name}")
    except OSError:
        place.close()
        return False
    reserved.append(place)
    return True


@functools.cache
def stay_on_one_cpu():
    """This process and all it starts share a CPU with as few other suites as possible, unless it uses all.

    Processes that wait for each other are more than twice as fast on one CPU, since no other CPU has to be woken up.
    """
    cpus = sorted(os.sched_getaffinity(0)) if has_one_cpu else []
    for others, cpu in itertools.product(range(16), cpus):
        if reserve(f"cpu-{cpu}-{others}"):
            os.sched_setaffinity(0, [cpu])
            return


def use_all_cpus():
    """For suites about what happens at once, before their first node."""
    global has_one_cpu
    has_one_cpu = False


@functools.cache
def ports():
    """Some that no other process of the tests takes, below those that the kernel gives to clients, of which tests have many."""
    firsts = list(range(10_000, 32_000, 500))
    random.SystemRandom().shuffle(firsts)
    first = next(first for first in firsts if reserve(f"ports-{first}"))
    return itertools.cycle(range(first, first + 500))


def free_port():
    """A port without a listener."""
    for port in ports():
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the daemon
            probe.bind(("127.0.0.1", port))
            return port
