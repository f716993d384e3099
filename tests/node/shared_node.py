"""A node that several tests share, because a start takes a second or two.

    @pytest.fixture(scope="module")
    def shared():
        with Node() as node:
            yield node

    @pytest.fixture
    def node(shared):
        yield from emptied(shared)
"""

from harness import BUGS, Refused


def emptied(node):
    """It runs before each test, and has no workload after it."""
    if node.daemon is None or node.daemon.poll() is not None:
        node.start()  # the test before it has failed
    before = len(node.journal())
    yield node
    said = node.journal()[before:]
    print(said)
    for workload in node.list():
        try:
            node.delete(workload["id"])
        except Refused as refused:
            assert refused.status == 404, refused  # gone with its owner
    node.assert_consistent(set())
    assert BUGS.findall(said) == []
