"""Users and passwords over TLS: Debian's PAM with accounts made for the test, and modules that misbehave."""

import bisect
import concurrent.futures
import contextlib
import dbm.ndbm
import json
import os
import pty
import random
import re
import shutil
import subprocess
import threading
import time

import pytest

from harness import NRDCTL, wait_for
from nrdctl import run_nrdctl
from rmd_layout import Layout
from fixtures import Accounts, Service, ask, basic, shadowed

PASSWORD = "correct horse: battery"
USERS = {"alice": shadowed(PASSWORD), "bob": shadowed("b"), "guest": shadowed("g"), "empty": ":19000:0:99999:7:::",
         "late": shadowed("l", ends=19001)}
CONFIG = """
[roles]
pam_admin = ["alice"]
pam_user = ["bob", "empty", "late", "crash", "hang", "nobody-at-all"]
[access]
pam = true
"""
MALFORMED = "Malformed credentials\n"


@pytest.fixture(scope="module")
def service():
    with Service("optional", CONFIG, accounts=Accounts(USERS)) as service:
        yield service


def get(service, headers, path="/v1/node", source="127.0.0.1", method="GET"):
    return ask(service.tls(source=source), method, path, headers=headers)


def test_a_user_with_a_valid_password_has_their_role(service):
    assert get(service, basic("alice", PASSWORD))[0] == 200
    assert get(service, basic("bob", "b"))[0] == 200
    status, text, _ = get(service, basic("bob", "b"), "/v1/workloads/1", method="DELETE")
    assert (status, text) == (403, 'User "bob" is not authorized to access this resource\n')
    assert get(service, basic("alice", PASSWORD), "/v1/workloads/1", method="DELETE")[0] == 404
    assert any("AUDIT_CHANGE" in line and "USER=alice" in line for line in service.journal().splitlines())


def test_without_a_ca_no_client_needs_a_certificate_and_each_a_password():
    with Service("optional", CONFIG, accounts=Accounts(USERS), start=False) as service:
        with open(service.config) as file:
            text = file.read()
        service.configure(re.sub("^client_ca = .*\n", "", text, flags=re.M))
        service.start()
        assert get(service, basic("alice", PASSWORD))[0] == 200
        assert get(service, {})[:2] == (400, MALFORMED)
        assert ask(service.tls(service.admin), "GET", "/v1/node")[:2] == (400, MALFORMED)
        service.sighup("CONFIG_RELOADED")
        assert get(service, basic("bob", "b"))[0] == 200


def test_a_user_without_a_role_learns_nothing_about_the_password(service):
    for password in ("g", "x"):
        status, text, headers = get(service, basic("guest", password), source="127.0.0.2")
        assert (status, text) == (401, "Authentication failure\n")
        assert headers["WWW-Authenticate"] == "Basic realm=RMD"
    assert get(service, basic("root", "x"), source="127.0.0.2")[:2] == (401, "Authentication failure\n")


def test_the_duration_of_a_failure_does_not_reveal_whether_pam_was_asked():
    """Two distributions of 200, mixed at random: wrong passwords of users with a role, and right ones of others."""
    users = [f"user{i}" for i in range(20)]
    accounts = Accounts({user: shadowed(user) for user in [*users, "guest"]})
    config = f"[roles]\npam_user = {json.dumps(users)}\n[access]\npam = true\n[log]\nlevel = \"error\"\n"

    def seconds(service, at, user, password):
        begun = time.monotonic()
        assert get(service, basic(user, password), source=f"127.1.{at // 200}.{1 + at % 200}")[0] == 401
        return time.monotonic() - begun

    def distributions(service):
        guests = [f"nobody{i}" for i in range(19)] + ["guest"]
        logins = [(True, users[i % 20], "wrong") for i in range(200)] + [(False, guests[i % 20], "guest") for i in range(200)]
        random.shuffle(logins)  # who comes second of two finds the node busier
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            asked = [(with_role, threads.submit(seconds, service, at, user, password))
                     for at, (with_role, user, password) in enumerate(logins)]
            return [sorted(one.result() for has, one in asked if has == with_role) for with_role in (True, False)]

    with Service("optional", config, accounts=accounts) as service:
        for at in range(16):  # how long failures take on this node now
            seconds(service, 500 + at, users[at], "wrong")
        with_role, without = distributions(service)
    assert min(with_role[0], without[0]) >= 0.45, "a failure is told at once"
    # Kolmogorov and Smirnov: 0.25 for two of 200 that are the same, but for one time in 100,000.
    both = sorted(with_role + without)
    apart = max(abs(bisect.bisect_right(with_role, at) - bisect.bisect_right(without, at)) / 200 for at in both)
    assert apart < 0.25, (apart, with_role[::20], without[::20])


