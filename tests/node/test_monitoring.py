"""What workloads use of cache and memory bandwidth, by the real daemon from what the simulated kernel counts."""

import os

import pytest
from harness import Node, refusal, wait_for
from test_metrics import Scrape

MB = 1_000_000
JSON = {"Accept": "application/json"}


@pytest.fixture
def node():
    with Node() as node:
        yield node


def usage(node, id):
    return node.call("GET", f"/v1/workloads/{id}/monitoring")


def caches(node, id):
    return {cache["id"]: cache for cache in usage(node, id)["caches"]}


def next_sample(node, id):
    """The first answer whose sample is not the one of now, and has rates."""
    before = usage(node, id)["sampled"]
    answers = []
    wait_for(lambda: answers.append(usage(node, id)) or (answers[-1]["sampled"] > before and answers[-1]["interval_seconds"]),
             "the next sample")
    return answers[-1]


def test_a_workload_shows_occupancy_and_bandwidth_of_its_class(node):
    created = node.create("4-5,12", 3, 3)
    cos = created["cos_name"]
    node.sim.use(cos, 0, "llc_occupancy", 2 * 2**20)
    node.sim.use(cos, 0, "mbm_total_bytes", 70 * MB)
    node.sim.use(cos, 0, "mbm_local_bytes", 50 * MB)
    answer = usage(node, created["id"])
    assert (answer["id"], answer["cos_name"], answer["workloads_in_class"]) == (created["id"], cos, 1)
    first, second = answer["caches"]
    assert (first["id"], first["ways"], first["ways_bytes"]) == (0, 3, 3 * 2**20)
    assert (first["occupancy_bytes"], first["total_bytes"], first["local_bytes"]) == (2 * 2**20, 70 * MB, 50 * MB)
    assert (second["id"], second["occupancy_bytes"], second["total_bytes"]) == (1, 0, 0)


def test_a_rate_is_the_difference_between_two_samples(node):
    created = node.create("4-5", 3, 3)
    first = usage(node, created["id"])
    assert (first["interval_seconds"], first["caches"][0]["total_mb_per_second"]) == (None, None)
    assert next_sample(node, created["id"])["caches"][0]["total_mb_per_second"] == 0
    before = usage(node, created["id"])["sampled"]
    node.sim.use(created["cos_name"], 0, "mbm_total_bytes", "+5000000000")
    node.sim.use(created["cos_name"], 0, "mbm_local_bytes", "+1000000000")
    seen = []

    def has_moved():
        seen.append(usage(node, created["id"]))
        return seen[-1]["caches"][0]["total_bytes"] == 5000 * MB and seen[-1]["caches"][0]["local_bytes"] == 1000 * MB
    wait_for(has_moved, "the counters")
    answer = seen[-1]
    assert answer["sampled"] > before
    # The two were moved one after the other, so a sample may have come in between them.
    rates = [a["caches"][0]["local_mb_per_second"] * a["interval_seconds"] for a in seen if a["interval_seconds"]]
    assert max(rates) == pytest.approx(1000, rel=1e-3)
    totals = [a["caches"][0]["total_mb_per_second"] * a["interval_seconds"] for a in seen if a["interval_seconds"]]
    assert max(totals) == pytest.approx(5000, rel=1e-3)
    assert next_sample(node, created["id"])["caches"][0]["total_mb_per_second"] == 0


@pytest.mark.parametrize("word", ["Unavailable", "Error"])
def test_values_that_the_kernel_does_not_report_are_null_and_never_zero(node, word):
    created = node.create("4-5", 3, 3)
    for counter in ("llc_occupancy", "mbm_total_bytes"):
        node.sim.use(created["cos_name"], 0, counter, word)
    cache = next_sample(node, created["id"])["caches"][0]
    assert (cache["occupancy_bytes"], cache["total_bytes"], cache["total_mb_per_second"]) == (None, None, None)
    assert (cache["local_bytes"], cache["local_mb_per_second"]) == (0, 0)


def test_a_restarted_counter_has_no_rate(node):
    created = node.create("4-5", 3, 3)
    node.sim.use(created["cos_name"], 0, "mbm_total_bytes", 9000)
    assert next_sample(node, created["id"])["caches"][0]["total_mb_per_second"] is not None
    node.sim.use(created["cos_name"], 0, "mbm_total_bytes", 10)
    seen = []
    wait_for(lambda: seen.append(caches(node, created["id"])[0]) or seen[-1]["total_bytes"] == 10, "the counter")
    assert seen[-1]["total_mb_per_second"] is None


def test_workloads_of_the_shared_pool_are_counted_together_and_it_is_said(node):
    one, other = node.create("4", 0, 0), node.create("5", 0, 0)
    assert one["cos_name"] == other["cos_name"]
    node.sim.use(one["cos_name"], 0, "llc_occupancy", 4096)
    for workload in (one, other):
        answer = usage(node, workload["id"])
        assert answer["workloads_in_class"] == 2 and answer["caches"][0]["occupancy_bytes"] == 4096
    node.delete(other["id"])
    assert usage(node, one["id"])["workloads_in_class"] == 1


