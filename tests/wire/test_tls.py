"""TLS as independent tools see it, and files that change under it."""

import contextlib
import datetime
import os
import re
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from harness import NRD, START, replace, wait_for
from shared_node import emptied
from fixtures import CLIENT, DAY, NOW, SERVER, Authority, Service, ask, name
from unix_clients import UnixConnection


@pytest.fixture
def service(shared):
    """After each test it has its own files again."""
    files = {path: read(path) for path in (shared.server, shared.authority.path)}
    yield from emptied(shared)
    if any(read(path) != content for path, content in files.items()):
        for path, content in files.items():
            replace(path, content)
        shared.sighup("TLS_RELOADED")


def s_client(service, *options, certificate=True):
    own = ["-cert", service.admin, "-key", service.admin] if certificate else []
    return subprocess.run(["/usr/bin/openssl", "s_client", "-connect", f"127.0.0.1:{service.tls_port}", "-CAfile", service.authority.path,
                           *own, *options], input="", capture_output=True, text=True, timeout=30)


def test_sslscan_finds_nothing_below_tls_1_2_and_no_weak_suite(service):
    seen = subprocess.run(["/usr/bin/sslscan", "--no-colour", f"--certs={service.admin}", f"--pk={service.admin}", f"127.0.0.1:{service.tls_port}"], capture_output=True,
                          text=True, timeout=60).stdout
    for version, state in (("SSLv2", "disabled"), ("SSLv3", "disabled"), ("TLSv1.0", "disabled"), ("TLSv1.1", "disabled"),
                           ("TLSv1.2", "enabled"), ("TLSv1.3", "enabled")):
        assert re.search(rf"^{re.escape(version)}\s+{state}", seen, re.M), seen
    suites = re.findall(r"^(?:Accepted|Preferred)\s+(TLSv1\.\d)\s+(\d+) bits\s+(\S+)", seen, re.M)
    assert any(version == "TLSv1.2" for version, _, _ in suites) and any(version == "TLSv1.3" for version, _, _ in suites)
    for version, bits, suite in suites:
        assert int(bits) >= 128 and re.search("GCM|CHACHA20|POLY1305", suite), seen
        assert version == "TLSv1.3" or suite.startswith("ECDHE-"), seen
    assert "Session renegotiation not supported" in seen and "Server supports TLS Fallback SCSV" in seen, seen


@pytest.mark.parametrize("suite", ["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"])
def test_cipher_suites_of_known_clients_are_supported(service, suite):
    assert f"Cipher is {suite}" in s_client(service, "-tls1_2", "-cipher", suite).stdout