def test_where_pam_takes_long_to_say_no_users_without_a_role_wait_as_long():
    accounts = Accounts({"alice": shadowed("a")})
    with open(accounts.path("pam.d/slow"), "w") as file:
        file.write("auth optional pam_exec.so quiet /bin/sleep 0.6\nauth required pam_unix.so\n")

    def seconds(service, user, source):
        begun = time.monotonic()
        assert get(service, basic(user, "wrong"), source=source)[0] == 401
        return time.monotonic() - begun

    with Service("optional", '[roles]\npam_user = ["alice"]\n[access]\npam = true\npam_service = "slow"\n',
               accounts=accounts) as service:
        assert seconds(service, "alice", "127.0.0.10") >= 0.95
        assert seconds(service, "guest", "127.0.0.11") >= 0.95


def test_a_pam_refusal_has_rmds_text(service):
    status, text, headers = get(service, basic("alice", "wrong"), source="127.0.0.3")
    assert (status, text) == (401, "Authentication failure\n")
    assert (headers["WWW-Authenticate"], headers.get_content_type()) == ("Basic realm=RMD", "text/plain")


def test_the_client_gets_pams_own_text(misbehaving):
    status, text, _ = get(misbehaving, basic("nobody-at-all", "x"))
    assert (status, text) == (401, "User not known to the underlying authentication module\n")
    status, text, _ = get(misbehaving, basic("late", "l"))
    assert (status, text) == (401, "User account has expired\n")


@pytest.mark.parametrize("header", [None, "Basic", "Basic !!!", "Bearer YTpi", "Basic YQ=="])
def test_without_credentials_it_is_a_400(service, header):
    assert get(service, {"Authorization": header} if header else {})[:2] == (400, MALFORMED)


def test_an_empty_password_is_none_whatever_the_stack_says(service):
    assert get(service, basic("empty", ""), source="127.0.0.4")[0] == 401


def test_each_failure_is_logged_with_user_and_address_and_never_the_password(service):
    get(service, basic("alice", "my secret mistake"), source="127.0.0.5")
    line, = [line for line in service.journal().splitlines() if "LOGIN_FAILED" in line and "FROM=127.0.0.5:" in line]
    assert "USER=alice" in line and "REASON=Authentication failure" in line
    assert "my secret mistake" not in service.journal() and PASSWORD not in service.journal()


def test_the_name_of_a_user_does_not_forge_the_line_about_a_failure(service):
    """Programs that block hosts after failed logins find them in it."""
    get(service, basic("alice from 192.0.2.1", "x"), source="127.0.0.16")
    line, = [line for line in service.journal().splitlines() if "LOGIN_FAILED" in line and "FROM=127.0.0.16:" in line]
    assert 'LOGIN_FAILED: "alice from 192.0.2.1" from 127.0.0.16:' in line


def test_a_password_is_nothing_on_the_unix_socket_and_on_plain_http(service):
    wrong = basic("alice", "wrong")
    assert ask(service.unix(), "GET", "/v1/node", headers=wrong)[0] == 200
    assert ask(service.plain(), "GET", "/v1/node", headers=wrong)[0] == 200


def test_a_user_with_too_many_failures_is_blocked_and_others_are_not(service):
    codes = [get(service, basic("bob", "wrong"), source="127.0.0.6")[0] for _ in range(12)]
    assert codes[:10] == [401] * 10 and 429 in codes[10:]
    status, _, headers = get(service, basic("bob", "b"), source="127.0.0.6")
    assert status == 429 and int(headers["Retry-After"]) > 0
    assert get(service, basic("bob", "b"), source="127.0.0.7")[0] == 200
    wait_for(lambda: get(service, basic("bob", "b"), source="127.0.0.6")[0] == 200, "the host to be let in again")


