"""HTTP of real clients: curl, wrk, Python's http.client, and the habits of Go's net/http."""

import contextlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import time

import pytest

from nrdctl import run_nrdctl
from fixtures import Service, ask, routes

BODY = {"core_ids": ["4-7"], "cache": {"max": 2, "min": 2}}


@pytest.fixture(scope="module")
def service():
    with Service() as service:
        yield service


def curl(service, *options, endpoint="plain"):
    way = {"plain": [f"http://127.0.0.1:{service.port}"],
           "tls": [f"https://localhost:{service.tls_port}", "--cacert", service.authority.path, "--cert", service.admin],
           "unix": ["http://localhost", "--unix-socket", service.socket]}[endpoint]
    paths = [way[0] + option if option.startswith("/v1/") else option for option in options]
    return subprocess.run(["/usr/bin/curl", "-sS", "--max-time", "20", *paths, *way[1:]], capture_output=True, text=True)


@pytest.mark.parametrize("endpoint", ["plain", "tls", "unix"])
def test_curl_does_the_main_job_through_every_endpoint(service, endpoint):
    made = curl(service, "/v1/workloads", "-H", "Content-Type: application/json", "-d", json.dumps(BODY), "-w", "%{http_code}", endpoint=endpoint)
    assert made.stdout.endswith("201"), made
    id = json.loads(made.stdout[:-3])["id"]
    assert json.loads(curl(service, f"/v1/workloads/{id}/", endpoint=endpoint).stdout)["cos_name"] == "COS2"
    assert curl(service, "-X", "DELETE", f"/v1/workloads/{id}", "-w", "%{http_code}", endpoint=endpoint).stdout == "200"


@pytest.mark.parametrize("endpoint", ["plain", "tls", "unix"])
def test_curl_keeps_its_connection(service, endpoint):
    several = curl(service, "-v", "/v1/health", "/v1/node", "/v1/nothing", "-o", "/dev/null", "-o", "/dev/null", "-o", "/dev/null", endpoint=endpoint)
    assert several.stderr.count("Re-using existing connection") == 2, several.stderr


def test_curl_is_answered_100_continue(service):
    """A body above 1024 bytes: curl asks first, and waits a second without an answer."""
    body = json.dumps({**BODY, "uuid": "x" * 200, "core_ids": ["4-7"] + ["4"] * 300})
    asked = curl(service, "-v", "/v1/workloads", "-H", "Content-Type: application/json", "-H", "Expect: 100-continue", "-d", body,
                 "-w", "%{time_total}")
    assert "100 Continue" in asked.stderr and "HTTP/1.1 201" in asked.stderr, asked.stderr
    assert float(re.search(r"([\d.]+)$", asked.stdout)[1]) < 0.9
    service.delete(json.loads(asked.stdout[:asked.stdout.rindex("}") + 1])["id"])


def test_curl_sends_chunks(service):
    asked = subprocess.run(["/usr/bin/curl", "-sS", "--max-time", "20", f"http://127.0.0.1:{service.port}/v1/workloads", "-H",
                            "Content-Type: application/json", "-H", "Transfer-Encoding: chunked", "-d", "@-", "-w", "%{http_code}"],
                           input=json.dumps(BODY), capture_output=True, text=True)
    assert asked.stdout.endswith("201"), asked
    service.delete(json.loads(asked.stdout[:-3])["id"])


def test_curl_uses_http_1_0_and_requests_heads(service):
    assert curl(service, "--http1.0", "/v1/health", "-w", "%{http_code}").stdout.endswith("200")
    head = curl(service, "-I", "/v1/nothing").stdout
    assert head.startswith("HTTP/1.1 404 Not Found\n") and "Content-Length: 20" in head, head


VARYING = {"/metrics", "/v1/workloads/{id}/monitoring"}  # their values change between two requests


def get_paths():
    return [path for method, path in routes() if method == "GET"]


