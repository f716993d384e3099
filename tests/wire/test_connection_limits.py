"""Many hostile clients at once: an honest client is still served, and after they have left nothing remains of them."""

import contextlib
import os
import socket
import statistics
import subprocess
import time

import pytest

from many_clients import (ENDPOINTS, LIST, Endpoint, allow_many_files, assert_at_rest, cpu_used, make_its_list_long, open_files,
                           readers_that_never_read, reset)
from harness import wait_for
from fixtures import Service
from renegotiation import sealed_client_hellos

KEY_UPDATES = os.environ.get("NRD_KEY_UPDATES", "build/dev/tests/wire/nrd-key-updates")

MANY = 2000
LIMIT = 1024 + 256  # connections that the daemon keeps, docs/security.md
PROMPT = 0.1  # seconds
HALVES = {"nothing": b"", "half a request line": b"GET /v1/no", "half a head": b"GET /v1/node HTTP/1.1\r\nHost: localhost\r\n",
          "half a body": b"POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"}
HALVES_OF_TLS = {"nothing": b"", "half a hello": b"\x16\x03\x01\x02\x00\x01\x00"}
SILENT = [(kind, half) for kind in ENDPOINTS for half in (HALVES_OF_TLS if kind == "tls" else HALVES)]


@pytest.fixture(scope="module")
def service():
    allow_many_files()
    with Service(more="[log]\nlevel = \"warning\"") as service:
        yield service
        # Longer than after each of them, to see also what comes now and then.
        assert cpu_used(service.daemon.pid, during=1) <= 0.05, "CPU use without clients"


def assert_honest_clients_are_served(service):
    """At every endpoint, several times; some slow responses may come from other load on this machine."""
    for kind in ENDPOINTS:
        tries = []
        for _ in range(3):
            tries.append([Endpoint(service, kind).seconds_of_honest_request() for _ in range(5)])
            if statistics.median(tries[-1]) < PROMPT:
                break
        assert statistics.median(tries[-1]) < PROMPT and max(max(times) for times in tries) < 3, (kind, tries)


@pytest.mark.parametrize("kind, half", SILENT)
def test_silent_clients_do_not_block_others(service, kind, half):
    first = (HALVES_OF_TLS if kind == "tls" else HALVES)[half]
    clients = Endpoint(service, kind).silent(MANY, first=first)
    assert len(clients) > MANY * 0.9
    assert_honest_clients_are_served(service)
    assert open_files(service.daemon.pid) < LIMIT + 60
    for client in clients:
        client.close()
    assert_at_rest(service)


