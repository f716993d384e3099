"""Rights in steps: who may do what on which Unix socket, and what of systemd's sockets is which."""

import contextlib
import json
import os
import socket
import subprocess

import pytest

from harness import DEADLINE, NRD, wait_for
from reservations import public_folder
from fixtures import Service, UnixConnection, ask, socket_for
from unix_clients import Client

ANYBODY = 65534  # the user `nobody`
GAMES, NEWS = 60, 9  # groups of every Debian
ASKED = {"core_ids": ["4"], "cache": {"max": 2, "min": 2}}


@pytest.fixture(scope="module")
def service():
    with public_folder() as folder:
        path = f"{folder}/steps.sock"
        with Service(sockets=socket_for(path=path, user=["@games"], run=["@news", "nobody"])) as service:
            service.steps = path
            yield service


@pytest.fixture
def public_path():
    with public_folder() as folder:
        yield folder


def call(path, method, target, body=None, group=ANYBODY):
    """By a member of that group, in a process of its own, with which its workloads end: status and answer."""
    words = ["/usr/bin/curl", "-sS", "-m", str(DEADLINE), "-w", "\\n%{http_code}", "--unix-socket", path, "-X", method, "http://localhost" + target,
             "-H", "Accept: application/json"]
    words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body is not None else []
    done = subprocess.run(words, user=2, group=group, extra_groups=[], capture_output=True, text=True)
    if done.returncode != 0:
        return 0, done.stderr
    text, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(text) if text else None


def test_a_shared_socket_accepts_all_users_and_authorizes_each_request(service):
    assert os.stat(service.steps).st_mode & 0o777 == 0o666
    assert call(service.steps, "GET", "/v1/node", group=NEWS + 1)[0] == 403
    assert call(service.socket, "GET", "/v1/node", group=GAMES)[0] == 0  # only root and its own group may connect


def test_a_link_in_the_place_of_a_socket_is_not_followed(public_path):
    """By a user who owns the folder of the socket."""
    path, victim = f"{public_path}/shared.sock", f"{public_path}/victim"
    with open(victim, "w"):
        os.chmod(victim, 0o600)
    with Service(sockets=socket_for(path=path, user=["@games"], run=["@news"])) as service:
        os.unlink(path)
        os.symlink(victim, path)
        service.sighup("SOCKET_MODE")
    assert os.stat(victim).st_mode & 0o777 == 0o600


def test_a_refusal_names_both_rights_of_a_client_of_two_lists(public_path):
    with Service(sockets=socket_for(path=f"{public_path}/both.sock", user=["@games"], run=["@games"])) as service:
        path = f"{public_path}/both.sock"
        assert call(path, "GET", "/v1/workloads", group=GAMES)[0] == 200
        for method, target, demand in (("PUT", "/v1/onload/freeze", "other changes require the admin role"),
                                       ("GET", "/v1/config", "this request requires the admin role")):
            status, refusal = call(path, method, target, {} if method == "PUT" else None, group=GAMES)
            assert status == 403 and "read-only" not in refusal["detail"], refusal
            assert " may read, and change only workloads and Onload allocations owned by the calling process; " + demand in refusal["detail"]


def test_root_is_administrator_on_each(service):
    for path in (service.socket, service.steps):
        assert ask(UnixConnection(path), "DELETE", "/v1/workloads/77")[0] == 404


KEEPS_A_CONNECTION = """
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
if os.fork():
    os._exit(0)
for line in sys.stdin:
    client.sendall(f"{line.strip()} HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n".encode())
    print(client.recv(65536).split()[1].decode(), flush=True)
"""


