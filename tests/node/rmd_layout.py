"""A directory as RMD's package leaves it in /etc/rmd, after its documents and with values of our own.

    layout = Layout(folder, pools=(1, 6, 3, 1))
    layout.write("policy.toml", …)     replaces one of its files
"""

import datetime
import ipaddress
import os
import stat

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CONFIG = """\
title = "RMD, for a test"

[default]
address = "localhost"
policypath = "/etc/rmd/policy.toml"
tlsport = 8443
certpath = "/etc/rmd/cert/server"
clientcapath = "/etc/rmd/cert/client"
clientauth = "{clientauth}"
unixsock = ""
sysresctrl = "/sys/fs/resctrl"
plugins = ""
dbValidatorInterval = 30
openstackenable = false

[rdt]
mbaMode = "percentage"

[log]
path = "/var/log/rmd/rmd.log"
env = "dev"
level = "warn"
stdout = false

[database]
backend = "bolt"
transport = "/var/run/rmd/rmd.db"
dbname = "rmd"

[debug]
enabled = false
debugport = 8081

[OSGroup]
cacheways = {os}
cpuset = "0-1"

[InfraGroup]
cacheways = 10
cpuset = "2-3"
tasks = ["ovs*"]

[CachePool]
shrink = false
max_allowed_shared = 10
guarantee = {guarantee}
besteffort = {besteffort}
shared = {shared}
"""
POLICIES = """\
[broadwell]
    [broadwell.gold.cache]
    max = 2
    min = 2
[skylake]
    [skylake.gold.cache]
    max = 4
    min = 4
    [skylake.silver.cache]
    max = 3
    min = 1
    [skylake.bronze.cache]
    max = 0
    min = 0
"""
CPU_MAP = """\
title = "CPUs"
[[Skylake]]
family = 6
model = 85
[["Ice Lake"]]
family = 6
model = 106
"""
ACL = """\
p, user, /cache, GET
p, user, /cache/l*, GET
p, user, /workloads, GET
p, root, /workloads, POST
p, root, /workloads/*, (PATCH)|(DELETE)
g, root, user
g, admin, root
"""


def name_of(**parts):
    names = {"cn": NameOID.COMMON_NAME, "ou": NameOID.ORGANIZATIONAL_UNIT_NAME, "o": NameOID.ORGANIZATION_NAME}
    return x509.Name([x509.NameAttribute(names[part], text) for part, text in parts.items()])


class Authority:
    """A CA, and what it signs. RMD's own calls itself as `RMDS` does, misspelling and all."""

    RMDS = "Resource Management Daedmon"

    def __init__(self, name):
        self.name = name_of(o=name)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.pem = self.certificate(self.name, self.key.public_key(), [x509.BasicConstraints(True, 0)])

    def certificate(self, subject, public_key, extensions=(), days=30):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(public_key)
                   .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=60))
                   .not_valid_after(now + datetime.timedelta(days=days)))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def pair(self, subject, extensions=(), days=30):
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return self.certificate(subject, key.public_key(), extensions, days), pem

    def server(self, name, days=30):
        names = x509.SubjectAlternativeName([x509.DNSName("rmd-nameserver"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        return self.pair(name_of(cn=name), [names], days)


class Layout:
    def __init__(self, folder, pools=(1, 6, 3, 1), clientauth="challenge", authority=Authority.RMDS, server="RMD-SERVER"):
        self.path = os.path.join(folder, "rmd")
        self.authority = Authority(authority)
        sizes = dict(zip(("os", "guarantee", "besteffort", "shared"), pools))
        self.config = CONFIG.format(clientauth=clientauth, **sizes)
        self.write("rmd.toml", self.config)
        self.write("policy.toml", POLICIES)
        self.write("cpu_map.toml", CPU_MAP)
        self.write("acl/url/model.conf", "[request_definition]\nr = sub, obj, act\n")
        self.write("acl/url/policy.csv", ACL)
        certificate, key = self.authority.server(server)
        self.write("cert/server/ca.pem", self.authority.pem)
        self.write("cert/server/rmd-cert.pem", certificate)
        self.write("cert/server/rmd-key.pem", key)
        self.write("cert/client/ca.pem", self.authority.pem)
        for role, name in (("admin", "Alice"), ("user", "Eli")):
            self.client, self.client_key = self.authority.pair(name_of(ou=role.capitalize(), cn=name))
            self.write(f"acl/roles/{role}/cert.pem", self.client)
            self.write(f"cert/client/{role}-cert.pem", self.client)
            self.write(f"cert/client/{role}-key.pem", self.client_key)

    def write(self, name, content):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def configure(self, was, is_now):
        """Replaces words of rmd.toml."""
        assert was in self.config
        self.config = self.config.replace(was, is_now)
        self.write("rmd.toml", self.config)

    def append(self, more):
        self.config += more
        self.write("rmd.toml", self.config)


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)