def test_clients_of_many_addresses_do_not_block_others(service):
    clients = [client for i in range(2, 10) for client in Endpoint(service, "plain").silent(MANY // 8, source=f"127.0.0.{i}")]
    clients += [client for i in range(2, 10) for client in Endpoint(service, "tls").silent(MANY // 8, source=f"127.0.0.{i}")]
    assert_honest_clients_are_served(service)
    assert open_files(service.daemon.pid) < LIMIT + 60
    for client in clients:
        reset(client)
    assert_at_rest(service)


@pytest.fixture(scope="module")
def loaded(service):
    """With workloads, so that a list of them is long."""
    make_its_list_long(service)
    return service


def test_clients_that_never_read_delay_no_others(loaded):
    readers = readers_that_never_read(loaded)
    assert_honest_clients_are_served(loaded)
    for reader in readers:
        reset(reader)
    assert_at_rest(loaded)


@pytest.mark.parametrize("kind", ENDPOINTS)
def test_clients_that_die_during_a_response_harm_no_others(loaded, kind):
    for _ in range(300):
        client = Endpoint(loaded, kind).client()
        client.sendall(LIST * 3)
        reset(client)
    assert_honest_clients_are_served(loaded)
    assert_at_rest(loaded)


def test_pipelined_requests_are_answered_in_order(loaded):
    paths = ["/v1/health", "/v1/node", "/v1/nothing", "/v1/workloads"] * 25
    with contextlib.closing(loaded.plain()) as reference:
        expected = {}
        for path in set(paths):
            reference.request("GET", path)
            answer = reference.getresponse()
            expected[path] = (answer.status, len(answer.read()))
    with contextlib.closing(Endpoint(loaded, "plain").client()) as client:
        client.sendall(b"".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in paths))
        stream, begun = client.makefile("rb"), time.monotonic()
        for path in paths:
            status = int(stream.readline().split()[1])
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.startswith(b"Content-Length:"):
                    length = int(line.split()[1])
            stream.read(length)
            assert status == expected[path][0] and abs(length - expected[path][1]) < 40, path
        assert time.monotonic() - begun < 5, "nothing waits for a deadline"


def test_without_descriptors_other_connections_are_evicted():
    with Service(more="[log]\nlevel = \"warning\"", files=64) as service:
        # UBSan opens a pipe when it sees a class for the first time, so let the start come to its end.
        wait_for(lambda: "DEBUG_PORT_OPEN" in service.journal(), "the daemon to have started")
        clients = Endpoint(service, "plain").silent(200) + Endpoint(service, "tls").silent(200) + Endpoint(service, "unix").silent(60)
        assert_honest_clients_are_served(service)
        assert cpu_used(service.daemon.pid, during=1) <= 0.1
        for client in clients:
            reset(client)
        assert_honest_clients_are_served(service)


HOLDS = """
import select, socket, sys
clients = []
for _ in range(int(sys.argv[2])):
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    clients.append(client)
print("made", flush=True)
for _ in sys.stdin:
    poll = select.poll()
    for client in clients:
        poll.register(client, select.POLLIN)
    print(len(clients) - len(poll.poll(0)), flush=True)
"""


def test_local_users_do_not_block_root(service):
    """A user has 128 connections of the Unix socket, all users have 256, and root has 8 more."""
    def kept(user):
        user.stdin.write("how many?\n")
        user.stdin.flush()
        return int(user.stdout.readline())

    os.chmod(service.socket, 0o666)
    users = []
    try:
        for uid in (65534, 1, 2, 3):
            users.append(subprocess.Popen(["/usr/bin/python3", "-c", HOLDS, service.socket, "150"], user=uid, group=65534, extra_groups=[],
                                          text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            assert users[-1].stdout.readline() == "made\n"
            wait_for(lambda: kept(users[-1]) <= 128, "a user's share")
        wait_for(lambda: sum(map(kept, users)) <= 256, "the share of all users")
        before = sum(map(kept, users))
        held = Endpoint(service, "unix").silent(8)
        times = [Endpoint(service, "unix").seconds_of_honest_request() for _ in range(5)]
        assert statistics.median(times) < PROMPT * 10 and before >= 248 and sum(map(kept, users)) >= before - 1
    finally:
        os.chmod(service.socket, 0o660)
        for user in users:
            user.stdin.close()
            user.wait()
    for client in held:
        client.close()
    assert_at_rest(service)


class SlowReader:
    """Asks without end and takes a little now and then, so that an answer is always on its way."""

    ASKED = LIST * 100

    def __init__(self, service, source):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", service.port))
        self.socket.setblocking(False)

    def go_on(self):
        with contextlib.suppress(OSError):
            self.socket.recv(3000)
        with contextlib.suppress(OSError):
            for _ in range(20):
                self.socket.send(self.ASKED)


def test_slow_readers_on_all_connections_do_not_block_others(loaded):
    readers = [SlowReader(loaded, f"127.0.0.{2 + i % 4}") for i in range(1024)]
    for _ in range(3):
        for reader in readers:
            reader.go_on()
    served = 0
    for i in range(20):
        for reader in readers[i::20]:
            reader.go_on()
        for source in ("127.0.0.2", "127.0.0.9"):  # one of theirs, and another
            with contextlib.closing(Endpoint(loaded, "plain").client(source)) as client:
                client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                served += client.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert served == 40
    for reader in readers:
        reset(reader.socket)
    assert_at_rest(loaded)


def test_a_storm_from_one_address_does_not_cost_another_its_connection(service):
    """All places are taken by clients that have asked; new ones come all the time; the honest one takes its time."""
    held = []
    for i in range(1024):
        client = Endpoint(service, "plain").client(f"127.0.0.{2 + i % 4}")
        client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(4096)
        held.append(client)
    storm = []
    for _ in range(10):
        honest = Endpoint(service, "plain").client("127.0.0.99")
        for _ in range(30):
            storm.append(Endpoint(service, "plain").socket("127.0.0.7"))
            time.sleep(0.002)
        honest.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert honest.recv(4096).startswith(b"HTTP/1.1 200 ")
        honest.close()
    for client in held + storm:
        reset(client)
    assert_at_rest(service)


def test_a_client_that_only_changes_its_keys_is_cut_off(service):
    flood = subprocess.Popen([KEY_UPDATES, str(service.tls_port), service.admin, "300000"], stdout=subprocess.PIPE)
    assert flood.stdout.readline() == b"made\n"
    assert_honest_clients_are_served(service)
    assert flood.wait(30) == 0
    assert_at_rest(service)


def test_a_client_that_only_asks_to_renegotiate_is_cut_off(service):
    """By TLS 1.2 records of a ClientHello each, sealed with the keys of a handshake that went well."""
    with socket.create_connection(("127.0.0.1", service.tls_port), 30) as client:
        records = sealed_client_hellos(client, service, 100_000)
        client.settimeout(0.5)
        with contextlib.suppress(OSError):
            client.sendall(records)
        assert_honest_clients_are_served(service)
        client.settimeout(10)
        with contextlib.suppress(ConnectionError):
            while client.recv(1 << 16):
                pass
    assert_at_rest(service)
