"""Clients that mean no good, in numbers, and the honest one beside them."""

import contextlib
import os
import resource
import socket
import ssl
import struct
import time

from harness import DEADLINE

RST_ON_CLOSE = struct.pack("ii", 1, 0)


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Door:
    """One of the daemon's doors, by raw bytes."""

    def __init__(self, house, kind):
        self.house, self.kind = house, kind

    def socket(self, source=None):
        """Connected, without TLS."""
        if self.kind == "unix":
            raw = socket.socket(socket.AF_UNIX)
            raw.connect(self.house.socket)  # blocking: with a time it would fail at once where the queue is full
            raw.settimeout(DEADLINE)
            return raw
        port = self.house.tls_port if self.kind == "tls" else self.house.port
        return socket.create_connection(("127.0.0.1", port), DEADLINE, (source, 0) if source else None)

    def client(self, source=None):
        """Ready for a request."""
        raw = self.socket(source)
        if self.kind != "tls":
            return raw
        context = ssl.create_default_context(cafile=self.house.authority.path)
        context.load_cert_chain(self.house.admin)
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
            client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: honest\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200 "), answer[:200]
        return time.monotonic() - begun


def reset(client):
    """Ends without a farewell, as a client does that has died."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_ON_CLOSE)
        client.close()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