@pytest.mark.parametrize("options", [["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], ["-tls1_2", "-cipher", "AES256-GCM-SHA384"],
                                     ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384"]])
def test_outdated_tls_versions_and_ciphers_are_refused(service, options):
    assert "Cipher is (NONE)" in s_client(service, *options).stdout


def test_the_server_names_its_trusted_authorities(service):
    assert re.search(r"Acceptable client certificate CA names\s+CN = CA", s_client(service).stdout)


def test_a_client_cannot_make_room_for_more_certificates_than_the_limit(service):
    """A thousand clients without credentials would take 100 MB by OpenSSL's own limit."""
    def status(names):
        certificate = service.authority.sign(f"{names}.pem", name("Alice", "Admin"), CLIENT, hosts=[f"host{i:04}" for i in range(names)])
        return ask(service.tls(certificate), "GET", "/v1/health")[0]
    assert status(3000) == 200  # 30 KB
    with pytest.raises((ssl.SSLError, ConnectionError)):
        status(3300)  # 33 KB


def test_sessions_are_resumed(service):
    context = ssl.create_default_context(cafile=service.authority.path)
    context.load_cert_chain(service.admin)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    session = None
    for reused in (False, True):
        with socket.create_connection(("127.0.0.1", service.tls_port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
                assert client.session_reused == reused
                session = client.session


def test_a_session_lasts_five_minutes_and_none_outlives_a_reload(service):
    """A ticket says for how long it is good; one that was made by resuming has the time of the first handshake."""
    context = ssl.create_default_context(cafile=service.authority.path)
    context.load_cert_chain(service.admin)
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def visit(session):
        with socket.create_connection(("127.0.0.1", service.tls_port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
                return client.session, client.session_reused

    first, _ = visit(None)
    second, is_resumed = visit(first)
    assert is_resumed and (first.ticket_lifetime_hint, second.time) == (300, first.time)
    service.sighup("TLS_RELOADED")
    for session in (first, second):
        assert not visit(session)[1]


def test_a_long_poll_that_waits_is_answered_after_a_reload_and_the_next_request_refused(service):
    connection = service.tls(service.user)
    connection.request("GET", f"/v1/workloads?since={service.health()['revision']}&wait=30")
    service.health()  # the one thread that reads requests has read the other before this one
    other = Authority(service.pki, "Other")
    replace(service.authority.path, read(other.path))
    service.sighup("TLS_RELOADED")
    id = service.create("4", 1, 1)["id"]
    answer = connection.getresponse()
    assert answer.status == 200 and f'"id":"{id}"'.encode() in answer.read()
    connection.request("GET", "/v1/workloads")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Connection"]) == (401, "close")


def shown_subject(service):
    return re.search(r"subject=(.*)", s_client(service).stdout)[1].strip()


def another(service, what, config):
    """The command of a second daemon on this node, which has the configuration."""
    path = os.path.join(service.pki, what)
    replace(path + ".toml", config)
    return service.sim.inside([NRD, "--config", path + ".toml", "--state-dir", os.path.join(service.folder, what),
                               "--unix-socket", os.path.join(service.folder, what + ".sock")])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_new_files_are_used_when_they_change_and_on_sighup_and_broken_ones_are_not(service):
    first = read(service.server)
    assert shown_subject(service) == "CN = server"
    kept = service.tls(service.admin)
    kept.connect()
    second = read(service.authority.sign("second.pem", name("second"), SERVER, hosts=["127.0.0.1"]))

    replace(service.server, second)
    service.daemon.send_signal(signal.SIGHUP)
    wait_for(lambda: shown_subject(service) == "CN = second", "the new certificate")

    replace(service.server, b"no certificate")
    service.sighup("TLS_NOT_RELOADED")
    assert shown_subject(service) == "CN = second"

    # Without SIGHUP: detected within some seconds.
    replace(service.server, first)
    wait_for(lambda: shown_subject(service) == "CN = server", "the first certificate")

    kept.request("GET", "/v1/health")
    answer = kept.getresponse()
    assert answer.status == 200 and answer.headers["Connection"] == "close", "a connection from before all this"


def test_an_expired_certificate_is_refused_on_every_connection(service):
    end = datetime.datetime.utcnow() + datetime.timedelta(seconds=4)
    short = service.authority.sign("short.pem", name("Shorty", "Admin"), CLIENT, last=end)
    kept = service.tls(short)
    context = ssl.create_default_context(cafile=service.authority.path)
    context.load_cert_chain(short)

    def visit(session):
        with socket.create_connection(("127.0.0.1", service.tls_port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return client.recv(4096).split()[1], client.session, client.session_reused

    def status():
        kept.request("GET", "/v1/health")
        answer = kept.getresponse()
        return answer.status, answer.read()

    code, session, _ = visit(None)
    code, session, is_resumed = visit(session)
    assert code == b"200" and is_resumed and status()[0] == 200
    wait_for(lambda: datetime.datetime.utcnow() > end + datetime.timedelta(seconds=1), "the end of the certificate")
    assert status() == (401, b"The certificate has expired.\n")
    for resumed in session, None:
        with pytest.raises((ssl.SSLError, ConnectionError, IndexError)):
            visit(resumed)


def test_a_new_authority_holds_for_new_connections(service):
    other = Authority(service.pki, "Other")
    newcomer = other.sign("newcomer.pem", name("Zoe", "Admin"), CLIENT)
    replace(service.authority.path, read(service.authority.path) + read(other.path))
    service.sighup("TLS_RELOADED")
    assert ask(service.tls(newcomer), "GET", "/v1/health")[0] == 200
    assert ask(service.tls(service.admin), "GET", "/v1/health")[0] == 200


def test_a_reload_under_load_loses_no_request(service):
    certificates = [read(service.server), read(service.authority.sign("b.pem", name("b"), SERVER, hosts=["127.0.0.1"]))]
    end, done, failures = threading.Event(), [], []

    def load(keeps):
        connection = service.tls(service.admin)
        while not end.is_set():
            try:
                connection.request("GET", "/v1/health")
                answer = connection.getresponse()
                answer.read()
                done.append(answer.status)
            except OSError as error:
                failures.append(repr(error))
            if not keeps:
                connection.close()

    clients = [threading.Thread(target=load, args=(keeps,)) for keeps in (True, True, False, False)]
    for client in clients:
        client.start()
    for i in range(20):
        replace(service.server, certificates[i % 2])
        answered = len(done) + 10
        service.sighup("TLS_RELOADED")
        wait_for(lambda: len(done) >= answered, "the answers")
    end.set()
    for client in clients:
        client.join()
    assert failures == [] and len(done) >= 200 and set(done) == {200}


@pytest.mark.parametrize("file, content, said", [
    ("certificate", None, "No such file or directory"), ("certificate", b"", "is not a readable certificate"),
    ("key", b"no key", "is not a readable key"), ("client_ca", b"", "is not a readable certificate")])
def test_a_daemon_with_wrong_files_does_not_start_and_names_the_file(service, file, content, said):
    files = {"certificate": service.server, "key": service.server, "client_ca": service.authority.path}
    files[file] = os.path.join(service.pki, "wrong.pem")
    if content is None:
        files[file] = os.path.join(service.pki, "absent.pem")
    else:
        replace(files[file], content)
    config = "[tls]\n" + "".join(f'{key} = "{path}"\n' for key, path in files.items())
    refused = subprocess.run(another(service, "wrong", config), capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and files[file] in refused.stderr and said in refused.stderr, refused.stderr
    checked = subprocess.run([*another(service, "wrong", config), "--check-config"], capture_output=True, text=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (1, refused.stderr.splitlines(keepends=True)[-1])


def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(service):
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError:
        pytest.skip("there are no terminals here (no devpts)")
    locked = os.path.join(service.pki, "locked.pem")
    subprocess.run(["/usr/bin/openssl", "pkey", "-in", service.server, "-aes256", "-passout", "pass:secret", "-out", locked], check=True)
    config = f'[tls]\ncertificate = "{service.server}"\nkey = "{locked}"\nclient_ca = "{service.authority.path}"\n'
    command = another(service, "locked", config)
    # script(1) gives it a terminal, on which it could ask.
    refused = subprocess.run(["/usr/bin/script", "-qec", " ".join(command), "/dev/null"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "is not a readable key" in refused.stdout and "pass phrase" not in refused.stdout


def serves(path):
    with contextlib.suppress(OSError):
        return ask(UnixConnection(path), "GET", "/v1/health")[0] == 200
    return False


LOOPBACK_UP = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh22x', b'lo', 1))"  # SIOCSIFFLAGS, IFF_UP


def test_an_address_that_the_host_gets_after_the_start_is_served(service):
    config = (f'[server]\naddress = "::1"\ntls_port = 8443\n[tls]\ncertificate = "{service.server}"\nkey = "{service.server}"\n'
              f'client_ca = "{service.authority.path}"\n')
    command = another(service, "early", config)
    at = command.index("--") + 1
    path = os.path.join(service.folder, "early.sock")
    with subprocess.Popen([*command[:at], "/usr/bin/unshare", "--net", *command[at:]]) as daemon:
        try:
            wait_for(lambda: serves(path), "the local socket", START)
            inside = ["/usr/bin/nsenter", "-t", str(daemon.pid), "-n"]
            subprocess.run([*inside, "/usr/bin/python3", "-c", LOOPBACK_UP], check=True)
            curl = [*inside, "/usr/bin/curl", "-s", "--insecure", "--cert", service.admin, "https://[::1]:8443/v1/health"]
            assert '"status":"ok"' in subprocess.run(curl, capture_output=True, text=True, check=True, timeout=30).stdout
        finally:
            daemon.terminate()


def test_with_an_expired_server_certificate_the_daemon_serves_local_clients_and_waits_for_another():
    with Service(start=False) as service:
        good = read(service.server)
        service.authority.sign("server.pem", name("old"), SERVER, NOW - 9 * DAY, NOW - DAY, hosts=["127.0.0.1"])
        checked = service.run_daemon("--check-config")
        assert checked.returncode == 0 and "TLS_EXPIRED" in checked.stderr
        service.start()
        assert "TLS_EXPIRED" in service.journal() and ask(service.unix(), "GET", "/v1/health")[0] == 200
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            ask(service.tls(service.admin), "GET", "/v1/health")
        service.sighup("CONFIG_RELOADED")  # of the other keys
        replace(service.server, good)
        service.sighup("TLS_RELOADED")
        assert ask(service.tls(service.admin), "GET", "/v1/health")[0] == 200


def test_no_reload_takes_an_expired_server_certificate(service):
    replace(service.server, read(service.authority.sign("old.pem", name("old"), SERVER, NOW - 9 * DAY, NOW - DAY)))
    service.sighup("TLS_NOT_RELOADED", "CONFIG_NOT_RELOADED")
    assert shown_subject(service) == "CN = server"


def test_the_metrics_have_the_earliest_end_of_the_certificates_in_force(service):
    def expiry():
        text = ask(service.unix(), "GET", "/metrics")[1]
        return float(re.search(r"^nrd_tls_certificate_expiry_timestamp_seconds (\S+)$", text, re.M)[1])

    def seconds(days):
        return pytest.approx((NOW + days * DAY).replace(tzinfo=datetime.timezone.utc).timestamp(), abs=2)

    authority, server = read(service.authority.path), read(service.server)
    assert expiry() == seconds(30)
    other = Authority(service.pki, "Other", NOW + 5 * DAY)
    for file, usual in ((service.authority.path, authority), (service.server, server)):
        replace(file, usual + read(other.path))  # a CA of clients, and one of the server's chain
        service.sighup("TLS_RELOADED")
        assert expiry() == seconds(5)
        replace(file, usual)
        service.sighup("TLS_RELOADED")
        assert expiry() == seconds(30)
