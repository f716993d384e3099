import pytest

from simnode import SimNode


@pytest.fixture
def start():
    """Starts simulated nodes that end with the test."""
    nodes = []

    def start_one(command=("sleep", "infinity"), **options):
        # Of one vendor's part whatever the host is, for what does not call libpqos, which asks CPUID.
        if "mb_unit" not in options and "machine" not in options:
            options = {"vendor": "intel", **options}
        nodes.append(SimNode().start(command, **options))
        return nodes[-1]

    yield start_one
    for node in nodes:
        node.stop()


@pytest.fixture
def node(start):
    """Two sockets of eight CPUs, eleven ways."""
    return start()
