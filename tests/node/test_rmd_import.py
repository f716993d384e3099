"""From RMD to nrd: its directory becomes a configuration that nrd starts with, and docs/moving-from-rmd.md is true."""

import json
import os
import re
import ssl
import subprocess
import tomllib
import urllib.request

import pytest
from harness import NRDCTL, Node, Refused, free_port, process, refusal
from rmd_layout import Authority, Layout, mode_of

GUIDE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "moving-from-rmd.md")
DUMP = [
    {"id": "1", "core_ids": ["4-5"], "status": "Successful", "cos_name": "COS2",
     "rdt": {"cache": {"max": 2, "min": 2}, "mba": {}}, "uuid": "web", "origin": "REST"},
    {"id": "10", "core_ids": ["5"], "status": "Successful", "cos_name": "COS4",
     "rdt": {"cache": {"max": 1, "min": 1}, "mba": {}}, "origin": "REST"},
    {"id": "2", "core_ids": ["8", "9"], "status": "Successful", "cos_name": "COS3",
     "rdt": {"cache": {}, "mba": {}}, "policy": "silver", "origin": "REST"},
]


@pytest.fixture
def node():
    """A node of Skylake's model with nrd's programs at hand; nrd is not started yet."""
    with Node(start=False, msr="perf", mb_unit="percent") as node:
        node.output = os.path.join(node.folder, "nrd")
        yield node


def import_rmd(node, layout, *flags):
    return node.sim.run_inside([NRDCTL, "import-rmd", layout.path, "--output", node.output, *flags], check=False)


def imported(node, layout):
    made = import_rmd(node, layout)
    assert made.returncode == 0, made.stderr
    node.config = os.path.join(node.output, "nrd.toml")
    with open(node.config, "rb") as file:
        return made.stdout, tomllib.load(file)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)


def test_the_guide_matches_the_behaviour(node):
    layout = Layout(node.folder)
    with open(os.path.join(node.folder, "workloads.json"), "w") as file:
        json.dump(DUMP, file)
    with open(GUIDE) as file:
        blocks = re.findall(r"^```console\n(.*?)^```", file.read(), re.M | re.S)
    assert len(blocks) == 4
    real = {"/etc/rmd": layout.path, "/etc/nrd": node.output, "workloads.json": node.folder + "/workloads.json"}
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.M)[1:]]
    for step in steps:
        command, expected = step.split("\n", 1)
        if "127.0.0.1:8081" in command and not node.daemon:
            node.start()
        if "--workloads" in command and not node.daemon:
            node.config = os.path.join(node.output, "nrd.toml")
            node.start()
        for name, place in {**real, "127.0.0.1:8081": f"127.0.0.1:{node.port}", "nrdctl ": f"{NRDCTL} "}.items():
            command = command.replace(name, place)
        ran = node.sim.run_inside(["env", f"NRD_SOCKET={node.socket}", "bash", "-c", command], check=False)
        output = ran.stdout + ran.stderr
        for name, place in real.items():
            output = output.replace(place, name)
        times = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
        assert times.sub("T", output.rstrip("\n")) == times.sub("T", expected.rstrip("\n")), step
    node.assert_consistent()


def test_settings_left_by_rmd_are_untouched_until_released():
    with Node(start=False, msr="perf") as node:  # in the host's own unit: pqos -R writes that
        pqos = lambda *flags: node.sim.run_inside(["pqos", "-I", *flags])  # noqa: E731
        pqos("-e", "llc@0:2=0x60")
        pqos("-a", "core:2=4-5")
        left = node.hardware()["COS2"]
        node.start()
        with pytest.raises(Refused, match=r"CPU list \[4\] has been assigned to resctrl group COS2, .*"
                                          r"rmdir '/sys/fs/resctrl/COS2'"):
            node.create("4", 2, 2)
        with pytest.raises(Refused, match=r"hold 1 way of the pool .*rmdir '/sys/fs/resctrl/COS2'"):
            node.create("6", 5, 5)  # on the same cache
        assert node.create("7", 2, 2)["cos_name"] == "COS3" and node.hardware()["COS2"] == left
        node.delete(node.list()[0]["id"])
        node.sim.run_inside([NRDCTL, "--socket", node.socket, "reset", "--yes", "--foreign", "COS*"])
        node.create("4", 2, 2)
        node.assert_consistent()


