"""What clients and operators of RMD could do, as far as no other test shows it: docs/rmd-compatibility.md has all cases."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from harness import Node
from masks import cpus_of
from rmd_table import CONFLICT, INVALID, ROOT, created, daemon, masks, not_created, read, refusal, rmd_body

pytest_plugins = "rmd_nodes"


# Row 1
def test_lists_of_cpus_are_accepted(node):
    cores = ["4", "6-7", "9,11-12"]
    status, text, headers = node.request("POST", "/v1/workloads", rmd_body(cores, (2, 2)))
    assert (status, headers["Content-Type"]) == (201, "application/json")
    workload = json.loads(text)
    assert list(workload)[:6] == ["id", "core_ids", "status", "cos_name", "rdt", "origin"]
    assert (workload["core_ids"], workload["status"], workload["origin"]) == (cores, "Successful", "REST")
    assert workload["rdt"] == {"cache": {"max": 2, "min": 2}, "mba": {}}
    assert cpus_of(node.hardware()[workload["cos_name"]]["cpus"]) == {4, 6, 7, 9, 11, 12}
    status, text = not_created(node, ["20"], (1, 1), core_id=["20"])
    assert status == 400 and '/core_id: unknown key "core_id"; did you mean "core_ids"?' in text


@pytest.mark.parametrize("ways, pool", [((0, 0), "shared"), ((3, 1), "besteffort"), ((3, 3), "guarantee")])
# Row 3
def test_max_and_min_determine_the_pool(node, ways, pool):
    assert created(node, ["4"], ways)["pool"] == pool
    for none, words in (((3, 0), "Bad cache ways request. Details: max_cache=3, min_cache=0, doesn't support"),
                        ((1, 3), "Min cache value cannot be greater than max cache value")):
        status, text = not_created(node, ["5"], none)
        assert status == 400 and text.startswith(words + ". Details: /rdt/cache/min: "), text


# Row 1
def test_null_counts_as_absent(node):
    """As encoders of other languages write what was not set, and as RMD's decoder took it."""
    unset = dict.fromkeys(["id", "task_ids", "policy", "status", "cos_name", "uuid", "origin", "plugins", "pstate", "cache",
                           "backend_plugin_info"])
    rdt = {"cache": {"max": 2, "min": 2}, "mba": {"percentage": None, "mbps": None}}
    workload = node.call("POST", "/v1/workloads", {**unset, "core_ids": ["4"], "rdt": rdt})
    assert (workload["cache"], workload.get("uuid")) == ({"max": 2, "min": 2}, None)
    path = "/v1/workloads/" + workload["id"]
    wider = node.call("PATCH", path, {"core_ids": None, "uuid": None, "cache": {"max": 3, "min": 3}})
    assert (wider["core_ids"], wider["cache"]) == (["4"], {"max": 3, "min": 3})
    wider = node.call("PATCH", path, {"cache": {"max": 4, "min": None}})
    assert wider["cache"] == {"max": 4, "min": 3}
    for body, words in (({**unset, "core_ids": None, "rdt": rdt}, "No task or core id specified\n"),
                        (rmd_body(["5"], (None, 2)), "Need to provide both cache.* or none of them\n"),
                        (rmd_body(["5"], (None, None)), "No RDT/Plugins params in workload\n")):
        assert refusal(node, "POST", "/v1/workloads", body) == (400, INVALID + words)
    pstate = {"pstate": {"ratio": None, "monitoring": None}}
    assert "plugins" not in created(node, ["5"], (1, 1), plugins=pstate)


# Row 5
def test_best_effort_gets_free_ways_up_to_max(node):
    assert masks(created(node, ["4"], (5, 2))) == {"0": "3e000"}
    assert masks(created(node, ["5"], (4, 1))) == {"0": "1800"}
    status, text = not_created(node, ["6"], (3, 1))
    assert status == 409 and text.startswith("Not enough cache left on cache_id 0. Details: ")
    for cpu, ways, cache, pool in (("6", (11, 11), 0, "guarantee"), ("26", (9, 8), 1, "besteffort")):
        status, text = not_created(node, [cpu], ways)
        assert status == 400 and text.startswith(f"Not enough cache left on cache_id {cache}. Details: ") and pool in text
    with Node("[cache_pools]\nshared = 0\n", sockets=1, cpus=4) as without:
        status, text = not_created(without, ["1"], (0, 0))
        assert status == 422 and text.startswith(
            "Unable to read cache schemata; error doesn't support pool shared. Details: ")


# Row 8
def test_shared_workloads_have_one_class(node):
    first, second = created(node, ["4"], (0, 0)), created(node, ["24"], (0, 0))
    node.kill9_and_start()
    third = created(node, ["5"], (0, 0))
    assert first["cos_name"] == second["cos_name"] == third["cos_name"]
    group = node.hardware()[first["cos_name"]]
    assert (group["L3"], cpus_of(group["cpus"])) == ({"0": "c0000", "1": "c0000"}, {4, 5, 24})
    assert node.health()["status"] == "ok"


# Row 14
def test_other_plugins_are_refused(node):
    assert not_created(node, ["4"], (1, 1), plugins={"sampleplugin": {"identifier": 1}}) == (
        400, INVALID + "Trying to use module that is not loaded\n")
    assert node.request("GET", "/v1/sampleplugin")[:2] == (404, "404: Page Not Found\n")
    created(node, ["4"], plugins={"pstate": {"ratio": 1.5, "monitoring": "off"}})
    assert node.request("GET", "/v1/pstate?view=rmd")[0] == 200
    assert node.request("GET", "/v1/pstate?view=RMD")[:2] == (400, '?view: unknown view "RMD" (allowed: rmd)\n')


