"""nrdctl as users call it: names, documents, one screen, exit codes, completion."""

import json
import os
import re
import subprocess

import pytest

from harness import NRDCTL, Node
from nrdctl import CLEAN, nrdctl, run_nrdctl
from shared_node import node  # noqa: F401
from test_metrics import Scrape

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
POLICIES = "[default.gold.cache]\nmax = 2\nmin = 2\n"


@pytest.fixture(scope="module")
def shared():
    with Node(cpufreq="intel_pstate", mb_unit="percent", start=False) as node:
        with open(os.path.join(node.folder, "policy.toml"), "w") as file:
            file.write(POLICIES)
        node.configure(f'[policy]\nfile = "{node.folder}/policy.toml"\n[drift]\ninterval_seconds = 0\n')
        node.start()
        yield node


def create(node, name="feed", cpus="4-5"):
    return nrdctl(node, "workload", "create", "--cpus", cpus, "--ways", "2", "--name", name, "--label", "team=trading")


def document(*workloads):
    return json.dumps({"workloads": [{"cache": {"max": 0, "min": 0}, **workload} for workload in workloads]})


def test_a_workload_has_a_name_and_labels_in_each_list(node):
    assert re.search(r"guarantee.* feed ", create(node))
    listed = nrdctl(node, "workload", "list")
    assert "NAME" in listed and re.search(r"\bfeed\b", listed)
    assert "NAME" not in nrdctl(node, "workload", "list", "--no-headers")
    assert nrdctl(node, "workload", "list", "--label", "team=trading", "-o", "name").split() == [node.list()[0]["id"]]
    assert nrdctl(node, "-o", "name", "workload", "list", "--label", "team=other") == ""
    assert "name feed" in nrdctl(node, "ways")
    assert "BANDWIDTH" not in listed and "BANDWIDTH" in nrdctl(node, "workload", "list", "-o", "wide")
    assert "--mba-percentage" in nrdctl(node, "help", "workload", "create")


def test_a_watched_list_is_printed_again_after_a_change(node):
    watching = subprocess.Popen([NRDCTL, "--socket", node.socket, "workload", "list", "--watch", "-o", "name"], stdout=subprocess.PIPE, env=CLEAN, text=True)
    try:
        node.call("PUT", "/v1/workloads/a", {"core_ids": ["4"], "cache": {"max": 1, "min": 1}})
        assert watching.stdout.readline() == "a\n"
        node.call("PUT", "/v1/workloads/b", {"core_ids": ["5"], "cache": {"max": 1, "min": 1}})
        assert [watching.stdout.readline() for _ in range(2)] == ["a\n", "b\n"]
    finally:
        watching.kill()
        watching.communicate()


@pytest.mark.parametrize("called", ["id", "uuid", "name"])
def test_a_workload_is_called_by_id_uuid_or_name(node, called):
    made = node.create("4", 1, 1, uuid="u-1", name="feed")
    assert made["id"] in nrdctl(node, "workload", "show", made[called])
    nrdctl(node, "workload", "update", made[called], "--ways", "2")
    assert node.call("GET", f"/v1/workloads/{made['id']}")["granted_ways"]["0"]["ways"] == 2
    nrdctl(node, "workload", "wait", made[called], "--for", "successful", "--timeout", "5")
    nrdctl(node, "workload", "delete", made[called])
    assert node.list() == []
    assert "no workload has the id, uuid or name" in nrdctl(node, "workload", "show", made[called], exit=4)


def test_an_ambiguous_name_is_refused(node):
    node.create("4", 1, 1, uuid="feed")
    node.create("5", 1, 1, name="feed")
    assert "is the uuid of one workload and the name of another" in nrdctl(node, "workload", "delete", "feed", exit=1)


def test_update_keeps_what_is_not_given_and_removes_what_is_named(node):
    create(node)
    nrdctl(node, "workload", "update", "feed", "--max-ratio", "20", "--label", "rack=r0", "--label", "rack=r1", "--no-label", "team")
    made = node.list()[0]
    assert made["labels"] == {"rack": "r1"} and made["pstate"]["max_ratio"] == 20 and made["cache"] == {"max": 2, "min": 2}
    nrdctl(node, "workload", "update", "feed", "--no-cache")
    assert node.list()[0]["pool"] == "none"


