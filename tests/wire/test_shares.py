"""Each client gets its share of the daemon's slots and no more, and never those of an administrator."""

import concurrent.futures
import contextlib
import json
import ssl
import threading
import time

import pytest

from many_clients import Endpoint, allow_many_files
from harness import wait_for
from fixtures import CLIENT, Service, ask, name

JSON = {"Content-Type": "application/json"}
SHARE = 64  # of the watchers, base/wait_list.h
ANSWERED = set()  # clients that have their answer
ALL_READS = ["/v1/onload/users", "/v1/onload/stacks", "/v1/onload/versions", "/v1/onload/interfaces", "/v1/onload/profiles"]


@pytest.fixture(scope="module")
def service():
    allow_many_files()
    with Service(more="[log]\nlevel = \"error\"") as service:
        service.create("4-5", 2, 2)
        yield service


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


def connections(service, certificate, count):
    context = ssl.create_default_context(cafile=service.authority.path)
    context.load_cert_chain(certificate)
    return [context.wrap_socket(Endpoint(service, "tls").socket(), server_hostname="localhost") for _ in range(count)]


def read_answer(client):
    """Status of one answer, whose body is read to its end."""
    stream = client.makefile("rb")
    status = int(stream.readline().split()[1])
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split()[1])
    stream.read(length)
    return status


def is_answered(client):
    """Whether a 200 has come."""
    client.setblocking(False)
    with contextlib.suppress(ssl.SSLWantReadError):
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        ANSWERED.add(client)
    client.settimeout(30)
    return client in ANSWERED


@contextlib.contextmanager
def asking_all_the_time(clients, paths):
    """Each of the clients asks again as soon as it is answered; yields the statuses so far."""
    end, statuses = threading.Event(), []

    def loop(client, i):
        with contextlib.suppress(OSError):
            while not end.is_set():
                client.sendall(get(paths[i % len(paths)]))
                statuses.append(read_answer(client))
                i += 1

    threads = [threading.Thread(target=loop, args=(client, i)) for i, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        end.set()
        for thread in threads:
            thread.join()
        for client in clients:
            client.close()


def test_changes_go_on_while_a_user_asks_about_onload_on_100_connections(service):
    with asking_all_the_time(connections(service, service.user, 100), ALL_READS) as statuses:
        wait_for(lambda: len(statuses) > 100, "the others to have begun")
        changes = [ask(service.tls(service.admin), "PUT", "/v1/onload/freeze", '{"frozen":false}', JSON)[0] for _ in range(15)]
    assert changes == [200] * 15
    assert set(statuses) == {200}, "one look answers all who wait for it"


def test_one_user_does_not_use_the_slots_of_another(service):
    other = service.authority.sign("other.pem", name("Bo", "User"), CLIENT)
    # Different questions, which no look can answer together.
    with asking_all_the_time(connections(service, service.user, 150), [f"/v1/onload/profiles/p{i}" for i in range(997)]) as statuses:
        wait_for(lambda: len(statuses) > 150, "the others to have begun")
        assert [ask(service.tls(other), "GET", "/v1/onload/profiles/mine")[0] for _ in range(10)] == [404] * 10
        assert ask(service.tls(service.admin), "GET", "/v1/onload/profiles/mine")[0] == 404
    assert set(statuses) <= {404, 503}


@pytest.mark.parametrize("path", ["/v1/workloads", "/v1/onload"])
def test_a_client_with_too_many_long_polls_is_answered_early_and_blocks_no_others(service, path):
    def revision():
        text, headers = ask(service.unix(), "GET", path)[1:]
        return headers["X-Nrd-Revision"] or json.loads(text)["revision"]

    waiting = f"{path}?since={revision()}&wait=40"
    clients = connections(service, service.user, SHARE + 40)
    for client in clients:
        client.sendall(get(waiting))
    wait_for(lambda: sum(map(is_answered, clients)) >= 40, "those to be answered that wait beyond the share")
    time.sleep(0.2)
    assert sum(map(is_answered, clients)) == 40
    for other in (service.admin, service.authority.sign("third.pem", name("Ce", "User"), CLIENT)):
        begun = time.monotonic()
        assert ask(service.tls(other), "GET", waiting.replace("=40", "=1"))[0] == 200
        assert time.monotonic() - begun > 0.9, "nobody has to give way for it"
    for client in clients:
        client.close()


@pytest.mark.parametrize("path", ["/v1/workloads", "/v1/onload"])
def test_a_closed_long_poll_frees_its_slot(service, path):
    text, headers = ask(service.unix(), "GET", path)[1:]
    revision = headers["X-Nrd-Revision"] or json.loads(text)["revision"]
    for client in connections(service, service.user, SHARE):
        client.sendall(get(f"{path}?since={revision}&wait=60"))
        client.close()
    waits, = connections(service, service.user, 1)
    waits.sendall(get(f"{path}?since={revision}&wait=60"))
    again = connections(service, service.user, SHARE - 1)
    for client in again:
        client.sendall(get(f"{path}?since={revision}&wait=60"))
    waits.settimeout(1)
    with pytest.raises(TimeoutError):
        waits.recv(1)  # had those who are gone still their places, this one had given way
    for client in [waits, *again]:
        client.close()


def test_equal_reads_are_answered_together(service):
    id = json.loads(ask(service.unix(), "GET", "/v1/workloads")[1])[0]["id"]
    paths = [*ALL_READS, f"/v1/workloads/{id}/monitoring", "/metrics"]
    clients = connections(service, service.user, 200)
    for path in paths:
        for client in clients:
            client.sendall(get(path))
        with concurrent.futures.ThreadPoolExecutor(20) as threads:
            assert set(threads.map(read_answer, clients)) == {200}, path
    for client in clients:
        client.close()