# Row 18
def test_conflicts_have_rmds_text(node):
    id = created(node, ["4-6,30-38"], (1, 1), uuid="u")["id"]
    assert not_created(node, ["31,33,38-39", "4"], (1, 1)) == (400, CONFLICT + "CPU list [4 31 33 38] has been assigned\n")
    assert not_created(node, ["7"], (1, 1), uuid="u") == (400, CONFLICT + f"UUID u already exists in workload {id}\n")
    assert not_created(node, ["7"], (1, 1), id=id) == (400, CONFLICT + f"Workload with id {id} already exists\n")


# Row 21
def test_an_answer_can_be_edited_in_either_shape_and_sent_back(node):
    """As scripts do, whose languages keep the keys that they do not know."""
    pstate = {"ratio": 1.5, "monitoring": "off"}
    path = "/v1/workloads/" + created(node, ["4-5"], (2, 2), plugins={"pstate": pstate})["id"]

    def edited(edit):
        workload = node.call("GET", path)
        edit(workload)
        return node.call("PATCH", path, workload)
    newer = edited(lambda workload: workload["rdt"]["cache"].update(max=3, min=3))
    assert newer["cache"] == newer["rdt"]["cache"] == {"max": 3, "min": 3} and masks(newer) == {"0": "e"}
    older = edited(lambda workload: workload.update(cache={"max": 4, "min": 4}))
    assert older["cache"] == older["rdt"]["cache"] == {"max": 4, "min": 4} and masks(older) == {"0": "1e"}
    assert edited(lambda workload: workload["plugins"]["pstate"].update(ratio=2.5))["pstate"]["ratio"] == 2.5
    assert edited(lambda workload: workload["pstate"].update(ratio=3.5))["plugins"]["pstate"]["ratio"] == 3.5
    workload = node.call("GET", path)
    workload["rdt"]["cache"].update(max=5)
    assert node.call("PATCH", path, workload)["cache"] == {"max": 5, "min": 4}
    status, text = refusal(node, "PATCH", path, workload)  # repeated, it must not undo the first
    assert status == 400 and "/rdt/cache: differs from /cache" in text
    workload = node.call("GET", path)
    status, text, _ = node.request("PUT", path, {**workload, "rdt": {"cache": {"max": 1, "min": 1}}, "cache": workload["cache"]})
    assert status == 200 and masks(json.loads(text)) == {"0": "2"}


# Row 22
def test_cpus_can_be_patched(node):
    workload = created(node, ["4-7"], (2, 2))
    moved = node.call("PATCH", "/v1/workloads/" + workload["id"], {"core_ids": ["6-9"]})
    assert moved["core_ids"] == ["6-9"] and cpus_of(node.hardware()[moved["cos_name"]]["cpus"]) == {6, 7, 8, 9}


# Row 38
def test_plain_http_serves_debugging(node):
    assert node.request("GET", "/v1/workloads")[0] == 200
    assert "8081" in daemon(node, "--help")[1]
    assert daemon(node, "-d", "--debugport", "9081", "--check-config")[0] == 0
    status, said = daemon(node, "--debug", "--address", "0.0.0.0", "--check-config")
    assert status == 78 and "must use a loopback address" in said


# Row 47
def test_log_lines_go_to_the_journal(node):
    created(node, ["4"], (1, 1))
    lines = [line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line]
    assert "METHOD=POST" in lines[-1] and "STATUS=201" in lines[-1]
    for flag in ("--logtostderr", "--log_dir=/x"):
        status, said = daemon(node, flag)
        assert status == 2 and "nrd logs to the journal" in said
    assert daemon(node, "--log-level", "debug", "--check-config")[0] == 0


# Row 49
def test_the_package_has_unit_and_manual_pages(tmp_path):
    unit = read("systemd/nrd.service").splitlines()
    assert {"Type=notify", "Restart=on-failure", "WatchdogSec=60"} <= set(unit)
    build = pathlib.Path(os.environ["NRD"]).parent.parent
    subprocess.run(["cmake/make-package", build, tmp_path], cwd=ROOT, check=True, timeout=300, capture_output=True)
    [package] = tmp_path.glob("nrd_*.deb")
    output = subprocess.run(["dpkg-deb", "--field", package], check=True, capture_output=True, text=True).stdout
    assert re.search(r"^Depends: .*intel-cmt-cat \(>= .*libpistache0", output, re.M), output
    inside = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True).stdout
    for path in ("usr/sbin/nrd", "usr/bin/nrdctl", "usr/libexec/nrd/nrd-pam", "etc/nrd/nrd.toml",
                 "usr/lib/systemd/system/nrd.service", "usr/lib/sysusers.d/nrd.conf", "usr/share/man/man8/nrd.8.gz",
                 "usr/share/man/man1/nrdctl.1.gz", "usr/share/man/man5/nrd.toml.5.gz"):
        assert re.search(rf"root/root .* \./{path}$", inside, re.M), path


@pytest.mark.parametrize("method, path, headers, status, text", [
    ("GET", "/v1/workloads", {"Content-Type": "text/plain"}, 415, "415: Unsupported Media Type\n"),
    ("GET", "/v1/workloads", {"Accept": "image/png"}, 406, "406: Not Acceptable\n"),
    ("GET", "/v1/hospitality", {}, 405, "405: Method Not Allowed\n"),
    ("GET", "/v1//workloads", {}, 400, "The path contains //.\n"),
])
# Row 54
def test_wrong_types_methods_and_paths_have_rmds_text(node, method, path, headers, status, text):
    assert node.request(method, path, "{}" if method != "GET" else None, headers)[:2] == (status, text)
    assert node.request("POST", "/v1/workloads", json.dumps(rmd_body(["4"], (1, 1))),
                        {"Content-Type": "application/json; charset=utf-8", "Accept": "*/*"})[0] == 201