def test_an_id_is_chosen_and_parts_are_removed_one_by_one(node):
    nrdctl(node, "workload", "create", "--id", "w1", "--name", "feed", "--cpus", "4", "--ways", "2", "--max-ratio", "20", "--mba-percentage", "50")
    nrdctl(node, "workload", "update", "w1", "--adaptive", "3", "--monitoring", "off", "--max-ratio", "20")
    assert node.list()[0]["pstate"]["monitoring"] == "off"
    nrdctl(node, "workload", "update", "w1", "--no-mba", "--no-name", "--no-frequency")
    made = node.list()[0]
    assert made["id"] == "w1" and made["rdt"]["mba"] == {} and "name" not in made and "pstate" not in made
    assert made["cache"] == {"max": 2, "min": 2}
    assert "--mba-mbps excludes --no-mba" in nrdctl(node, "workload", "update", "w1", "--no-mba", "--mba-mbps", "5", exit=2)


def test_refusals_name_the_option_and_have_an_exit_code(node):
    create(node)
    assert nrdctl(node, "workload", "create", "--cpus", "5", "--ways", "1", exit=1).startswith("nrdctl: --cpus: CPU 5 belongs to workload")
    assert "(feed)" in nrdctl(node, "workload", "create", "--cpus", "5", "--ways", "1", exit=1)
    assert nrdctl(node, "workload", "create", "--cpus", "6", "--ways", "9", exit=1).startswith("nrdctl: --ways: 9 ways")
    problem = json.loads(nrdctl(node, "workload", "create", "--cpus", "6", "--ways", "9", "-o", "json", exit=1))
    assert problem["field"] == "/cache/max" and problem["status"] == 400
    for option, value in (("--max", "2.5"), ("--mba-percentage", "40%"), ("--min-mhz", "2200MHz"), ("--request-milli", "-1")):
        said = nrdctl(node, "workload", "create", "--pool", "common", option, value, exit=2)
        assert said.startswith(f'{option}: expected a whole number, 0 or above, found "{value}"\n'), said
    said = nrdctl(node, "wrkload", "list", exit=2)
    assert said.startswith("The following argument was not expected: wrkload\n") and "did you mean workload?" in said
    assert nrdctl(node, "workload", exit=2).startswith("A subcommand is required\n")
    assert "did you mean list?" in nrdctl(node, "workload", "lst", exit=2)
    assert "did you mean --name?" in nrdctl(node, "workload", "create", "--nmae", "x", exit=2)
    assert "did you mean" not in nrdctl(node, "zzz", exit=2)
    assert "did you mean" not in nrdctl(node, "workload", "destroy", exit=2)
    for id in ("", "x", "-1"):
        assert f'"{id}" is not an operation number' in nrdctl(node, "onload", "cancel", "--", id, exit=2)
    nrdctl(node, "workload", "wait", "feed", "--for", "deleted", "--timeout", "0", exit=75)
    assert run_nrdctl("--socket", "/nowhere", "status").returncode == 3


@pytest.mark.parametrize("command", [[], ["run"], ["workload", "create"]])
def test_help_of_a_command_is_that_of_its_option(node, command):
    assert nrdctl(node, "help", *command) == nrdctl(node, *command, "--help")


def test_options_that_have_no_effect_are_wrong_usage(node):
    for words in (["--memory", "near"], ["--apart", "1"], ["--enforce", "runtime"]):
        said = nrdctl(node, "workload", "create", "--cpus", "4", "--ways", "1", *words, exit=2)
        assert f"--cpus excludes {words[0]}" in said, said
    assert "--among" in nrdctl(node, "run", "--cpus", "0", "--among", "1", "--", "true", exit=2)


def test_each_result_is_json_if_that_is_requested(node, tmp_path):
    def lines(*words, exit=0):
        return [json.loads(line) for line in nrdctl(node, *words, "-o", "json", exit=exit).splitlines()]

    path = tmp_path / "two.yaml"
    path.write_text(document({"id": "a", "core_ids": ["4"], "cache": {"max": 1, "min": 1}}, {"id": "b", "core_ids": ["4"], "cache": {"max": 9, "min": 9}}))
    created, refused = lines("apply", "-f", str(path), exit=1)
    assert created == {"workload": "a", "result": "created"} and refused["title"] == "Request failed"
    assert refused["detail"].startswith(f"{path}, workload 2: workload b: /")
    path.write_text(document({"id": "a", "core_ids": ["4"], "cache": {"max": 2, "min": 2}}))
    assert lines("diff", "-f", str(path), exit=1)[0] == {"workload": "a", "change": "/cache/max: 1 -> 2"}
    assert lines("apply", "-f", str(path), "--dry-run") == [{"workload": "a", "result": "would be changed"}]
    assert lines("backup", str(tmp_path / "kept.yaml")) == [{"file": str(tmp_path / "kept.yaml"), "workloads": 1}]
    assert lines("workload", "delete", "a") == [{"workload": "a", "result": "deleted"}]


