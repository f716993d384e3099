"""The largest bodies that a request may have, made to be expensive: what they cost grows with their size and no faster.

    NRD=build/release/daemon/nrd python3 -m pytest -s tests/wire/test_largest.py    shows the dearest of each route
"""

import time

import pytest

from fixtures import Service, routes

LARGEST = 64 * 1024  # kBodyLimit of api/http/limits.h
SMALL = LARGEST // 8
# Eight times the bytes, and as much again for the noise of a busy machine; what is quadratic takes 64 times as long.
GROWTH = 16
# Below that it is not worth comparing: a fifth of what one quadratic body cost in a build without sanitizers.
CHEAP = 0.02
CPUS = "0-8191,"


def filled(before, item, after, size, between=","):
    """`before`, so many of item(0), item(1) ... as fit, and `after`."""
    parts, left = [], size - len(before) - len(after)
    while left >= (needed := len(text := item(len(parts))) + len(between)):
        parts.append(text)
        left -= needed
    return before + between.join(parts) + after


def key(i):
    return f'"k{i}":0'


def in_object(*path):
    """Many keys in the object at `path`."""
    return lambda size: filled("".join(f'{{"{name}":' for name in path) + "{", key, "}" * (len(path) + 1), size)


def of_cpus(item):
    """One long list of CPUs."""
    return lambda size: filled('{"core_ids":["', lambda i: item, '"],"cache":{"max":99,"min":99}}', size)


BODIES = {
    "keys": in_object(),
    "keys in upper case": lambda size: filled("{", lambda i: f'"K{i}":0', "}", size),
    "long keys": lambda size: filled("{", lambda i: f'"{i:0100}":0', "}", size),
    "keys of cache": in_object("cache"), "keys of rdt": in_object("rdt"), "keys of mba": in_object("rdt", "mba"),
    "keys of plugins": in_object("plugins"), "keys of pstate": in_object("pstate"), "keys of onload": in_object("onload"),
    "objects": lambda size: filled("{", lambda i: f'"k{i}":{{"a":{{}}}}', "}", size),
    "depth": lambda size: filled('{"a":' * 30 + "{", key, "}" * 31, size),
    "variables": in_object("env"), "modules": in_object("parameters"),
    "parameters": lambda size: filled('{"state":"loaded","version":"1","parameters":{"onload":{', lambda i: f'"p{i}":"1"', "}}}", size),
    "words": lambda size: filled('{"state":"loaded","version":"1","control_plane":[', lambda i: '"-K"', "]}", size),
    "profiles": lambda size: filled('{"profiles":[', lambda i: '"latency"', "]}", size),
    "text": lambda size: filled('{"text":"', lambda i: f"onload_set EF_A{i} 1", '"}', size, between="\\n"),
    "one CPU after another": lambda size: filled('{"core_ids":[', lambda i: f'"{i}"', '],"cache":{"max":99,"min":99}}', size),
    "all CPUs again and again": of_cpus("0-8191"), "all CPUs taken away again and again": of_cpus("^0-8191"),
    "a few CPUs again and again": of_cpus("0-3"),
    "all CPUs in many items": lambda size: filled('{"core_ids":[', lambda i: '"0-8191"', '],"cache":{"max":99,"min":99}}', size),
    "tasks": lambda size: filled('{"task_ids":[', lambda i: f'"{2**22 - i}"', '],"cache":{"max":99,"min":99}}', size),
    "numbers": lambda size: filled("[", lambda i: "0", "]", size), "a number": lambda size: "9" * size,
    "a string": lambda size: filled('"', lambda i: "\\u0001", '"', size, between=""),
    "arrays": lambda size: filled("[", lambda i: "[]", "]", size),
}


def routes_with_bodies():
    return [(method, path) for method, path in routes() if method in ("POST", "PATCH", "PUT")]


@pytest.fixture(scope="module")
def service():
    with Service(more="[log]\nlevel = \"error\"") as service:
        service.workload = service.create("4-5", 2, 2)["id"]
        yield service


def seconds_of(service, connection, method, path, body, times):
    """CPU of the daemon for one such request: the least of some, for what else it does comes on top."""
    clock = ~service.daemon_pid() << 3 | 2  # the process's, as clock_getcpuclockid() makes it
    costs = []
    for _ in range(times):
        before = time.clock_gettime(clock)
        connection.request(method, path.replace("{id}", service.workload), body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        costs.append(time.clock_gettime(clock) - before)
        assert answer.status != 201, (method, path, "each has to meet the same node")
    return min(costs)


def is_quadratic(service, connection, method, path, body, first):
    """`first`: what the largest one has cost once. What else runs can make few requests look dear, but not each of many."""
    def cost(size, times):
        return seconds_of(service, connection, method, path, body(size), times)

    def is_dear(large, times):
        return large > CHEAP and large > GROWTH * cost(SMALL, times)
    return is_dear(first, 3) and all(is_dear(cost(LARGEST, times), times) for times in (3, 20))


@pytest.mark.parametrize("method, path", routes_with_bodies())
def test_no_body_costs_more_than_its_size(service, method, path):
    connection = service.unix()
    worst = (0.0, "")
    quadratic = []
    for name, body in BODIES.items():
        large = body(LARGEST)
        assert LARGEST - 200 <= len(large) <= LARGEST, name
        cost = seconds_of(service, connection, method, path, large, times=1)
        worst = max(worst, (cost, name))
        if is_quadratic(service, connection, method, path, body, cost):
            quadratic.append((name, cost))
    print(f"\n{method} {path}: at most {worst[0] * 1000:.1f} ms, for {worst[1]}", end="")
    connection.close()
    assert quadratic == []