def test_failed_logins_of_a_host_do_not_flood_the_journal(service):
    with concurrent.futures.ThreadPoolExecutor(10) as threads:
        codes = list(threads.map(lambda i: get(service, basic(f"guest{i}", "wrong"), source="127.0.0.9")[0], range(100)))
    assert set(codes) == {401, 429}
    lines = [line for line in service.journal().splitlines() if "FROM=127.0.0.9:" in line]
    assert 10 <= len(lines) <= 25


def test_no_password_remains_in_the_daemons_memory(service):
    mark = "Zx7-unlikely-41f6"
    assert get(service, basic("alice", mark), source="127.0.0.8")[0] == 401
    assert b"127.0.0.8" in memory_of(service.daemon_pid())  # the peer's name is found, so a password would be
    assert mark.encode() not in memory_of(service.daemon_pid())


def memory_of(pid):
    """All it may write and has written, but for what a sanitizer reserves."""
    pieces = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and last - first < 1 << 28:
                memory.seek(first)
                pieces.append(memory.read(last - first))
    return b"".join(pieces)


# Users of RMD: its stack of PAM, access list and database of users, carried over.

class OfRmd(Accounts):
    """Its own user `user`, who is in RMD's database alone, and users of the node."""

    def __init__(self):
        super().__init__({"bob": shadowed("b"), "late": shadowed("l", ends=19001)})
        with dbm.ndbm.open(self.path("rmd_users"), "n") as users:
            users["user"] = shadowed("user1").split(":")[0]
        layout = Layout(self.folder, clientauth="no", authority="Mine", server="mine")
        layout.write("pam/rmd", "auth sufficient pam_unix.so\n"
                                f"auth requisite pam_userdb.so db={self.path('rmd_users')} crypt=crypt\n")
        self.output = self.path("nrd")
        subprocess.run([NRDCTL, "import-rmd", layout.path, "--output", self.output], check=True, capture_output=True,
                       timeout=60)
        with open(os.path.join(self.output, "acl.csv"), "a") as acl:
            acl.write("g, user, user\ng, bob, admin\ng, late, user\n")
        shutil.copy(os.path.join(self.output, "pam/nrd"), self.path("pam.d/nrd"))


def test_users_of_rmd_log_in_with_imported_accounts():
    accounts = OfRmd()
    with Service("optional", f'[access]\npam = true\nacl = "{accounts.output}/acl.csv"\n', accounts=accounts) as service:
        assert get(service, basic("user", "user1"), "/v1/workloads")[0] == 200
        assert get(service, basic("user", "user1"), "/v1/workloads/1", method="DELETE")[:2] == (
            403, 'User "user" is not authorized to access this resource\n')
        assert get(service, basic("bob", "b"), "/v1/workloads/1", method="DELETE")[0] == 404
        for user, password in (("user", "user2"), ("late", "l"), ("mallory", "x")):
            assert get(service, basic(user, password), "/v1/workloads", source="127.0.0.9")[0] == 401


# nrdctl

def nrdctl(service, *flags, **options):
    return run_nrdctl("--url", f"https://127.0.0.1:{service.tls_port}", "--cacert", service.authority.path, *flags, "workload", "list",
                      **options)


@pytest.fixture
def password_file(tmp_path):
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\nmore\n")
    path.chmod(0o600)
    return path


def test_nrdctl_reads_the_password_from_a_file_of_its_owners(service, password_file):
    flags = ["--user", "alice", "--password-file", str(password_file)]
    assert nrdctl(service, *flags).returncode == 0
    for mode in (0o640, 0o604, 0o620):
        password_file.chmod(mode)
        done = nrdctl(service, *flags)
        assert done.returncode == 2 and "chmod 600" in done.stderr


def test_nrdctl_reads_the_password_from_a_descriptor(service):
    assert nrdctl(service, "--user", "alice", "--password-fd", "0", input=PASSWORD + "\n").returncode == 0
    assert nrdctl(service, "--user", "alice", "--password-fd", "0", input=PASSWORD).returncode == 0
    done = nrdctl(service, "--user", "alice", "--password-fd", "0", input="wrong")
    assert done.returncode == 77 and "Authentication failure" in done.stderr
    assert nrdctl(service, "--user", "alice", "--password-fd", "0", input="\n").returncode == 2


