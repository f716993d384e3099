"""GET /metrics of the real daemon: every number says what was done, and every name is in docs/operations.md."""

import errno
import json
import os
import re
import time

import pytest
import yaml
from cpu_pools import LARGE
from faulty_disk import Disk
from harness import DRIFT, Node, refusal, wait_for
from shared_node import node  # noqa: F401

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
OPERATIONS = os.path.join(ROOT, "docs", "operations.md")
# What Prometheus 2 sends.
ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="[^"]*",?)+)\})? (\S+)$')


class Scrape:
    def __init__(self, node):
        status, text, headers = node.request("GET", "/metrics", headers={"Accept": ACCEPT})
        assert status == 200, text
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        self.types, self.helps, self.values = {}, set(), {}
        for line in text.splitlines():
            if found := re.match(r"# TYPE (\w+) (\w+)$", line):
                self.types[found[1]] = found[2]
            elif found := re.match(r"# HELP (\w+) .+", line):
                self.helps.add(found[1])
            else:
                found = SAMPLE.match(line)
                assert found, line
                key = (found[1], frozenset(re.findall(r'([a-z_]+)="([^"]*)"', found[2] or "")))
                assert key not in self.values, f"twice: {line}"
                self.values[key] = float(found[3])

    def __call__(self, name, **labels):
        return self.values.get((name, frozenset(labels.items())))

    def of(self, name):
        return {labels: value for (sample, labels), value in self.values.items() if sample == name}

    def requests(self):
        return self.of("nrd_http_requests_total")


@pytest.fixture(scope="module")
def shared():
    with Node() as node:
        node.fresh = Scrape(node)
        yield node


@pytest.fixture(scope="module")
def fresh(shared):
    """Of a node that has done nothing."""
    return shared.fresh


def documented():
    with open(OPERATIONS) as file:
        return dict(re.findall(r"^\| `((?:nrd|process)_\w+)` \| (\w+) \|", file.read(), re.M))


def test_every_name_is_documented_with_its_type_and_no_other_is(fresh):
    assert fresh.types == documented() and fresh.helps == set(fresh.types)
    base = {re.sub(r"_(bucket|sum|count)$", "", name) if re.sub(r"_(bucket|sum|count)$", "", name) in fresh.types else name
            for name, _ in fresh.values}
    assert base <= set(fresh.types)
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in fresh.types.items())


def documented_labels():
    """By name: those of its row. "likewise" and "the same" mean the row above."""
    labels, above = {}, frozenset()
    with open(OPERATIONS) as file:
        for name, text in re.findall(r"^\| `((?:nrd|process)_\w+)` \| \w+ \| ([^|]*)\|", file.read(), re.M):
            own = frozenset(re.findall(r"`(\w+)`", text))
            labels[name] = above = own | above if re.match("likewise|the same", text) else own
    return labels


# Of a node with TLS, with Onload, or whose users of Onload have been counted.
ELSEWHERE = {"nrd_tls_certificate_expiry_timestamp_seconds", "nrd_onload_info", "nrd_onload_users", "nrd_onload_stacks"}


def test_each_label_is_documented_and_no_other_is():
    documented = documented_labels()
    with Node(DRIFT + LARGE, cpufreq="intel_pstate", sockets=2, nodes_per_socket=2, snc=True) as node:
        id = node.create("4", 2, 2)["id"]
        node.call("PATCH", f"/v1/workloads/{id}", {"pstate": {"max_ratio": 20}})
        found = {}
        # Each scrape asks for a sample, and a drift check reads frequencies.
        wait_for(lambda: {"nrd_class_numa_memory_bytes_per_second", "nrd_cpu_frequency_hertz"} <= {name for name, _ in Scrape(node).values}, "samples")
        for name, labels in Scrape(node).values:
            of = name if name in documented else re.sub(r"_(bucket|sum|count)$", "", name)
            found.setdefault(of, set()).add(frozenset(label for label, _ in labels) - {"le"})
    assert found == {name: {documented[name]} for name in found}
    assert set(documented) - set(found) <= ELSEWHERE


