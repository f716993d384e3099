"""Who keeps the daemon waiting is cut at the deadline of what he owes. They may be twice as long here, since other
tests run beside these."""

import contextlib
import select
import time

import pytest

from crowd_clients import Door, assert_at_rest, make_its_list_long, readers_that_never_read
from harness import wait_for
from parties import House


@pytest.fixture(scope="module")
def house():
    with House(more="[log]\nlevel = \"warning\"") as house:
        make_its_list_long(house)
        yield house


def test_clients_that_drip_are_cut_at_the_deadline_of_a_head(house):
    crowd = Door(house, "plain").silent(50, first=b"GET /")
    begun, ended = time.monotonic(), {}
    while len(ended) < len(crowd) and time.monotonic() - begun < 30:
        for client in crowd:
            if client in ended:
                continue
            try:
                client.sendall(b"a")
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    ended[client] = client.recv(4096)
                client.setblocking(True)
            except OSError:
                ended[client] = b""
        time.sleep(0.2)
    assert len(ended) == len(crowd) and 9 < time.monotonic() - begun < 20
    assert any(answer.startswith(b"HTTP/1.1 408 ") for answer in ended.values())
    assert_at_rest(house)


def test_readers_that_never_read_are_cut(house):
    readers, ends = readers_that_never_read(house), select.poll()
    for reader in readers:
        ends.register(reader, 0)  # who waits for nothing is told of an end all the same
    wait_for(lambda: [event & select.POLLHUP for _, event in ends.poll(0)] == [select.POLLHUP] * len(readers),
             "the readers to be cut")
    assert_at_rest(house)