def head_of(stream, client, method, path, more=""):
    """Status and headers of one answer, whose body is read only for another method than HEAD."""
    client.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())
    status, headers = int(stream.readline().split()[1]), {}
    while (line := stream.readline().strip()) != b"":
        key, _, value = line.decode().partition(": ")
        headers[key] = value
    if method != "HEAD":
        assert len(stream.read(int(headers.get("Content-Length", 0)))) == int(headers.get("Content-Length", 0))
    return status, headers


def test_head_is_get_without_the_body_on_every_route_of_one_connection(service):
    id = service.create("4-7", 2, 2)["id"]
    tag = service.request("GET", f"/v1/workloads/{id}")[2]["ETag"]
    paths = get_paths()
    assert len(paths) > 25
    with socket.create_connection(("127.0.0.1", service.port), 20) as client:
        stream = client.makefile("rb")
        for path in [*paths, "/v1/workloads/77", "/v1/nothing", "/v1/hospitality", "/v1/workloads?wait=1", "/v1/cache/l9"]:
            filled = path.replace("{id}", str(id)).replace("{level}", "l3")
            head, get = head_of(stream, client, "HEAD", filled), head_of(stream, client, "GET", filled)
            if path in VARYING:
                assert head[1].pop("Content-Length").isdigit() and get[1].pop("Content-Length").isdigit()
            assert head == get, path
        for more in (f"If-None-Match: {tag}\r\n", "Accept: image/png\r\n", "Content-Type: text/plain\r\n"):
            head, get = (head_of(stream, client, method, f"/v1/workloads/{id}", more) for method in ("HEAD", "GET"))
            assert head == get and head[0] in (304, 406, 415)
    service.delete(id)


def test_a_long_poll_with_head_waits_and_has_no_body(service):
    revision = service.health()["revision"]
    with socket.create_connection(("127.0.0.1", service.port), 20) as client:
        stream = client.makefile("rb")
        begun = time.monotonic()
        status, headers = head_of(stream, client, "HEAD", f"/v1/workloads?since={revision}&wait=1")
        assert (status, headers["Content-Length"], headers["X-Nrd-Revision"]) == (200, "2", str(revision))
        assert time.monotonic() - begun >= 1
        assert head_of(stream, client, "GET", "/v1/health")[0] == 200


def test_a_method_that_a_path_lacks_is_a_405_that_lists_head_next_to_get(service):
    for path in get_paths():
        allow = service.request("OPTIONS", path.replace("{id}", "7").replace("{level}", "l3"))[2]["Allow"]
        assert "GET, HEAD" in allow, (path, allow)
    assert service.request("HEAD", "/v1/hospitality")[2]["Allow"] == "POST"


def test_wrk_counts_no_error(service):
    said = subprocess.run(["/usr/bin/wrk", "-t1", "-c20", "-d1s", f"http://127.0.0.1:{service.port}/v1/workloads"], capture_output=True,
                          text=True, timeout=60).stdout
    assert re.search(r"\d+ requests in", said) and "Non-2xx" not in said and "Socket errors" not in said, said


def test_http_client_of_python_keeps_its_connection(service):
    with contextlib.closing(service.tls(service.admin)) as connection:
        connection.connect()
        first = connection.sock
        for method, path, body, status in (("POST", "/v1/workloads", json.dumps(BODY), 201), ("GET", "/v1/workloads", None, 200),
                                           ("PUT", "/v1/workloads", None, 405), ("POST", "/v1/workloads", "{", 400)):
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == status and answer.read() is not None
            assert connection.sock is first
    for workload in service.list():
        service.delete(workload["id"])


def read_answer(stream):
    status = int(stream.readline().split()[1])
    headers = {}
    while (line := stream.readline().strip()) != b"":
        key, _, value = line.partition(b":")
        headers[key.decode().lower()] = value.strip().decode()
    return status, headers, stream.read(int(headers.get("content-length", 0)))


