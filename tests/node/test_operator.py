"""The traffic of RMD's operator for Kubernetes, byte by byte: what it sends in either wire shape, and whether what it is
answered decodes into its types. It is written in Go; what its HTTP client puts around a body is in Operator.send."""

import json
import os
import socket
import ssl
import sys

import pytest
from harness import Node
from shared_node import node  # noqa: F401

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "wire"))
from fixtures import Service  # noqa: E402

UINT32 = range(1 << 32)


class Answer:
    def __init__(self, file):
        self.status = int(file.readline().split()[1])
        self.headers = {}
        while line := file.readline().strip():
            key, _, value = line.decode().partition(": ")
            self.headers[key.lower()] = value
        self.body = file.read(int(self.headers.get("content-length", 0))).decode()


class Operator:
    """One connection that is kept, as Go's client keeps it."""

    def __init__(self, connection, host):
        self.connection, self.host = connection, host
        self.file = connection.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.connection.close()

    def send(self, method, path, body=None):
        """What net/http writes: GET bare, everything else with the type it sets, DELETE too, which has no body."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nUser-Agent: Go-http-client/1.1\r\n"
        if body is not None:
            head += f"Content-Length: {len(body)}\r\n"
        if method != "GET":
            head += "Content-Type: application/json\r\n"
        head += "Accept-Encoding: gzip\r\n\r\n"
        self.connection.sendall(head.encode() + (body or "").encode())
        return Answer(self.file)

    def list(self):
        """It looks at the body only, never at the status."""
        answer = self.send("GET", "/v1/workloads")
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        workloads = json.loads(answer.body)
        for workload in workloads:
            assert_decodes(workload)
        return workloads

    def find(self, uuid):
        return next((workload for workload in self.list() if workload["uuid"] == uuid), None)


def plain(node):
    return Operator(socket.create_connection(("127.0.0.1", node.port), timeout=30), f"127.0.0.1:{node.port}")


def is_number(value, integral=True):
    return type(value) is int and value in UINT32 if integral else type(value) in (int, float)


def assert_decodes(workload):
    """Into the structures of both of its versions; another type anywhere fails the whole list."""
    for key in ("id", "uuid", "policy", "status", "cos_name", "origin"):
        assert isinstance(workload.get(key, ""), str), key
    assert workload["id"] and workload["status"] == "Successful" and workload["origin"] == "REST"
    for key in ("core_ids", "task_ids"):
        assert all(isinstance(item, str) for item in workload.get(key, [])), key
    rdt = workload["rdt"]
    for part, keys in ((workload.get("cache", {}), ("max", "min")), (rdt.get("cache", {}), ("max", "min")),
                       (rdt.get("mba", {}), ("percentage", "mbps"))):
        assert isinstance(part, dict) and all(is_number(part[key]) for key in keys if key in part), part
    assert all(isinstance(plugin, dict) for plugin in workload.get("plugins", {}).values())
    for pstate in (workload.get("pstate", {}), workload.get("plugins", {}).get("pstate", {})):
        if "ratio" in pstate:
            assert is_number(pstate["ratio"], integral=False)
        assert isinstance(pstate.get("monitoring", ""), str)


def body_of(shape, cores, ways=(0, 0), pstate=None, uuid="rmdworkload-x"):
    """The order of keys is that of its structures; what it leaves out when empty is left out."""
    cores = f'"core_ids":{json.dumps(cores)},' if cores else ""
    cache = f'{{"max":{ways[0]},"min":{ways[1]}}}'
    if shape == "older":
        return (f'{{{cores}"status":"","cos_name":"","cache":{cache},"pstate":{pstate or "{}"},'
                f'"uuid":"{uuid}","origin":""}}')
    plugins = f'"plugins":{{"pstate":{pstate}}},' if pstate else ""
    return (f'{{{cores}"status":"","cos_name":"","rdt":{{"cache":{cache},"mba":{{}}}},{plugins}'
            f'"uuid":"{uuid}","origin":""}}')


SHAPES = pytest.mark.parametrize("shape", ["older", "newer"])


@pytest.fixture(scope="module")
def shared():
    with Node(cpufreq="intel_pstate") as node:
        yield node


@SHAPES
@pytest.mark.parametrize("cores,ways,pool", [
    (["4", "5", "6", "7"], (2, 2), "guarantee"),
    (["0-3", "6", "8"], (3, 1), "besteffort"),
    (["0-15"], (0, 0), "shared"),     # allCores: one string, and a cache that the user did not mention
    (["0,3,8-15"], (0, 0), "shared"),  # the same without the reserved ones
])
def test_create_patch_list_and_delete(node, shape, cores, ways, pool):
    with plain(node) as operator:
        assert operator.list() == []
        body = body_of(shape, cores, ways)
        assert operator.send("POST", "/v1/workloads", body).status in (200, 201)
        workload = operator.find("rmdworkload-x")
        assert workload["core_ids"] == cores and workload["pool"] == pool and workload["cos_name"]
        writes, revision = node.sim.writes(), node.health()["revision"]
        for _ in range(3):  # at once after each creation, and every 60 seconds
            assert operator.send("PATCH", "/v1/workloads/" + workload["id"], body).status == 200
            assert operator.find("rmdworkload-x") == workload
        assert (node.sim.writes(), node.health()["revision"]) == (writes, revision)
        answer = operator.send("DELETE", "/v1/workloads/" + workload["id"])
        assert (answer.status, answer.body) == (200, "")
        assert operator.list() == []


@SHAPES
@pytest.mark.parametrize("first,again", [("3", "3"), ("3.5", "3.5"), ("3", "3.0"), ("3.0", '"3"'), ("3", "3e0")])
def test_a_threshold_stays_the_same_however_it_is_written(node, shape, first, again):
    with plain(node) as operator:
        def body(ratio):
            return body_of(shape, ["4-5"], (1, 1), f'{{"ratio":{ratio},"monitoring":"off"}}')
        assert operator.send("POST", "/v1/workloads", body(first)).status == 201
        [workload] = operator.list()
        assert workload["plugins"]["pstate"]["ratio"] == float(first)
        writes, revision = node.sim.writes(), node.health()["revision"]
        answer = operator.send("PATCH", "/v1/workloads/" + workload["id"], body(again))
        assert answer.status == 200, answer.body
        assert_decodes(json.loads(answer.body))
        assert (node.sim.writes(), node.health()["revision"]) == (writes, revision)
        assert operator.list() == [workload]


@SHAPES
def test_a_refusal_is_one_line_that_people_are_shown(node, shape):
    with plain(node) as operator:
        assert operator.send("POST", "/v1/workloads", body_of(shape, ["1"], (1, 1), uuid="a")).status == 201
        answer = operator.send("POST", "/v1/workloads", body_of(shape, ["1"], (1, 1), uuid="b"))
        assert (answer.status, answer.headers["content-type"]) == (400, "text/plain")
        assert answer.body == ("Failed to validate workload. Reason: Workload validation in database failed. "
                               "Details: CPU list [1] has been assigned\n")
        # The id was lost from the resource's status.
        for path in ("/v1/workloads/", "/v1/workloads"):
            answer = operator.send("PATCH", path, body_of(shape, ["1"], (1, 1), uuid="a"))
            assert (answer.status, answer.body) == (405, "405: Method Not Allowed\n")
        assert operator.send("PATCH", "/v1/workloads/77", body_of(shape, ["1"])).status == 404
        assert [workload["uuid"] for workload in operator.list()] == ["a"]


def test_changed_cpus_and_removed_reservations_are_patched(node):
    with plain(node) as operator:
        assert operator.send("POST", "/v1/workloads", body_of("newer", ["4-5"], (2, 2))).status == 201
        id = operator.find("rmdworkload-x")["id"]
        assert operator.send("PATCH", "/v1/workloads/" + id, body_of("newer", ["5-6"], (2, 2))).status == 200
        assert operator.find("rmdworkload-x")["core_ids"] == ["5-6"]
        node.assert_consistent({id})


@pytest.fixture(scope="module")
def service():
    with Service() as service:
        yield service


def operators_context(service):
    """TLS 1.2 or later, its list of ciphers, its one name for all servers, and its certificate."""
    context = ssl.create_default_context(cafile=service.authority.path)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384")
    context.load_cert_chain(service.admin)
    return context


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_over_tls_with_its_name_and_ciphers(service, newest):
    context = operators_context(service)
    context.maximum_version = newest
    connection = context.wrap_socket(socket.create_connection(("127.0.0.1", service.tls_port), timeout=30),
                                     server_hostname="rmd-nameserver")
    with Operator(connection, f"127.0.0.1:{service.tls_port}") as operator:
        assert connection.cipher()[0] in ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_AES_256_GCM_SHA384")
        assert operator.send("POST", "/v1/workloads", body_of("newer", ["2-3"], (1, 1), uuid="tls")).status == 201
        workload = operator.find("tls")
        assert operator.send("DELETE", "/v1/workloads/" + workload["id"]).status == 200