def test_a_connection_of_a_process_that_has_ended_is_not_of_the_next_process_with_its_pid(service):
    """A child keeps the connection while its parent ends and another process of the group gets the parent's pid."""
    child = subprocess.Popen(["/usr/bin/python3", "-c", KEEPS_A_CONNECTION, service.steps], user=2, group=NEWS, extra_groups=[], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.wait()
    with contextlib.ExitStack() as stack:
        stack.callback(child.stdin.close)

        def process_with_the_pid():
            with open("/proc/sys/kernel/ns_last_pid", "w") as last:
                last.write(str(child.pid - 1))
            process = stack.enter_context(Client(service.steps, group=NEWS))
            return process if process.pid == child.pid else None

        process = next(filter(None, (process_with_the_pid() for _ in range(100))), None)
        assert process, "another process always had the pid"
        id = process.request("POST", "/v1/workloads", {**ASKED, "owner": {"caller": True}})[1]["id"]
        statuses = []
        for method in ("GET", "DELETE"):
            child.stdin.write(f"{method} /v1/workloads/{id}\n")
            child.stdin.flush()
            statuses.append(child.stdout.readline().strip())
        left = [workload["id"] for workload in service.list()]
    wait_for(lambda: service.list() == [], "the workload to end with its process")
    assert (statuses, left) == (["404", "404"], [id])


def test_refused_attempts_of_the_role_run_do_not_flood_the_journal(service):
    def lines():
        return [line for line in service.journal().splitlines() if "AUDIT_CHANGE" in line and "/v1/workloads/4711" in line]
    with Client(service.steps, group=NEWS) as process:
        assert {process.request("DELETE", "/v1/workloads/4711")[0] for _ in range(300)} == {404}
    assert 0 < len(lines()) <= 40


@pytest.mark.parametrize("body, field", [
    (ASKED, "/owner"), ({**ASKED, "owner": {"pid": 1}}, "/owner"),
    ({"cache": {"max": 1, "min": 1}, "task_ids": ["1"], "owner": {"caller": True}}, "/task_ids")])
def test_requests_beyond_the_own_process_are_refused_and_change_nothing(service, body, field):
    status, refusal = call(service.steps, "POST", "/v1/workloads", body, group=NEWS)
    assert (status, refusal["code"], refusal["field"]) == (403, "Forbidden", field)
    assert service.list() == []


def test_the_role_run_has_no_other_rights(service):
    for method, target in (("GET", "/v1/workloads"), ("GET", "/v1/node"), ("PUT", "/v1/onload/freeze"), ("GET", "/metrics"),
                           ("POST", "/v1/onload/drain"), ("GET", "/v1/onload/users")):
        status, refusal = call(service.steps, method, target, {"frozen": True} if method != "GET" else None, group=NEWS)
        assert status == 403 and "calling process" in refusal["detail"], (method, target, refusal)


@pytest.mark.parametrize("named", ["by path", "by name"])
def test_sockets_of_systemd_are_distinguished_by_name(tmp_path, public_path, named):
    """As nrd.socket and a second unit pass them: LISTEN_FDS and LISTEN_FDNAMES (sd_listen_fds(3))."""
    paths = [f"{public_path}/{name}" for name in ("first.sock", "second.sock")]
    names = ["first", "second"]
    config = tmp_path / "nrd.toml"
    entries = [({"path": path} if named == "by path" else {"path": f"/run/{name}.sock", "name": name}) for path, name in zip(paths, names)]
    config.write_text("\n".join(socket_for(**entry, **lists) for entry, lists in
                                zip(entries, ({"admin": ["@games"]}, {"user": ["@games"]}))))
    with contextlib.ExitStack() as stack:
        # The other way around than the configuration has them.
        listening = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in paths]
        for one, path in zip(reversed(listening), paths):
            one.bind(path)
            os.chmod(path, 0o666)
            one.listen()
        service = stack.enter_context(Service(start=False))
        passed = ["/usr/bin/python3", "-c", """
import os, sys
for to, descriptor in ((3, int(sys.argv[1])), (4, int(sys.argv[2]))):
    os.dup2(descriptor, to + 10)
for to in (3, 4):
    os.dup2(to + 10, to)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="second:first")
os.execv(sys.argv[3], sys.argv[3:])
""", *(str(one.fileno()) for one in listening)]
        words = service.sim.inside([*passed, NRD, "--config", str(config), "--state-dir", service.state])
        log = stack.enter_context(open(tmp_path / "log", "w"))
        daemon = subprocess.Popen(words, stderr=log, pass_fds=[one.fileno() for one in listening])
        try:
            wait_for(lambda: daemon.poll() is not None or call(paths[0], "GET", "/v1/health", group=GAMES)[0] == 200, "the daemon")
            assert daemon.poll() is None, (tmp_path / "log").read_text()
            assert [call(path, "DELETE", "/v1/workloads/1", group=GAMES)[0] for path in paths] == [404, 403]
        finally:
            daemon.kill()
            daemon.wait()