def test_a_url_may_end_in_a_slash(node):
    done = run_nrdctl("--url", f"http://127.0.0.1:{node.port}/", "workload", "list")
    assert done.returncode == 0, done.stderr


def test_a_policy_and_a_document_create_a_workload(node):
    nrdctl(node, "workload", "create", "--cpus", "4", "--policy", "gold")
    assert node.list()[0]["policy"] == "gold" and node.list()[0]["cache"] == {"max": 2, "min": 2}
    assert "gold" in nrdctl(node, "policy", "list") and "gold" in nrdctl(node, "policy", "show", "gold")
    nrdctl(node, "policy", "show", "silver", exit=4)
    assert "--cpus excludes --file" in nrdctl(node, "workload", "create", "-f", "-", "--cpus", "5", text="{}", exit=2)
    nrdctl(node, "workload", "create", "-f", "-", text='{"core_ids": ["5"], "cache": {"max": 1, "min": 1}, "id": "doc"}')
    assert node.call("GET", "/v1/workloads/doc")["core_ids"] == ["5"]


def test_documents_applied_twice_change_nothing(node):
    text = document({"id": "a", "core_ids": ["4"], "labels": {"Team": "x"}}, {"id": "b", "core_ids": ["5"]})
    assert nrdctl(node, "apply", "-f", "-", "--dry-run", text=text) == "workload a would be created\nworkload b would be created\n"
    assert node.list() == []
    assert nrdctl(node, "apply", "-f", "-", text=text) == "workload a created\nworkload b created\n"
    revision = node.call("GET", "/v1/health")["revision"]
    assert nrdctl(node, "apply", "-f", "-", text=text) == "workload a unchanged\nworkload b unchanged\n"
    assert node.call("GET", "/v1/health")["revision"] == revision
    assert nrdctl(node, "diff", "-f", "-", text=text) == ""
    changed = document({"id": "a", "core_ids": ["6"], "labels": {"Team": "x"}})
    assert nrdctl(node, "diff", "-f", "-", text=changed, exit=1) == 'a /core_ids: ["4"] -> ["6"]\n'
    assert nrdctl(node, "apply", "-f", "-", text=changed) == "workload a changed\n"


