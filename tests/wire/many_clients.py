"""Hostile clients in large numbers, and an honest one beside them."""

import concurrent.futures
import contextlib
import os
import resource
import socket
import ssl
import struct
import time

from harness import DEADLINE, use_all_cpus, wait_for

use_all_cpus()
ENDPOINTS = ["plain", "tls", "unix"]
LIST = b"GET /v1/workloads HTTP/1.1\r\nHost: localhost\r\n\r\n"
RST_ON_CLOSE = struct.pack("ii", 1, 0)


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Endpoint:
    """An endpoint of the daemon, used with raw bytes."""

    def __init__(self, service, kind):
        self.service, self.kind = service, kind

    def socket(self, source=None, is_narrow=False):
        """Connected, without TLS. A narrow one is soon full: the kernels keep kilobytes for it and not megabytes."""
        if self.kind == "unix":
            raw = socket.socket(socket.AF_UNIX)
            raw.connect(self.service.socket)  # blocking: with a time it would fail at once where the queue is full
            raw.settimeout(DEADLINE)
            return raw
        port = self.service.tls_port if self.kind == "tls" else self.service.port
        raw = socket.socket()
        raw.settimeout(DEADLINE)
        if is_narrow:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
        if source:
            raw.bind((source, 0))
        raw.connect(("127.0.0.1", port))
        return raw

    def client(self, source=None, is_narrow=False):
        """Ready for a request."""
        raw = self.socket(source, is_narrow)
        if self.kind != "tls":
            return raw
        context = ssl.create_default_context(cafile=self.service.authority.path)
        context.load_cert_chain(self.service.admin)
        return context.wrap_socket(raw, server_hostname="localhost")

    def silent(self, count, source=None, first=b""):
        """So many connections that say `first` and then nothing."""
        clients = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                raw = self.socket(source)
                raw.settimeout(DEADLINE)
                if first:
                    raw.sendall(first)
                clients.append(raw)
        return clients

    def seconds_of_honest_request(self):
        begun = time.monotonic()
        with contextlib.closing(self.client()) as client:
            client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200 "), answer[:200]
        return time.monotonic() - begun


def reset(client):
    """Closes with a RST, as the kernel does for a client that died."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_ON_CLOSE)
        client.close()


def make_its_list_long(service):
    for cpu in range(14):
        service.create(str(cpu), 0, 0, uuid=f"{cpu}-" + "x" * 90)


def readers_that_never_read(service):
    """30 at each endpoint, which have sent requests until the daemon reads no more. All at once: the first is not closed
    before the last is full."""
    def ask_until_full(reader):
        reader.settimeout(0.5)
        with contextlib.suppress(OSError):
            for _ in range(2000):
                reader.sendall(LIST)

    readers = [Endpoint(service, kind).client(is_narrow=True) for kind in ENDPOINTS for _ in range(30)]
    with concurrent.futures.ThreadPoolExecutor(len(readers)) as threads:
        list(threads.map(ask_until_full, readers))
    return readers


def cpu_used(pid, during):
    """Seconds of CPU in the next so many seconds."""
    clock = ~pid << 3 | 2  # the process's, as clock_getcpuclockid() makes it: finer than the ticks of /proc
    before = time.clock_gettime(clock)
    time.sleep(during)
    return time.clock_gettime(clock) - before


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def assert_at_rest(service):
    pid = service.daemon.pid
    wait_for(lambda: open_files(pid) < 60, "the connections to be given up")
    assert cpu_used(pid, during=0.2) <= 0.05, "CPU use without clients"
