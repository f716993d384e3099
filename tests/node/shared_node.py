"""A node that the tests of a suite share, because a start takes a second or two. A suite whose node has options defines
`shared` itself.

    from shared_node import node, shared  # noqa: F401
"""

import pytest

from harness import BUGS, Node, Refused


@pytest.fixture(scope="module")
def shared():
    with Node() as node:
        yield node


def emptied(node):
    """It runs before each test, and has no workload after it."""
    if node.daemon is None or node.daemon.poll() is not None:
        node.start()  # the test before it has failed
    node.said_before = len(node.journal())
    yield node
    print(node.said())
    for workload in node.list():
        try:
            node.delete(workload["id"])
        except Refused as refused:
            assert refused.status == 404, refused  # gone with its owner
    node.assert_consistent(set())
    assert BUGS.findall(node.said()) == []


@pytest.fixture
def node(shared):
    yield from emptied(shared)