def test_documents_that_are_too_long_are_refused_and_none_of_them_is_created(node, tmp_path):
    first, second = ('- {"id": "%s", "core_ids": ["%s"], "cache": {"max": 1, "min": 1}}\n' % what for what in (("a", 4), ("b", 5)))
    text = "workloads:\n" + first + ("#" * 79 + "\n") * (2**24 // 80 + 100) + second
    path = tmp_path / "long.yaml"
    path.write_text(text)
    assert nrdctl(node, "apply", "-f", "-", text=text, exit=2) == "nrdctl: cannot read standard input: File too large\n"
    assert nrdctl(node, "apply", "-f", str(path), exit=2) == f"nrdctl: cannot read {path}: File too large\n"
    assert node.list() == []


def test_a_document_of_standard_input_needs_an_id(node):
    said = nrdctl(node, "apply", "-f", "-", text='{"core_ids": ["4"], "cache": {"max": 1, "min": 1}}', exit=2)
    assert said == "nrdctl: standard input: id is required: there is no file name to take it from\n"


def test_a_refused_document_blocks_no_other(node):
    node.create("4", 1, 1, name="feed")
    out = nrdctl(node, "apply", "-f", "-", text=document({"id": "a", "core_ids": ["4"]}, {"id": "b", "core_ids": ["5"]}), exit=1)
    assert "workload b created" in out and "workload a: /core_ids: CPU 4 belongs to workload" in out
    said = nrdctl(node, "workload", "create", "-f", "-", text='{"core_ids": ["6"], "cache": {"max": 9, "min": 9}}', exit=1)
    assert said.startswith("nrdctl: /cache/max: 9 ways")


def test_prune_deletes_only_what_left_its_set(node):
    node.create("9", 1, 1, name="other")
    nrdctl(node, "apply", "-f", "-", "--set", "s", text=document({"id": "a", "core_ids": ["4"]}, {"id": "b", "core_ids": ["5"]}))
    assert "--prune requires --set" in nrdctl(node, "apply", "-f", "-", "--prune", text=document(), exit=2)
    out = nrdctl(node, "apply", "-f", "-", "--set", "s", "--prune", text=document({"id": "b", "core_ids": ["5"]}))
    assert out == "workload a deleted\nworkload b unchanged\n"
    assert {workload.get("name") or workload["id"] for workload in node.list()} == {"other", "b"}


@pytest.mark.parametrize("name, text, said", [
    ("all.yaml", "", "is empty; expected the members of a workload, or \"workloads: []\" for none"),
    ("all.json", "{}", "is empty; expected the members of a workload, or \"workloads: []\" for none"),
    ("all.toml", "[[workload]]\nid = \"a\"\n", "workload is a list; only one named workloads is expected"),
    ("all.yaml", "- {id: a}\n", "expected the members of a workload, or a list named workloads")])
def test_prune_deletes_nothing_for_documents_that_name_nothing(node, tmp_path, name, text, said):
    nrdctl(node, "apply", "-f", "-", "--set", "s", text=document({"id": "a", "core_ids": ["4"]}))
    file = tmp_path / name
    file.write_text(text)
    for place in (file, tmp_path):
        assert nrdctl(node, "apply", "-f", str(place), "--set", "s", "--prune", exit=2) == f"nrdctl: {file}: {said}\n"
    file.rename(tmp_path / "all.conf")
    said = nrdctl(node, "apply", "-f", str(tmp_path), "--set", "s", "--prune", exit=2)
    assert said == f"nrdctl: {tmp_path}: no documents in this directory; expected files ending in .toml, .yaml, .yml or .json\n"
    assert [workload["id"] for workload in node.list()] == ["a"]
    assert nrdctl(node, "apply", "-f", "-", "--set", "s", "--prune", text="workloads: []") == "workload a deleted\n"


def test_a_folder_and_a_backup_are_documents(node, tmp_path):
    (tmp_path / "a.toml").write_text('core_ids = ["4"]\nname = "feed"\n[cache]\nmax = 1\nmin = 1\n')
    (tmp_path / "b.yaml").write_text("core_ids: ['5']\ncache: {max: 2, min: 2}\nlabels: {Key: Value}\n")
    nrdctl(node, "apply", "-f", str(tmp_path))
    before = nrdctl(node, "export")
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o700)
    nrdctl(node, "backup", str(folder / "all.yaml"))
    assert os.stat(folder / "all.yaml").st_mode & 0o777 == 0o600
    nrdctl(node, "backup", str(folder / "all.yaml"), exit=1)
    said = nrdctl(node, "backup", str(tmp_path / "absent" / "all.yaml"), exit=1)
    assert said == f"nrdctl: {tmp_path}/absent: directory not found\n" and not (tmp_path / "absent").exists()
    nrdctl(node, "workload", "delete", "a", "b")
    nrdctl(node, "restore", str(folder / "all.yaml"))
    assert nrdctl(node, "export") == before
    assert json.loads(nrdctl(node, "export", "--json"))["workloads"][0]["id"] == "a"


def test_an_answer_with_cpus_of_several_pools_is_a_document(tmp_path):
    pools = [f'[[cpu.pools]]\nname = "{name}"\ncpus = "{cpus}"\nkind = "exclusive"\n' for name, cpus in (("fast", "2-7"), ("other", "10-15"))]
    with Node("".join(pools)) as node:
        node.call("POST", "/v1/workloads", {"id": "two", "cpu": [{"pool": "fast", "count": 1}, {"pool": "other", "cpus": "11"}]})
        file = tmp_path / "two.json"
        file.write_text(nrdctl(node, "workload", "show", "two", "-o", "json"))
        assert nrdctl(node, "diff", "-f", str(file)) == ""
        assert nrdctl(node, "apply", "-f", str(file)) == "workload two unchanged\n"


def test_500_documents_applied_twice_write_once():
    with Node(cpus=512) as node:
        text = document(*({"id": f"w{i}", "core_ids": [str(i + 1)]} for i in range(500)))
        nrdctl(node, "apply", "-f", "-", text=text, timeout=240)
        revision = node.call("GET", "/v1/health")["revision"]
        assert nrdctl(node, "apply", "-f", "-", text=text, timeout=240).count("unchanged") == 500
        assert node.call("GET", "/v1/health")["revision"] == revision


def listings(node):
    """How often clients have requested the workloads."""
    return Scrape(node)("nrd_http_requests_total", method="GET", route="/v1/workloads", code="200") or 0


# A start takes them all over at once. Requests for a thousand take minutes with sanitizers.
A_THOUSAND = """
    WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < 1000)
    INSERT INTO workload
    SELECT n, NULL, 'w' || n, revision, origin, replace(document, '["1"]', '["' || n || '"]') FROM workload, number"""


