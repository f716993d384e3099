"""nrdctl's ways to nrd: the Unix socket, and TLS with the certificates that it makes itself.

The servers are Python's, and so is the judgement on the certificates, besides that of Debian's openssl: nothing here is
the code under test but nrdctl.
"""

import contextlib
import http.server
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import stat
import subprocess
import tempfile
import tomllib

import pytest
from harness import NRD, NRDCTL
from nrdctl import CLEAN, run_nrdctl
from servers import Handler, UnixServer, serving

NOBODY = 65534
ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
FILES = {f"{name}.{kind}" for name in ("ca", "server", "admin", "user") for kind in ("crt", "key")}


def nrdctl(*arguments, **environment):
    return run_nrdctl(*arguments, env={**CLEAN, **environment})


def init(directory, *arguments):
    made = nrdctl("tls", "init", "--dir", directory, *arguments)
    assert made.returncode == 0, made.stderr
    return made.stdout


def openssl(*arguments):
    return subprocess.run(["/usr/bin/openssl", *arguments], capture_output=True, text=True, timeout=30)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="nrd-tls-") as folder:
        yield folder


@pytest.fixture(scope="module")
def pki(folder):
    directory = os.path.join(folder, "tls")
    init(directory)
    return directory


@pytest.fixture(scope="module")
def other_pki(folder):
    directory = os.path.join(folder, "other")
    init(directory)
    return directory


# Servers

class Workloads(Handler):
    """Has one workload; its uuid tells who asked, as a certificate of the peer says, and for what."""

    def answer(self):
        peer = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject = dict(pair for part in peer["subject"] for pair in part) if peer else {}
        self.reply(200, json.dumps([{"id": "1", "core_ids": ["4"], "uuid": subject.get("organizationalUnitName", self.path)}]))


class TlsServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # a client that goes away is what some tests are about


@contextlib.contextmanager
def unix_server(path):
    with serving(UnixServer(path, Workloads)):
        yield path
    os.unlink(path)