def test_a_group_left_by_rmd_is_reported_with_the_command_that_removes_it():
    for group in ("COS2", "4_5-guarantee"):  # of RMD 0.3 and of RMD 0.2
        with Node(start=False) as node, process() as task:
            path = "/sys/fs/resctrl/" + group
            node.sim.run_inside(["mkdir", path])
            node.sim.write(path + "/cpus_list", "4-5\n")
            node.sim.write(path + "/tasks", f"{task.pid}\n")
            node.start()
            refused = rf"resctrl group {group}, which nrd does not own .*(rmdir '{path}')"
            with pytest.raises(Refused, match=r"CPU list \[4 5\] has been assigned to " + refused):
                node.create("3-6", 1, 1)
            body = {"task_ids": [str(task.pid)], "cache": {"max": 1, "min": 1}}
            with pytest.raises(Refused, match=f"task {task.pid} is in " + refused):
                node.call("POST", "/v1/workloads", body)
            kept = node.create("8", 1, 1)["id"]
            command = re.search(refused, refusal(node.create, "3-6", 1, 1).text)[1]
            node.sim.run_inside(["sh", "-c", command])
            node.assert_consistent({kept, node.create("3-6", 1, 1)["id"]})


def test_rmds_own_configuration_starts_nrd_without_its_keys(node):
    output, config = imported(node, Layout(node.folder))
    assert files_below(node.output) == ["cpu_map.toml", "nrd.toml", "policy.toml"]
    assert config["cache_pools"] == {"os": 1, "guarantee": 6, "besteffort": 3, "shared": 1, "shrink": False}
    assert "os" not in config and "tls" not in config
    for path in ("cert/server/rmd-cert.pem", "cert/client/ca.pem"):
        assert re.search(rf"^left out  \S+{path}: is RMD's sample", output, re.M), output
    node.start()
    assert node.call("GET", "/v1/policy")["gold"] == {"cache": {"max": 4, "min": 4}}
    assert node.create("0-3", 1, 1)["core_ids"] == ["0-3"]  # CPUs of RMD's OSGroup, as in the operator's samples
    assert node.call("GET", "/v1/cache/l3/1")["available_ways_pool"] == {
        **node.call("GET", "/v1/cache/l3/1")["available_ways_pool"], "guaranteed": "1-6", "besteffort": "7-9", "shared": "10"}


def test_every_key_is_accounted_for(node):
    layout = Layout(node.folder)
    layout.append("[openstack]\nkeystonePassword = \"hunter2\"\n[pstate]\npath = \"/p.so\"\n[mine]\ncolour = 3\n")
    output, _ = imported(node, layout)
    assert "default.openstackEnable: was false; nrd has no OpenStack integration\n" in output
    output = output.lower()
    for section, keys in tomllib.loads(layout.config).items():
        for key in keys if isinstance(keys, dict) else ():
            where = {"certpath": "cert/server", "clientcapath": "cert/client", "policypath": "policy.toml"}.get(key)
            assert (where or f"{section}.{key}:".lower()) in output, key
    assert "hunter2" not in output
    with open(node.config) as file:
        text = file.read()
    assert "hunter2" not in text
    for line in output.splitlines():
        if line.startswith("left out"):
            assert "# " + line.removeprefix("left out  ") in text.lower()