def test_a_new_workload_does_not_see_the_counts_of_its_predecessor(node):
    old = node.create("4-5", 3, 3)
    next_sample(node, old["id"])
    node.sim.use(old["cos_name"], 0, "mbm_total_bytes", "+5000000000")
    node.delete(old["id"])
    new = node.create("6", 2, 2)
    assert new["cos_name"] == old["cos_name"]
    answer = usage(node, new["id"])
    assert answer["caches"][0]["total_mb_per_second"] in (None, 0)


def test_a_workload_without_a_class_is_refused_with_the_reason():
    with Node(cpufreq="intel_pstate") as node:
        id = node.call("POST", "/v1/workloads", {"core_ids": ["4"], "pstate": {"governor": "performance"}})["id"]
        status, text, _ = node.request("GET", f"/v1/workloads/{id}/monitoring", headers=JSON)
        assert status == 409 and "cannot be separated" in text
        assert node.request("GET", "/v1/workloads/77/monitoring")[0] == 404


@pytest.mark.parametrize("shape, config, said", [
    ({"monitoring": False}, "", "info/L3_MON"), ({}, "[monitoring]\ninterval_seconds = 0\n", "monitoring.interval_seconds is 0")])
def test_a_node_that_does_not_count_says_so(shape, config, said):
    with Node(config, **shape) as node:
        id = node.create("4-5", 3, 3)["id"]
        refused = refusal(usage, node, id)
        assert refused.status == 422 and said in refused.text
        scrape = Scrape(node)
        assert scrape.of("nrd_class_cache_bytes") == {} and scrape.of("nrd_usage_age_seconds") == {}


def test_a_cpu_model_with_occupancy_only_reports_only_that():
    with Node(mon_features="llc_occupancy") as node:
        created = node.create("4-5", 3, 3)
        node.sim.use(created["cos_name"], 0, "llc_occupancy", 4096)
        cache = caches(node, created["id"])[0]
        assert (cache["occupancy_bytes"], cache["total_bytes"], cache["local_bytes"]) == (4096, None, None)


def test_groups_of_others_below_mon_groups_stay_as_they_are(node):
    created = node.create("4-5", 3, 3)
    theirs = node.sim.path(f"/sys/fs/resctrl/{created['cos_name']}/mon_groups/theirs")
    os.mkdir(theirs)
    with open(theirs + "/cpus_list", "w") as file:
        file.write("4\n")
    node.sim.use(f"{created['cos_name']}/mon_groups/theirs", 0, "mbm_total_bytes", 7)
    node.sim.use(created["cos_name"], 0, "mbm_total_bytes", 5)
    writes = node.sim.writes()
    assert caches(node, created["id"])[0]["total_bytes"] == 12
    next_sample(node, created["id"])
    assert node.sim.writes() == writes
    with open(theirs + "/cpus_list") as file:
        assert file.read() == "4\n"
    assert os.listdir(os.path.dirname(theirs)) == ["theirs"]


def test_nothing_is_read_without_requests(node):
    created = node.create("4-5", 3, 3)
    path = f"{created['cos_name']}/mon_data/mon_L3_00/llc_occupancy"
    # A fault stays until the file is read: other requests do not read it, the request for usage does.
    node.sim.use(created["cos_name"], 0, "llc_occupancy", 4096)
    node.sim.control(f"fault read {path} errno EIO")
    node.list()
    node.health()
    node.create("6", 1, 1)
    assert caches(node, created["id"])[0]["occupancy_bytes"] is None
    assert next_sample(node, created["id"])["caches"][0]["occupancy_bytes"] == 4096


def test_metrics_show_classes_with_the_workload_that_is_alone_in_one(node):
    alone = node.create("4-5", 3, 3, id="web-1")
    shared = node.create("8", 0, 0)
    node.create("9", 0, 0)
    node.sim.use(alone["cos_name"], 0, "llc_occupancy", 4096)
    node.sim.use(alone["cos_name"], 0, "mbm_total_bytes", 70)
    node.sim.use(alone["cos_name"], 0, "mbm_local_bytes", 50)
    node.sim.use(shared["cos_name"], 1, "llc_occupancy", 8192)
    scrapes = [Scrape(node)]
    its = {"class": alone["cos_name"], "workload": "web-1", "cache": "0"}
    wait_for(lambda: scrapes.append(Scrape(node)) or scrapes[-1]("nrd_class_cache_bytes", **its) is not None, "a sample")
    scrape = scrapes[-1]
    assert scrape("nrd_class_cache_bytes", **its) == 4096
    assert scrape("nrd_class_memory_bytes_total", **its) == 70 and scrape("nrd_class_local_memory_bytes_total", **its) == 50
    assert scrape("nrd_class_cache_bytes", **{"class": shared["cos_name"], "workload": "", "cache": "1"}) == 8192
    assert len(scrape.of("nrd_class_cache_bytes")) == 2
    assert 0 <= scrape("nrd_usage_age_seconds") < 60
