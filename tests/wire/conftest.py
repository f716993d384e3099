"""What several suites of this folder need."""

import subprocess

import pytest

from fixtures import Service


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A server's for 127.0.0.1, which is its own authority: certificate and key."""
    folder = tmp_path_factory.mktemp("tls")
    files = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(["/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1",
                    "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


@pytest.fixture(scope="module")
def shared():
    """One service for all tests of a module."""
    with Service() as service:
        yield service
