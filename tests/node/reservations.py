"""What suites that run at the same time do not take from each other: CPUs, ports and a folder."""

import contextlib
import functools
import itertools
import os
import random
import socket
import tempfile

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


def use_all_cpus():
    """Before the first node, for suites about what happens at once."""
    global has_one_cpu
    has_one_cpu = False


@functools.cache
def cpus_of_nodes():
    """One that as few other suites as possible have taken; all for a suite that uses all."""
    cpus = os.sched_getaffinity(0)
    for others, cpu in itertools.product(range(16), sorted(cpus) if has_one_cpu else []):
        if reserve(f"cpu-{cpu}-{others}"):
            return {cpu}
    return cpus


@contextlib.contextmanager
def on_cpus_of_nodes():
    """Where what this thread starts runs.

    Processes that wait for each other are more than twice as fast on one CPU, since no other CPU has to be woken up. A
    test's own processes are elsewhere: on the CPU that a workload is to get, they would not have to move.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus_of_nodes())
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


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


@contextlib.contextmanager
def public_folder():
    """One that every user may enter. Those of pytest are below one that each start of pytest closes to other users."""
    with tempfile.TemporaryDirectory(prefix="nrd-public-") as folder:
        os.chmod(folder, 0o755)
        yield folder
