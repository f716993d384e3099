"""Certificates, PAM accounts and connections of clients, and a node that serves plain HTTP, HTTPS and the Unix socket."""

import base64
import contextlib
import datetime
import http.client
import json
import ipaddress
import os
import re
import shutil
import ssl
import subprocess
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness import DEADLINE, Node, free_port, replace
from unix_clients import UnixConnection

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NRD_PAM = os.environ.get("NRD_PAM") or os.path.join(ROOT, "build/dev/api/nrd-pam")
NOW = datetime.datetime.utcnow()
DAY = datetime.timedelta(days=1)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


def routes():
    """(method, path) of each route of the service."""
    found = []
    for table in ("api/routing/routes.cc", "api/v1/onload/routes.cc"):
        with open(os.path.join(ROOT, table)) as file:
            found += re.findall(r'"(GET|POST|PATCH|DELETE|PUT)",\s*"(/[^"]*)"', file.read())
        assert len(found) >= 7, table
    return found


def name(common_name, unit=None):
    parts = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)] if unit else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Authority:
    """A CA, and what it has signed, as PEM files of one folder."""

    def __init__(self, folder, common_name="CA", last=NOW + 30 * DAY):
        self.folder, self.subject = folder, name(common_name)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._build(self.subject, self.key.public_key(), [
            (x509.BasicConstraints(ca=True, path_length=0), True)], NOW - DAY, last)
        self.path = self._write(f"{common_name}.crt", self.certificate.public_bytes(serialization.Encoding.PEM))

    def sign(self, file, subject, purpose, first=NOW - DAY, last=NOW + 30 * DAY, hosts=()):
        """Certificate and key in one file; its path."""
        key = ec.generate_private_key(ec.SECP256R1())
        extensions = [(x509.BasicConstraints(ca=False, path_length=None), True), (x509.ExtendedKeyUsage([purpose]), False)]
        if hosts:
            names = [x509.DNSName(host) if not host[0].isdigit() else x509.IPAddress(ipaddress.ip_address(host)) for host in hosts]
            extensions.append((x509.SubjectAlternativeName(names), False))
        certificate = self._build(subject, key.public_key(), extensions, first, last)
        return self._write(file, certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    def _build(self, subject, public_key, extensions, first, last):
        builder = x509.CertificateBuilder(self.subject, subject, public_key, x509.random_serial_number(), first, last)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self.key, hashes.SHA256())

    def _write(self, file, pem):
        path = os.path.join(self.folder, file)
        with open(path, "wb") as out:
            out.write(pem)
        return path


class Accounts:
    """Users and services of PAM for one node: its own /etc/passwd, /etc/shadow and /etc/pam.d, and Debian's modules.

    {"alice": shadowed("secret")}: what stands in /etc/shadow by user.
    """

    def __init__(self, users):
        self.folder = tempfile.mkdtemp(prefix="nrd-pam-")
        os.mkdir(os.path.join(self.folder, "pam.d"))
        with open("/etc/passwd") as passwd, open("/etc/shadow") as shadow:
            passwd = [line for line in passwd if line.split(":")[0] not in users]
            shadow = [line for line in shadow if line.split(":")[0] not in users]
        for uid, (user, line) in enumerate(users.items(), 30001):
            passwd.append(f"{user}:x:{uid}:65534::/nonexistent:/usr/sbin/nologin\n")
            shadow.append(f"{user}:{line}\n")
        self._write("passwd", "".join(passwd), 0o644)
        self._write("shadow", "".join(shadow), 0o600)
        for name in ("common-auth", "common-account"):
            shutil.copy(f"/etc/pam.d/{name}", os.path.join(self.folder, "pam.d"))
        shutil.copy(os.path.join(ROOT, "etc/pam.d/nrd"), os.path.join(self.folder, "pam.d"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def _write(self, name, text, mode):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def move_in(self, sim):
        for name in ("passwd", "shadow", "pam.d"):
            sim.run_inside(["/usr/bin/mount", "--bind", self.path(name), f"/etc/{name}"])
        sim.run_inside(["/usr/bin/mount", "-t", "tmpfs", "-o", "mode=755", "programs", "/usr/libexec"])
        sim.run_inside(["/usr/bin/install", "-D", NRD_PAM, "/usr/libexec/nrd/nrd-pam"])


def replace_authority(service, *authorities):
    """Until only what these have signed counts."""
    pem = b""
    for path in authorities:
        with open(path, "rb") as file:
            pem += file.read()
    replace(service.authority.path, pem)
    service.sighup("TLS_RELOADED")


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def shadowed(password, last_change=19000, most_days=99999, ends=""):
    """What stands in /etc/shadow after the name."""
    hashed = subprocess.run(["/usr/bin/openssl", "passwd", "-6", password], check=True, capture_output=True, text=True)
    return f"{hashed.stdout.strip()}:{last_change}:0:{most_days}:7::{ends}:"


def socket_for(**lists):
    """Of the configuration: a Unix socket at a path that --unix-socket replaces, for the first of them, and whom it is for."""
    keys = {"path": "/run/nrd/nrd.sock", **lists}
    return "[[server.sockets]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


class Service(Node):
    """A node whose daemon serves the Unix socket, HTTPS and, for the harness, plain HTTP."""

    def __init__(self, client_auth="require", more="", group="nogroup", files=None, address="127.0.0.1", accounts=None, sockets="",
                 start=True):
        self.host = address
        self.accounts = accounts
        self.files = files  # how many descriptors the daemon may have
        self.pki = tempfile.mkdtemp(prefix="nrd-pki-")
        self.authority = Authority(self.pki)
        self.server = self.authority.sign("server.pem", name("server"), SERVER, hosts=["localhost", "127.0.0.1", "rmd-nameserver"])
        self.admin = self.authority.sign("admin.pem", name("Alice", "Admin"), CLIENT)
        self.user = self.authority.sign("user.pem", name("Eli", "User"), CLIENT)
        self.tls_port = free_port()
        super().__init__(f"""
[server]
address = "{address}"
tls_port = {self.tls_port}
{socket_for(admin=["root", "@" + group])}
{sockets}
[tls]
certificate = "{self.server}"
key = "{self.server}"
client_ca = "{self.authority.path}"
client_auth = "{client_auth}"
{more}""", start=False)
        try:
            os.chmod(self.folder, 0o711)
            if accounts:
                accounts.move_in(self.sim)
            if start:
                self.start()
        except BaseException:
            self.end()
            raise

    def end(self):
        journal = super().end()
        shutil.rmtree(self.pki)
        if self.accounts:
            shutil.rmtree(self.accounts.folder)
        return journal

    def daemon_pid(self):
        return self.daemon.pid  # nsenter has become it

    def command(self, *flags):
        command = super().command(*flags)
        if not self.files:
            return command
        at = command.index("--") + 1
        return [*command[:at], "/usr/bin/prlimit", f"--nofile={self.files}", *command[at:]]

    # Connections of http.client, by endpoint.

    def plain(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def tls(self, certificate=None, source="127.0.0.1"):
        context = ssl.create_default_context(cafile=self.authority.path)
        if certificate:
            context.load_cert_chain(certificate)
        return http.client.HTTPSConnection("127.0.0.1", self.tls_port, timeout=DEADLINE, context=context,
                                           source_address=(source, 0))

    def unix(self):
        return UnixConnection(self.socket)


def ask(connection, method, path, body=None, headers=None):
    """Status, text and headers of one request on a connection that is closed afterwards."""
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
