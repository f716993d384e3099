"""Slow clients are closed at the deadlines. These may take twice as long here, since other tests run at the same time."""

import concurrent.futures
import contextlib
import select
import time

import pytest

from many_clients import Endpoint, assert_at_rest, make_its_list_long, readers_that_never_read
from harness import wait_for
from fixtures import Service


@pytest.fixture(scope="module")
def service():
    with Service(more="[log]\nlevel = \"warning\"") as service:
        make_its_list_long(service)
        yield service


def test_clients_that_drip_are_closed_at_the_header_deadline(service):
    clients = Endpoint(service, "plain").silent(50, first=b"GET /")
    begun, ended = time.monotonic(), {}
    while len(ended) < len(clients) and time.monotonic() - begun < 30:
        for client in clients:
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
    assert len(ended) == len(clients) and 9 < time.monotonic() - begun < 20
    assert any(answer.startswith(b"HTTP/1.1 408 ") for answer in ended.values())
    assert_at_rest(service)


def test_clients_that_never_read_are_closed(service):
    readers, ends = readers_that_never_read(service), select.poll()
    for reader in readers:
        ends.register(reader, 0)  # POLLHUP is reported without being requested
    wait_for(lambda: [event & select.POLLHUP for _, event in ends.poll(0)] == [select.POLLHUP] * len(readers),
             "the readers to be cut")
    assert_at_rest(service)


def seconds_until_closed(client, at_intervals=lambda client: None, limit=120):
    """How long the daemon keeps the connection, and the last it sends; `at_intervals` is what the client does meanwhile."""
    begun, said = time.monotonic(), b""
    client.settimeout(0.5)
    with contextlib.closing(client):
        while time.monotonic() - begun < limit:
            try:
                at_intervals(client)
                piece = client.recv(4096)
                if not piece:
                    break
                said = piece
            except TimeoutError:
                pass
            except OSError:
                break
        return time.monotonic() - begun, said


def test_each_deadline_ends_a_connection_however_the_bytes_drip(service):
    """docs/security.md: handshake and head 10 s, body 30 s, between two requests 75 s."""
    def drip_a_handshake():
        client = Endpoint(service, "tls").socket()
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        return seconds_until_closed(client, lambda client: client.sendall(b"\x00"))

    def drip_a_body():
        client = Endpoint(service, "plain").client()
        client.sendall(b"POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
        return seconds_until_closed(client, lambda client: client.sendall(b" "))

    def rest():
        client = Endpoint(service, "plain").client()
        client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return seconds_until_closed(client)

    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        handshake, body, idle = [one.result() for one in [threads.submit(client) for client in (drip_a_handshake, drip_a_body, rest)]]
    assert 9 < handshake[0] < 20, handshake
    assert 29 < body[0] < 45 and body[1].startswith(b"HTTP/1.1 408 "), body
    assert 74 < idle[0] < 95 and idle[1].startswith(b"HTTP/1.1 200 "), idle
    assert_at_rest(service)