def test_requests_of_gos_http_client_are_accepted(service):
    """One connection with TLS 1.2 for the name rmd-nameserver; gzip offered; Content-Type on DELETE, which has no body."""
    context = ssl.create_default_context(cafile=service.authority.path)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384")
    context.load_cert_chain(service.admin)
    usual = "Host: 127.0.0.1:8443\r\nUser-Agent: Go-http-client/1.1\r\n"
    body = json.dumps({**BODY, "uuid": "cr", "status": "", "cos_name": "", "origin": ""})
    typed = "Content-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", service.tls_port), 20) as plain:
        with context.wrap_socket(plain, server_hostname="rmd-nameserver") as client:
            stream = client.makefile("rb")

            def ask_for(line, headers="", body=""):
                client.sendall(f"{line} HTTP/1.1\r\n{usual}{headers}Accept-Encoding: gzip\r\n\r\n{body}".encode())
                return read_answer(stream)

            status, headers, text = ask_for("GET /v1/workloads")
            assert (status, text) == (200, b"[]") and "content-encoding" not in headers and "connection" not in headers
            status, headers, text = ask_for("POST /v1/workloads", f"Content-Length: {len(body)}\r\n{typed}", body)
            assert status == 201
            id = json.loads(text)["id"]
            assert ask_for(f"PATCH /v1/workloads/{id}", f"Content-Length: {len(body)}\r\n{typed}", body)[0] == 200
            assert ask_for(f"DELETE /v1/workloads/{id}", typed)[0] == 200
            assert ask_for(f"DELETE /v1/workloads/{id}", typed)[0] == 404


def test_nrdctl_by_the_socket_and_by_tls(service):
    as_user = ["--url", f"https://localhost:{service.tls_port}", "--cacert", service.authority.path, "--cert", service.user,
               "--key", service.user]
    by_socket = run_nrdctl("--socket", service.socket, "--json", "node")
    by_tls = run_nrdctl(*as_user, "--json", "node")
    assert by_socket.returncode == by_tls.returncode == 0, (by_socket, by_tls)
    assert json.loads(by_socket.stdout)["caches"] == json.loads(by_tls.stdout)["caches"]
    refused = run_nrdctl(*as_user, "workload", "create", "--cpus", "1", "--ways", "1")
    assert refused.returncode == 77 and "read-only access" in refused.stderr


def test_nrdctl_tls_init_is_all_that_a_daemon_needs():
    """Certificates as the command makes them, RSA keys for clients among them: some clients take no others."""
    with Service() as service:
        folder = os.path.join(service.pki, "made")
        done = run_nrdctl("tls", "init", "--dir", folder)
        assert done.returncode == 0, done
        service.terminate()
        with open(service.config, "a") as config:
            text = open(service.config).read()
            text = text.replace(service.server, f"{folder}/server.crt", 1).replace(service.server, f"{folder}/server.key", 1)
            config.truncate(0)
            config.write(text.replace(service.authority.path, f"{folder}/ca.crt"))
        service.start()
        for who, status in (("admin", 404), ("user", 403)):
            context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
            context.load_cert_chain(f"{folder}/{who}.crt", f"{folder}/{who}.key")
            connection = http.client.HTTPSConnection("127.0.0.1", service.tls_port, timeout=20, context=context)
            assert ask(connection, "DELETE", "/v1/workloads/1")[0] == status
            key = subprocess.run(["/usr/bin/openssl", "pkey", "-in", f"{folder}/{who}.key", "-noout", "-text"], capture_output=True, text=True)
            assert re.search(r"Private-Key: \((\d+) bit, 2 primes\)", key.stdout), key.stdout


def test_ipv6():
    with Service(more="", address="::1") as service:
        context = ssl.create_default_context(cafile=service.authority.path)
        context.load_cert_chain(service.admin)
        context.check_hostname = False
        connection = http.client.HTTPSConnection("::1", service.tls_port, timeout=20, context=context)
        assert ask(connection, "DELETE", "/v1/workloads/1")[0] == 404
        assert "FROM=[::1]:" in service.journal()