def test_a_thousand_workloads_are_listed():
    with Node(cpus=1024) as node:
        node.create("1", 0, 0)
        node.kill9()
        node.change_store(A_THOUSAND)
        node.change_store("UPDATE node SET next_id = 1001")
        node.start()
        assert node.call("GET", "/v1/workloads/w1000")["core_ids"] == ["1000"]
        before = listings(node)
        assert len(nrdctl(node, "workload", "list", "--no-headers", timeout=240).splitlines()) == 1000
        assert listings(node) == before + 1
        assert "workloads: 1000" in nrdctl(node, "status")


def test_one_screen_shows_health_pools_and_workloads(node):
    create(node)
    shown = nrdctl(node, "status")
    assert re.search(r"^nrd \S+: ok$", shown, re.M) and "(feed): guarantee, CPUs 4-5, Successful" in shown
    assert re.search(r"guarantee +3 of 5 ways, 3 MiB free", shown)
    assert "a guarantee: at most 3 ways, 3 MiB" in nrdctl(node, "capacity")
    assert re.search(r"^4 +intel_pstate +0.8 - 3.5", nrdctl(node, "pstate"), re.M)
    described = nrdctl(node, "workload", "describe", "feed")
    assert "granted_ways" in described and "owner" in described


def test_the_configuration_is_shown_and_reloaded(node):
    assert re.search(r"drift.interval_seconds +0 .*nrd.toml:4$", nrdctl(node, "config", "show"), re.M)
    assert nrdctl(node, "reload") == "no setting has changed\n"
    with open(node.config) as file:
        good = file.read()
    try:
        node.configure(good + '[log]\nlevel = "debug"\n[server]\ntls_port = 9443\n')
        assert 'log.level: "info" -> "debug"' in nrdctl(node, "reload", "--dry-run")
        assert "requires systemctl restart nrd:\n  server.tls_port: 8443 -> 9443" in nrdctl(node, "reload")
        node.configure("[lgo]\n")
        assert "nrd.toml:1" in nrdctl(node, "reload", exit=1)
    finally:
        node.configure(good)
        nrdctl(node, "reload")


def test_policies_complete_where_a_policy_is_named(node):
    assert "gold" in nrdctl(node, "__complete", "--", "workload", "create", "--policy", "").split()


def test_every_option_and_command_is_in_the_manual(node):
    with open(f"{ROOT}/docs/man/nrdctl.1") as file:
        manual = re.sub(r"\\f.", " ", file.read().replace("\\-", "-"))

    def walk(words):
        text = run_nrdctl(*words, "--help").stdout
        for option in set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", text, re.M)):
            assert re.search(rf"{option}\b", manual), (words, option)
        commands = text.partition("Subcommands:")[2]
        for command in re.findall(r"^ {2}([a-z][\w-]*)", commands, re.M):
            assert re.search(rf"\b{command}\b", manual), (words, command)
            if len(words) < 2:
                walk([*words, command])

    walk([])


# What nrdctl does not request, and why.
LEFT_OUT = {
    ("get", "/v1/cache"): "RMD's view of GET /v1/node", ("get", "/v1/cache/{level}"): "the same", ("get", "/v1/cache/{level}/{id}"): "the same",
    ("get", "/v1/mba"): "the same", ("post", "/v1/hospitality"): "capacity reads GET /v1/node", ("get", "/v1/pstate/{id}"): "pstate lists all",
    ("get", "/"): "links", ("get", "/v1"): "links", ("get", "/v1/openapi.yaml"): "for generators of clients", ("get", "/metrics"): "for Prometheus",
    ("post", "/v1/onload/render"): "run and export use allocations", ("post", "/v1/onload/verify"): "load verifies what it loads",
    ("delete", "/v1/onload/versions/{id}"): "rare, and not to be mistyped", ("get", "/v1/onload/generations/{id}"): "rollback --to takes its number",
}


def test_nrdctl_covers_every_route():
    import yaml
    with open(f"{ROOT}/docs/openapi.yaml") as file:
        paths = yaml.safe_load(file)["paths"]
    source = ""
    for folder, _, names in os.walk(f"{ROOT}/cli"):
        for name in names:
            if name.endswith(".cc"):
                with open(os.path.join(folder, name)) as file:
                    source += file.read()
    missing = []
    for path, operations in paths.items():
        first, *rest = filter(None, re.split(r"\{\w+\}", path))
        is_there = f'"{first}' in source and all(f'"{part}' in source or f'"{part[1:]}"' in source for part in rest)
        for method in operations:
            if method in ("get", "post", "put", "patch", "delete") and (method, path) not in LEFT_OUT and not is_there:
                missing.append((method, path))
    assert missing == []