def test_nrdctl_asks_at_the_terminal_without_an_echo(service):
    child, terminal = pty.fork()
    if child == 0:
        os.execv(NRDCTL, [NRDCTL, "--url", f"https://127.0.0.1:{service.tls_port}", "--cacert", service.authority.path,
                          "--user", "alice", "workload", "list"])
    seen = b""
    while b"Password of alice: " not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, PASSWORD.encode() + b"\n")
    with contextlib.suppress(OSError):  # EIO: no process has the terminal open any more
        while piece := os.read(terminal, 4096):
            seen += piece
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert PASSWORD.encode() not in seen


def test_nrdctl_refuses_passwords_over_plain_http_beside_a_certificate_and_without_terminal(service):
    plain = run_nrdctl("--url", f"http://127.0.0.1:{service.port}", "--user", "alice", "workload", "list")
    assert plain.returncode != 0 and "https" in plain.stderr
    both = nrdctl(service, "--cert", service.admin, "--user", "alice", "--password-fd", "0", input="x")
    assert both.returncode != 0 and "--cert" in both.stderr
    assert nrdctl(service, "--user", "alice", start_new_session=True, stdin=subprocess.DEVNULL).returncode == 2


# Modules that misbehave: pam_exec runs a script whose parent is nrd-pam.

@pytest.fixture(scope="module")
def misbehaving():
    with Service("optional", CONFIG + 'pam_service = "misbehaves"\n', accounts=Misbehaving(USERS)) as service:
        yield service


class Misbehaving(Accounts):
    def __init__(self, users):
        super().__init__(users)
        self._write("script", "#!/bin/sh\ncase $PAM_USER in crash) kill -SEGV $PPID;; hang) sleep 1111;; esac\n", 0o755)
        self._write("pam.d/misbehaves", f"auth required pam_exec.so quiet {self.path('script')}\n"
                                        "auth required pam_unix.so\naccount required pam_unix.so\n", 0o644)


def test_a_module_that_crashes_costs_its_login_an_answer_and_nothing_else(misbehaving):
    status, text, _ = get(misbehaving, basic("crash", "x"))
    assert status == 503 and "ended without an answer" in text
    assert get(misbehaving, basic("alice", PASSWORD))[0] == 200
    assert "LOGIN_UNCHECKED" in misbehaving.journal()


def test_logins_that_pam_could_not_check_are_no_failures(misbehaving):
    assert [get(misbehaving, basic("crash", "x"), source="127.0.0.8")[0] for _ in range(12)] == [503] * 12
    assert get(misbehaving, basic("alice", PASSWORD), source="127.0.0.8")[0] == 200


def test_a_hanging_module_is_killed_with_its_children_and_delays_no_others(misbehaving):
    answers = []
    began = time.monotonic()
    clients = [threading.Thread(target=lambda: answers.append(get(misbehaving, basic("hang", "x"))[:2])) for _ in range(2)]
    for client in clients:
        client.start()
    wait_for(lambda: hanging() >= 2, "both to hang")
    assert get(misbehaving, basic("alice", PASSWORD))[0] == 200
    assert ask(misbehaving.unix(), "GET", "/v1/node")[0] == 200
    for client in clients:
        client.join()
    assert answers == [(503, "cannot check the password now: PAM timed out\n")] * 2
    assert 9 < time.monotonic() - began < 20
    wait_for(lambda: hanging() == 0, "what hangs to be killed")


def hanging():
    """Processes "sleep 1111" of the misbehaving script, which no other test starts."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                count += file.read() == b"sleep\x001111\x00"
        except OSError:
            pass
    return count


def test_a_stop_does_not_wait_for_a_module_that_hangs(misbehaving):
    with contextlib.closing(misbehaving.tls()) as client:
        client.request("GET", "/v1/node", headers=basic("hang", "x"))
        wait_for(lambda: hanging() >= 1, "a login that hangs")
        assert misbehaving.terminate() == 0
        wait_for(lambda: hanging() == 0, "what hangs to be killed")
        misbehaving.start()


def test_a_service_without_a_file_is_refused_at_the_start():
    with Service("optional", CONFIG + 'pam_service = "absent"\n', accounts=Accounts(USERS), start=False) as service:
        service.spawn()
        assert service.wait_dead() == 78
        assert "/etc/pam.d/absent is missing" in service.journal()
