"""Who comes to the daemon's doors: certificates of all kinds, and a node that serves all three doors."""

import contextlib
import datetime
import http.client
import ipaddress
import os
import socket
import ssl
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness import DEADLINE, Node, free_port

NOW = datetime.datetime.utcnow()
DAY = datetime.timedelta(days=1)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


def name(common_name, unit=None):
    parts = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)] if unit else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Authority:
    """A CA, and what it has signed, as PEM files of one folder."""

    def __init__(self, folder, common_name="CA"):
        self.folder, self.subject = folder, name(common_name)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._build(self.subject, self.key.public_key(), [
            (x509.BasicConstraints(ca=True, path_length=0), True)], NOW - DAY, NOW + 30 * DAY)
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


class House(Node):
    """A node whose daemon serves the Unix socket, HTTPS and, for the harness, plain HTTP."""

    def __init__(self, client_auth="require", more="", group="nogroup", files=None, address="127.0.0.1"):
        self.host = address
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
unix_group = "{group}"
[tls]
certificate = "{self.server}"
key = "{self.server}"
client_ca = "{self.authority.path}"
client_auth = "{client_auth}"
{more}""")
        os.chmod(self.folder, 0o711)

    def command(self, *flags):
        command = super().command(*flags)
        if not self.files:
            return command
        at = command.index("--") + 1
        return [*command[:at], "/usr/bin/prlimit", f"--nofile={self.files}", *command[at:]]

    # Connections of http.client, by door.

    def plain(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def tls(self, certificate=None):
        context = ssl.create_default_context(cafile=self.authority.path)
        if certificate:
            context.load_cert_chain(certificate)
        return http.client.HTTPSConnection("127.0.0.1", self.tls_port, timeout=DEADLINE, context=context)

    def unix(self):
        return UnixConnection(self.socket)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)


def ask(connection, method, path, body=None, headers=None):
    """Status, text and headers of one request on a connection that is closed afterwards."""
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