@contextlib.contextmanager
def tls_server(pki, address="127.0.0.1", only=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{pki}/server.crt", f"{pki}/server.key")
    context.load_verify_locations(f"{pki}/ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    if only:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = only
    server = TlsServer((address, 0), Workloads)
    # Handshakes belong to the connection's own thread: one that fails must not end the server.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with serving(server):
        yield f"https://{address}:{server.server_address[1]}"


def list_over_tls(url, pki, client="admin", ca=None):
    return nrdctl("--url", url, "--cacert", ca or f"{pki}/ca.crt", "--cert", f"{pki}/{client}.crt",
                  "--key", f"{pki}/{client}.key", "workload", "list")


# The certificates, judged by others

def test_openssl_finds_each_certificate_good_for_its_purpose_only(pki):
    for name, good, bad in (("server", "sslserver", "sslclient"), ("admin", "sslclient", "sslserver"),
                            ("user", "sslclient", "sslserver")):
        verify = ["verify", "-x509_strict", "-CAfile", f"{pki}/ca.crt"]
        assert openssl(*verify, "-purpose", good, f"{pki}/{name}.crt").returncode == 0
        assert openssl(*verify, "-purpose", bad, f"{pki}/{name}.crt").returncode != 0


def test_openssl_finds_the_server_by_every_name_it_was_given(folder):
    directory = os.path.join(folder, "named")
    init(directory, "--host", "node17.example.org", "--host", "10.1.2.3", "--days", "30")
    server = ["x509", "-in", f"{directory}/server.crt", "-noout"]
    for kind, name in (("-checkhost", "rmd-nameserver"), ("-checkhost", "localhost"), ("-checkhost", socket.gethostname()),
                       ("-checkhost", "node17.example.org"), ("-checkip", "127.0.0.1"), ("-checkip", "::1"),
                       ("-checkip", "10.1.2.3")):
        assert "does match certificate" in openssl(*server, kind, name).stdout, name
    assert "does NOT match" in openssl(*server, "-checkhost", "node18.example.org").stdout
    assert openssl(*server, "-checkend", str(29 * 86400)).returncode == 0
    assert openssl(*server, "-checkend", str(31 * 86400)).returncode == 1


def test_openssl_reads_the_roles(pki):
    for name, subject in (("admin", "OU=Admin,CN=admin"), ("user", "OU=User,CN=user")):
        text = openssl("x509", "-in", f"{pki}/{name}.crt", "-noout", "-subject", "-nameopt", "sep_comma_plus").stdout
        assert text == f"subject={subject}\n"


# Making them

def test_keys_are_for_their_owner_only(pki):
    assert set(os.listdir(pki)) == FILES
    assert stat.S_IMODE(os.stat(pki).st_mode) == 0o700
    for name in FILES:
        if name.endswith(".key"):
            assert stat.S_IMODE(os.stat(f"{pki}/{name}").st_mode) == 0o600, name


def test_the_printed_sections_are_valid_configuration_beside_the_installed_file(folder):
    """Appended to the installed file, which has each section, they would not be."""
    directory = os.path.join(folder, "printed")
    text = init(directory)
    sections = "".join(re.findall(r"^\[\w+\]\n(?:\w+ = .*\n)+", text, re.M))
    assert tomllib.loads(sections) == {"tls": {
        "certificate": f"{directory}/server.crt", "key": f"{directory}/server.key", "client_ca": f"{directory}/ca.crt",
        "client_auth": "require"}, "server": {"address": "0.0.0.0"}}
    assert "/etc/nrd/nrd.toml.d/tls.toml" in text
    installed = shutil.copy(os.path.join(ROOT, "etc/nrd.toml"), folder)
    os.mkdir(f"{installed}.d")
    with open(f"{installed}.d/tls.toml", "w") as file:
        file.write(sections)
    checked = subprocess.run([NRD, "--config", installed, "--check-config"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    assert f"{directory}/ca.key off this host" in text


def test_the_printed_curl_line_works(folder):
    directory = os.path.join(folder, "curled")
    line = re.search(r"^curl .*$", init(directory), re.M)[0]
    with tls_server(directory) as url:
        port = url.rpartition(":")[2]
        ran = subprocess.run(shlex.split(line.replace("8443", port)), capture_output=True, text=True, timeout=30, env=CLEAN)
    assert json.loads(ran.stdout)[0]["uuid"] == "Admin", ran.stderr


def test_a_relative_directory_is_printed_whole(folder):
    made = run_nrdctl("tls", "init", "--dir", "./relative/", cwd=folder)
    assert f'"{folder}/relative/server.crt"' in made.stdout, made.stderr


def test_nothing_is_overwritten(folder):
    directory = os.path.join(folder, "twice")
    init(directory)
    os.unlink(f"{directory}/ca.key")  # moved away, as advised
    before = {name: open(f"{directory}/{name}").read() for name in os.listdir(directory)}
    again = nrdctl("tls", "init", "--dir", directory)
    assert again.returncode == 1 and f"{directory}/ca.crt already exists" in again.stderr
    assert {name: open(f"{directory}/{name}").read() for name in os.listdir(directory)} == before


@pytest.mark.parametrize("wrong", [("--host", "a,b"), ("--host", "*.example.org"), ("--days", "0"), ("--days", "36501")])
def test_wrong_words_make_nothing(folder, wrong):
    directory = os.path.join(folder, "wrong")
    assert nrdctl("tls", "init", "--dir", directory, *wrong).returncode == 2
    assert not os.path.exists(directory)


# The Unix socket

def test_the_configured_socket_is_used_by_default(folder):
    with unix_server(os.path.join(folder, "nrd.sock")) as path:
        for ran in (nrdctl("--socket", path, "workload", "list"), nrdctl("workload", "list", NRD_SOCKET=path),
                    nrdctl("--socket", path, "workload", "list", NRD_URL="http://127.0.0.1:1", NRD_CERT="none"),
                    nrdctl("workload", "list", NRD_SOCKET=path, http_proxy="http://127.0.0.1:1", NRD_URL="")):
            assert ran.returncode == 0 and "/v1/workloads" in ran.stdout, ran.stderr
    assert "/run/nrd/nrd.sock" in nrdctl("--help").stdout


def test_a_socket_that_does_not_answer_is_explained(folder):
    path = os.path.join(folder, "silent.sock")
    absent = nrdctl("--socket", path, "node")
    assert absent.returncode == 3 and path in absent.stderr
    assert "No such file" in absent.stderr and "check that nrd is running" in absent.stderr
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(path)
    dead = nrdctl("--socket", path, "node")
    assert dead.returncode == 3 and "refused" in dead.stderr and "check that nrd is running" in dead.stderr
    long = nrdctl("--socket", "/" + "a" * 200, "node")
    assert long.returncode == 3 and "too long" in long.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_denied_user_learns_which_group_is_required():
    with tempfile.TemporaryDirectory(prefix="nrd-tls-") as open_folder:
        os.chmod(open_folder, 0o755)
        program = shutil.copy(NRDCTL, open_folder)
        with unix_server(os.path.join(open_folder, "nrd.sock")) as path:
            os.chmod(path, 0o660)
            shutil.chown(path, group="daemon")
            ran = subprocess.run([program, "--socket", path, "node"], capture_output=True, text=True, timeout=30, env=CLEAN,
                                 user=NOBODY, group=NOBODY, extra_groups=[])
    assert ran.returncode == 3 and "Permission denied; run as root or join the group daemon\n" in ran.stderr


@pytest.mark.parametrize("wrong", [
    ("--url", "https://localhost:8443", "--socket", "/run/nrd/nrd.sock"),
    ("--cert", "admin.crt"),
    ("--cacert", "ca.crt", "--url", "http://127.0.0.1:8081"),
    ("--key", "admin.key", "--url", "https://localhost:8443"),
    ("--url", "localhost:8443"),
    ("--url", "unix:///run/nrd/nrd.sock"),
])
def test_contradictions_are_wrong_usage(wrong):
    assert nrdctl(*wrong, "node").returncode == 2


# TLS

@pytest.mark.parametrize("client,role", [("admin", "Admin"), ("user", "User")])
def test_both_clients_get_through(pki, client, role):
    with tls_server(pki) as url:
        ran = list_over_tls(url, pki, client)
        assert ran.returncode == 0 and role in ran.stdout, ran.stderr
        ran = nrdctl("workload", "list", NRD_URL=url, NRD_CACERT=f"{pki}/ca.crt", NRD_CERT=f"{pki}/{client}.crt",
                     NRD_KEY=f"{pki}/{client}.key")
        assert ran.returncode == 0 and role in ran.stdout, ran.stderr


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_each_version_that_is_safe_gets_through(pki, version):
    with tls_server(pki, only=version) as url:
        assert list_over_tls(url, pki).returncode == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_version_of_tls_is_not_spoken(pki):
    with tls_server(pki, only=ssl.TLSVersion.TLSv1_1) as url:
        ran = list_over_tls(url, pki)
    assert ran.returncode == 3 and "TLS 1.2 or newer" in ran.stderr, ran.stderr


def test_a_server_of_another_ca_is_not_trusted(pki, other_pki):
    with tls_server(pki) as url:
        ran = list_over_tls(url, pki, ca=f"{other_pki}/ca.crt")
    assert ran.returncode == 3 and "was rejected" in ran.stderr, ran.stderr
    assert "--cacert must name the CA that signed it" in ran.stderr, ran.stderr


def test_a_server_of_another_name_is_not_trusted(pki):
    with tls_server(pki, address="127.0.0.2") as url:
        ran = list_over_tls(url, pki)
    assert ran.returncode == 3 and "was rejected" in ran.stderr and "use a host name listed in it" in ran.stderr, ran.stderr


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_untrusted_client_is_informed(pki, other_pki, version):
    with tls_server(pki, only=version) as url:
        without = nrdctl("--url", url, "--cacert", f"{pki}/ca.crt", "node")
        foreign = list_over_tls(url, other_pki, ca=f"{pki}/ca.crt")
    for ran in (without, foreign):
        assert ran.returncode == 3 and "rejected the" in ran.stderr and "tls.client_ca" in ran.stderr, ran.stderr


def test_files_that_cannot_be_used_are_named(pki, other_pki):
    with tls_server(pki) as url:
        for option, path in (("--cacert", f"{pki}/none.crt"), ("--cacert", f"{pki}/ca.key"), ("--cert", f"{pki}/none.crt")):
            ran = nrdctl("--url", url, option, path, "node")
            assert ran.returncode == 3 and f"{option} {path}" in ran.stderr, ran.stderr
        mixed = nrdctl("--url", url, "--cert", f"{pki}/admin.crt", "--key", f"{other_pki}/admin.key", "node")
        alone = nrdctl("--url", url, "--cert", f"{pki}/admin.crt", "node")
    assert mixed.returncode == 3 and "that --key matches it" in mixed.stderr, mixed.stderr
    assert alone.returncode == 3 and "private key as well, or use --key" in alone.stderr, alone.stderr