@pytest.mark.parametrize("pools, ways, least, numbers", [
    ((1, 10, 7, 2), 11, 1, "OS 1 + guarantee 10 + besteffort 7 + shared 2 = 20 ways, but each L3 cache here has 11"),
    ((2, 4, 3, 1), 11, 2, "OS 2 + guarantee 4 + besteffort 3 + shared 1 = 10 ways; the smallest mask here has 2"),
])
def test_impossible_pools_are_reported_with_numbers_and_left_out(pools, ways, least, numbers):
    with Node(start=False, ways=ways, min_cbm_bits=least) as node:
        node.output = os.path.join(node.folder, "nrd")
        output, config = imported(node, Layout(node.folder, pools))
        assert config["cache_pools"] == {"shrink": False}
        for key in ("OSGroup.cacheways", "CachePool.guarantee", "CachePool.besteffort", "CachePool.shared"):
            assert f"left out  {key}: {numbers}" in output, output
        node.start()


def test_certificates_of_ones_own_serve_https_as_rmd_did(node):
    layout = Layout(node.folder, authority="Mine", server="mine")
    output, config = imported(node, layout)
    tls = os.path.join(node.output, "tls")
    assert {name: mode_of(os.path.join(tls, name)) for name in os.listdir(tls)} == {
        "ca.crt": 0o644, "server.crt": 0o644, "server.key": 0o600}
    assert mode_of(tls) == 0o700 and config["tls"]["client_auth"] == "require"
    port = free_port()
    with open(node.config, "a") as file:
        file.write("")
    text = open(node.config).read().replace("tls_port = 8443", f"tls_port = {port}")
    node.configure(text)
    node.start()
    for role in ("admin", "user"):
        context = ssl.create_default_context(cafile=os.path.join(layout.path, "cert/client/ca.pem"))
        files = [os.path.join(layout.path, f"cert/client/{role}-{kind}.pem") for kind in ("cert", "key")]
        context.load_cert_chain(*files)
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/v1/workloads", context=context) as answer:
            assert json.load(answer) == []


@pytest.mark.parametrize("spoil, complaint", [
    (lambda layout: layout.write("cert/server/rmd-key.pem", layout.client_key), "is not the key of"),
    (lambda layout: layout.write("cert/server/rmd-cert.pem", "garbage"), "not a PEM certificate"),
    (lambda layout: layout.write("cert/client/ca.pem", Authority(Authority.RMDS).pem), "is RMD's sample"),
    (lambda layout: os.unlink(os.path.join(layout.path, "cert/client/ca.pem")), "cert/client/ca.pem not found, so HTTPS is disabled"),
    (lambda layout: layout.write("cert/server/rmd-cert.pem", layout.authority.server("mine", days=-1)[0]), "has expired"),
])
def test_https_is_carried_over_whole_or_not_at_all(node, spoil, complaint):
    layout = Layout(node.folder, authority="Mine", server="mine")
    spoil(layout)
    output, config = imported(node, layout)
    assert complaint in output and "tls" not in config and not os.path.exists(os.path.join(node.output, "tls"))
    node.start()


def test_all_shared_workloads_of_rmd_have_a_place(node):
    """gen_conf writes max_allowed_shared = 10, and RMD granted more."""
    imported(node, Layout(node.folder))
    node.start()
    shared = [{"id": str(n), "core_ids": [str(n)], "policy": "bronze", "origin": "REST"} for n in range(1, 13)]
    assert import_dump(node, shared).stdout.endswith("12 of 12 workloads created\n")


def test_policies_omit_what_nrd_would_refuse(node):
    layout = Layout(node.folder)
    layout.configure("/etc/rmd/policy.toml", "/etc/rmd/policy.yaml")
    layout.write("policy.yaml", """\
default:
  Gold: {cache: {Max: 2, Min: 2}, pstate: {ratio: 1.5}, colour: {red: 1}}
  odd: {cache: {max: 1, min: 2}}
  half: {cache: {max: 1}}
  "two words": {mba: {percentage: 50}}
""")
    layout.write("cpu_map.toml", "[[Odd]]\nfamily = \"six\"\nmodel = 1\n")
    output, config = imported(node, layout)
    for name, reason in (("default.gold.colour", "is unknown to nrd"), ("default.odd.cache", "max 1 and min 2 are not"),
                         ("default.half.cache", "whole numbers max and min"), (": odd", "whole numbers family and model")):
        assert re.search(rf"^left out  .*{name}: .*{reason}", output, re.M), output
    node.start()
    assert node.call("GET", "/v1/policy") == {"gold": {"cache": {"max": 2, "min": 2}, "pstate": {"ratio": 1.5, "monitoring": "on"}},
                                              "two words": {"mba": {"percentage": 50}}}