# Base units of Prometheus, and what a name without a unit counts.
UNITS = re.compile(r"_(seconds|bytes|hertz|ratio|info|total|bytes_per_second)$")
OTHER_UNITS = re.compile(r"_(ms|us|milliseconds|khz|mhz|kb|mb|mib|percent|minutes|hours)(_|$)")


def test_names_follow_the_rules_of_prometheus(fresh):
    for name, kind in fresh.types.items():
        assert re.fullmatch(r"(nrd|process)(_[a-z0-9]+)+", name), name
        assert not OTHER_UNITS.search(name), name
        assert kind != "histogram" or UNITS.search(name), name
        assert not re.search(r"_(gauge|counter|histogram|count|sum|bucket)$", name), name
        assert ("_info" in name) == name.endswith("_info"), name


def names_in(expression):
    """The names of metrics in an expression of PromQL."""
    return set(re.findall(r"\b((?:nrd|process)_\w+)", re.sub(r'"[^"]*"', "", expression)))


def expressions():
    with open(os.path.join(ROOT, "etc/prometheus/nrd.rules.yml")) as file:
        for rule in (rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"]):
            yield rule["alert"], rule["expr"]
    with open(os.path.join(ROOT, "etc/grafana/nrd.json")) as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


def test_rules_and_dashboard_use_metrics_that_exist(fresh):
    types = fresh.types
    histograms = {f"{name}_{part}" for name, kind in types.items() if kind == "histogram" for part in ("bucket", "count", "sum")}
    used = set()
    for where, expression in expressions():
        used |= names_in(expression)
        assert names_in(expression) <= set(types) | histograms, (where, expression)
    assert len(used) > 15


def test_every_alert_is_documented_and_tested():
    with open(os.path.join(ROOT, "etc/prometheus/nrd.rules.yml")) as file:
        alerts = [rule["alert"] for group in yaml.safe_load(file)["groups"] for rule in group["rules"]]
    with open(OPERATIONS) as file:
        assert re.findall(r"^\| `(Nrd\w+)` \|", file.read(), re.M) == alerts
    with open(os.path.join(ROOT, "tests/prometheus/nrd.rules.test.yml")) as file:
        cases = [case["alertname"] for test in yaml.safe_load(file)["tests"] for case in test["alert_rule_test"]]
    assert set(cases) == set(alerts) and all(cases.count(alert) >= 2 for alert in alerts)


def test_a_workload_is_described_while_it_exists(node):
    id = node.create("4-5", 3, 3, uuid="feed")["id"]
    labels = {"id": id, "name": "", "uuid": "feed", "origin": "REST", "cpus": "4-5", "pool": "guarantee"}
    scrape = Scrape(node)
    assert scrape.of("nrd_workload_info") == {frozenset(labels.items()): 1}
    assert scrape("nrd_pool_ways_used", level="3", cache="0", pool="guarantee") == 3
    ways = {pool: scrape("nrd_pool_ways", level="3", cache="0", pool=pool) for pool in ("guarantee", "besteffort", "shared", "os")}
    assert sum(ways.values()) == scrape("nrd_cache_ways", level="3", cache="0")
    assert scrape("nrd_pool_ways_free", level="3", cache="0", pool="guarantee") == ways["guarantee"] - 3
    node.delete(id)
    assert Scrape(node).of("nrd_workload_info") == {}


def test_sizes_and_frequencies_are_in_base_units():
    with Node(machine="sapphire-rapids", cpufreq="intel_pstate") as node:
        cache = node.call("GET", "/v1/cache/l3/0")
        body = {"core_ids": ["8"], "pstate": {"min_mhz": 2000, "max_mhz": 3000}}
        id = node.call("POST", "/v1/workloads", body)["id"]
        scrape = Scrape(node)
        assert scrape("nrd_cache_size_bytes", level="3", cache="0") == cache["total_size"]
        assert scrape("nrd_cache_way_bytes", level="3", cache="0") == cache["WaySize"]
        assert scrape("nrd_cpu_frequency_min_hertz", cpu="8", workload=id) == 2e9
        assert scrape("nrd_cpu_frequency_max_hertz", cpu="8", workload=id) == 3e9


def test_the_process_is_described(node):
    scrape = Scrape(node)
    assert scrape("process_threads") >= 2 and scrape("process_cpu_seconds_total") > 0
    assert 1 << 20 < scrape("process_resident_memory_bytes") < scrape("process_virtual_memory_bytes")
    assert 5 < scrape("process_open_fds") < scrape("process_max_fds")
    assert abs(time.time() - scrape("nrd_uptime_seconds") - scrape("process_start_time_seconds")) < 60
    assert scrape("process_start_time_seconds") == Scrape(node)("process_start_time_seconds")
    assert scrape.of("nrd_tls_certificate_expiry_timestamp_seconds") == {}


def test_workloads_and_ways_are_counted_as_they_come_and_go(node):
    def seen():
        scrape = Scrape(node)
        return ({pool: scrape("nrd_workloads", pool=pool) for pool in ("none", "guarantee", "besteffort", "shared")},
                {cache: tuple(scrape(f"nrd_cache_ways_{what}", level="3", cache=cache) for what in ("used", "free"))
                 for cache in "01"})
    assert len(Scrape(node).of("nrd_workloads")) == 4
    nobody, (none_used, all_free) = {"none": 0, "guarantee": 0, "besteffort": 0, "shared": 0}, (0, 10)
    assert seen() == (nobody, {"0": (none_used, all_free), "1": (none_used, all_free)})
    id = node.create("4-5", 3, 3)["id"]
    assert seen() == ({**nobody, "guarantee": 1}, {"0": (3, 7), "1": (0, 10)})
    node.create("8", 2, 1)
    node.create("9", 0, 0)
    pools, ways = seen()
    granted = sum(w["granted_ways"]["1"]["ways"] for w in node.list() if "1" in w["granted_ways"])
    assert pools == {"none": 0, "guarantee": 1, "besteffort": 1, "shared": 1}
    assert ways == {"0": (3, 7), "1": (granted, 10 - granted)}
    node.delete(id)
    assert seen()[1]["0"] == (0, 10)
    assert Scrape(node)("nrd_cache_ways", level="3", cache="0") == 11 and Scrape(node)("nrd_workloads_failed") == 0


def test_each_converge_and_each_commit_is_one_of_its_histogram(node):
    def counts():
        scrape = Scrape(node)
        for name in ("nrd_converge_seconds", "nrd_commit_seconds"):
            buckets = [value for _, value in sorted((float(dict(labels)["le"]), value)
                                                    for labels, value in scrape.of(name + "_bucket").items())]
            assert buckets == sorted(buckets) and buckets[-1] == scrape(name + "_count")
            assert scrape(name + "_sum") >= 0
        return scrape("nrd_converge_seconds_count"), scrape("nrd_commit_seconds_count")
    id = node.create("4-5", 3, 3)["id"]  # claims what is cold
    converges, commits = counts()
    node.delete(id)
    assert counts() == (converges + 1, commits + 1)
    node.create("4-5", 3, 3)  # warm
    assert counts() == (converges + 2, commits + 2)
    assert refusal(node.create, "4", 2, 2)  # taken: refused by the plan
    assert counts() == (converges + 2, commits + 2)
    node.sim.control("fault write 1 errno EIO")
    assert refusal(node.create, "6", 1, 1)
    assert counts()[0] == converges + 4  # the one that failed, and back


def test_requests_are_counted_by_route_and_code_and_never_by_client_text(node):
    before = Scrape(node).requests()
    id = node.create("4-5", 3, 3)["id"]
    for number in (id, "77", "88", "%22%7b", "a/b"):
        node.request("GET", f"/v1/workloads/{number}")
    node.request("GET", "/v1/workloads/?uuid=x")
    node.request("DELETE", "/v1/node")
    node.request("GET", "/nothing/" + "x" * 200)
    assert node.request("BREW", "/v1/workloads")[0] >= 400  # refused before a route is sought
    after = Scrape(node).requests()
    grown = {tuple(dict(labels)[key] for key in ("method", "route", "code")): after[labels] - before.get(labels, 0)
             for labels in after if after[labels] != before.get(labels, 0)}
    grown.pop(("GET", "/v1/health", "200"), None)
    assert grown == {("POST", "/v1/workloads", "201"): 1, ("GET", "/v1/workloads/{id}", "200"): 1,
                     ("GET", "/v1/workloads/{id}", "404"): 3, ("GET", "/v1/workloads", "200"): 1,
                     ("other", "none", "404"): 2, ("other", "none", "405"): 1, ("GET", "/metrics", "200"): 1}


def test_health_and_metrics_say_the_same(node):
    def agrees(is_ok):
        scrape, health = Scrape(node), node.health()
        assert (scrape("nrd_ok") == 1) == (health["status"] == "ok") == is_ok
        assert (scrape("nrd_hardware_ok") == 1) == (health["hardware_problem"] == "") == is_ok
        assert (scrape("nrd_writes_frozen") == 1) == health["writes_frozen"]
        assert scrape("nrd_drift_repairs_total") == health["drift_repairs"]
        assert scrape.of("nrd_build_info") == {frozenset({("version", health["version"])}): 1}
    agrees(True)
    node.create("4-5", 3, 3)
    for nth in range(2, 200):  # after the first write there is something to take back
        node.sim.control(f"fault write {nth} errno EIO")
    assert refusal(node.create, "6-7", 2, 2)
    agrees(False)
    node.sim.control("reset")
    node.kill9_and_start()


def test_foreign_changes_are_counted():
    with Node(DRIFT) as node:
        cos = node.create("4-5", 3, 3)["cos_name"]
        assert Scrape(node)("nrd_drift_repairs_total") == 0
        node.sim.run_inside(["sh", "-c", f"echo 'L3:0=7' > /sys/fs/resctrl/{cos}/schemata"])
        wait_for(lambda: Scrape(node)("nrd_drift_repairs_total") == 1, "the repair")
        assert node.health()["drift_repairs"] == 1


def test_changes_that_a_full_disk_refuses_are_counted():
    """Health is ok meanwhile: what was granted is on disk and on the hardware."""
    with Node(faulty_disk=True) as node:
        assert Scrape(node)("nrd_commits_failed_total") == 0
        node.disk.set(at=1, kind=Disk.FAIL_ON, errno=errno.ENOSPC)
        assert [refusal(node.create, "4-5", 3, 3).status for _ in range(2)] == [503, 503]
        scrape = Scrape(node)
        assert scrape("nrd_commits_failed_total") == 2 and scrape("nrd_ok") == 1
        node.disk.set()
        node.create("4-5", 3, 3)
        assert Scrape(node)("nrd_commits_failed_total") == 2


def test_counters_start_at_zero_with_the_daemon(node):
    node.create("4-5", 3, 3)
    uptime = Scrape(node)("nrd_uptime_seconds")
    assert 0 <= uptime <= Scrape(node)("nrd_uptime_seconds")
    node.kill9_and_start()
    scrape = Scrape(node)
    assert scrape("nrd_workloads", pool="guarantee") == 1
    assert scrape("nrd_http_requests_total", method="POST", route="/v1/workloads", code="201") is None


def test_a_node_without_onload_and_without_rdt_has_metrics_too():
    with Node(rdt=False) as node:
        scrape = Scrape(node)
        assert scrape.of("nrd_cache_ways") == {} and scrape("nrd_hardware_ok") == 1
        assert scrape("nrd_onload_loaded") == 0 and scrape("nrd_onload_device_access_open") == 0 and scrape("nrd_onload_users") == 0
        assert scrape.of("nrd_onload_info") == {}
        assert set(scrape.of("nrd_onload_operation_running").values()) == {0}
        assert scrape("nrd_onload_stacks", kind="live") == 0 and scrape("nrd_onload_allocations") == 0