def test_nothing_is_overwritten_without_force(node):
    layout = Layout(node.folder, authority="Mine", server="mine")
    os.makedirs(os.path.join(node.output, "tls"), mode=0o700)
    for name in ("policy.toml", "tls/server.key"):
        with open(os.path.join(node.output, name), "w") as file:
            file.write("mine")
    refused = import_rmd(node, layout)
    assert refused.returncode == 1
    assert f"{node.output}/policy.toml, {node.output}/tls/server.key: already exists" in refused.stderr
    assert files_below(node.output) == ["policy.toml", "tls/server.key"]
    assert import_rmd(node, layout, "--force").returncode == 0
    assert mode_of(os.path.join(node.output, "tls/server.key")) == 0o600
    with open(os.path.join(node.output, "tls/server.key")) as file:
        assert "PRIVATE KEY" in file.read()


@pytest.mark.parametrize("name, content, complaint", [
    ("rmd.toml", "[default\n", "rmd.toml:1: "),
    ("policy.toml", "[a]\nb = 1\nb = 2\n", "policy.toml:3: "),
    ("cpu_map.toml", "x", "cpu_map.toml:1: "),
    ("acl/url/policy.csv", "x" * (257 << 10), "policy.csv: File too large"),
], ids=lambda value: value[:20])
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_written(node, name, content, complaint):
    layout = Layout(node.folder)
    layout.write(name, content)
    refused = import_rmd(node, layout)
    assert refused.returncode == 1 and complaint in refused.stderr, refused.stderr
    assert not os.path.exists(node.output)


def test_a_missing_directory_and_an_empty_import_are_reported():
    run = lambda *words: subprocess.run([NRDCTL, "import-rmd", *words], capture_output=True, text=True, timeout=30)  # noqa: E731
    assert "is not a directory" in run("/nonexistent").stderr
    assert run().returncode == 2
    assert "file not found" in run("--workloads", "/nonexistent").stderr


def import_dump(node, dump):
    path = os.path.join(node.folder, "dump.json")
    with open(path, "w") as file:
        file.write(dump if isinstance(dump, str) else json.dumps(dump))
    return node.sim.run_inside([NRDCTL, "--socket", node.socket, "import-rmd", "--workloads", path], check=False)


def test_a_dump_is_replayed_in_order_of_creation(node):
    node.start()
    done = import_dump(node, [w for w in DUMP if "policy" not in w])
    assert done.returncode == 1
    assert re.search(r"^workload 1 \(CPUs 4-5\): created, guarantee, class COS\d+", done.stdout, re.M)
    assert re.search(r"^workload 10 \(CPUs 5\): refused: 4\d\d .*CPU 5 belongs to workload 1", done.stdout, re.M), done.stdout
    assert done.stdout.endswith("1 of 2 workloads created\n")
    assert [(w["uuid"], w["core_ids"]) for w in node.list()] == [("web", ["4-5"])]
    node.assert_consistent()


@pytest.mark.parametrize("dump, complaint", [
    ("[", "dump.json: "), ("{}", "expected the list"), ("[1]", "/0 is not a workload"), ("", "dump.json: "),
])
def test_an_invalid_dump_requests_nothing(node, dump, complaint):
    node.start()
    refused = import_dump(node, dump)
    assert refused.returncode == 1 and complaint in refused.stderr
    assert node.list() == []


def test_an_unreachable_nrd_has_its_own_exit_code(node):
    assert import_dump(node, DUMP).returncode == 3
