"""What was wrong with RMD and is not here, by number of docs/rmd-compatibility.md: wrong answers, configuration, endpoints."""

import json
import os

import pytest
import yaml
from harness import Node, wait_for
from masks import cpus_of
from rmd_table import (CONFLICT, INVALID, JSON, carried_over, checked, counts, created, daemon, kept, masks, not_created, read,
                       refusal, rmd_body)
from fixtures import CLIENT, UnixConnection, ask, basic, name
from test_certificate_list import code, put, reload
from test_rmd_import import files_below
from test_tls import s_client

pytest_plugins = "rmd_nodes"


# Answers

# Defect 18
def test_each_refusal_has_its_code_and_a_reason(node):
    path = "/v1/workloads/" + created(node, ["4"], (8, 8))["id"]
    assert not_created(node, ["5"], (8, 8))[0] == 409
    assert refusal(node, "PATCH", path, {"rdt": {"cache": {"max": 1, "min": 3}}})[0] == 400
    for cache in ("/v1/cache/l2", "/v1/cache/l2/0"):
        assert refusal(node, "GET", cache) == (400, "unsupported cache level; ways are allocated in l3 on this node\n")
    assert refusal(node, "GET", "/v1/cache/l3/99")[0] == 404
    assert refusal(node, "POST", "/v1/hospitality", {"max_cache": 1})[0] == 400
    assert refusal(node, "POST", "/v1/workloads", "{", {"Content-Type": "application/json"})[0] == 400


@pytest.mark.parametrize("cores", [["abc"], [""], ["4-"], ["40"], ["63"], ["4", "99999999999999999999"], [4]])
# Defect 19
def test_no_cpu_list_ends_the_daemon(node, cores):
    pid = node.daemon.pid
    status, text = not_created(node, cores, (1, 1))
    assert status == 400 and text.startswith(INVALID + "/core_ids")
    assert refusal(node, "POST", "/v1/workloads", "null", {"Content-Type": "application/json"})[0] == 400
    assert not_created(node, None, (1, 1)) == (400, INVALID + "No task or core id specified\n")
    assert node.daemon.pid == pid and node.health()["status"] == "ok"


@pytest.mark.parametrize("cores, cpu", [
    (["40"], "40"), (["8192"], "8192"), (["9999"], "9999"), (["4", "0-9999"], "9999"), (["4294967296"], "4294967296"),
])
# Defect 19
def test_a_too_large_number_is_an_absent_cpu(node, cores, cpu):
    status, text = not_created(node, cores, (1, 1))
    assert status == 400 and text.startswith(f"{INVALID}/core_ids/{len(cores) - 1}: CPU {cpu} does not exist"), text


# Defect 20
def test_conflicts_name_all_cpus(node):
    created(node, ["30-38"], (1, 1))
    assert not_created(node, ["31,33,38-39"], (1, 1)) == (400, CONFLICT + "CPU list [31 33 38] has been assigned\n")


# Defect 21
def test_the_limit_of_the_shared_class_is_enforced(node):
    with Node("[cache_pools]\nmax_allowed_shared = 1\n") as limited:
        created(limited, ["4"], (0, 0))
        assert not_created(limited, ["5"], (0, 0))[0] == 409
    status, said = checked(node, "[cache_pools]\nmaxallowedshared = 2\n")
    assert status == 78 and ":2: " in said and "maxallowedshared" in said


# Defect 22
def test_yaml_and_toml_policies_are_equivalent(node, odd):
    for one, cache in ((node, "1"), (odd, "0")):
        assert one.call("POST", "/v1/hospitality", {"policy": "gold"})["score"]["l3"][cache] == 100
        assert one.call("GET", f"/v1/cache/l3/{cache}")["available_policy"]["gold"] > 0
        workload = created(one, ["4"], policy="gold")
        assert workload["cos_name"] == "COS2" and [w["ways"] for w in workload["granted_ways"].values()] == [4]


# Defect 23
def test_a_foreign_bandwidth_value_is_not_mistaken_for_a_mode(odd):
    before, full = odd.call("GET", "/v1/mba"), odd.hardware()["/"]["MB"]
    odd.sim.write("/sys/fs/resctrl/schemata", "MB:0=50\n")
    try:
        odd.kill9_and_start()
        assert odd.call("GET", "/v1/mba") == before
    finally:
        odd.sim.write("/sys/fs/resctrl/schemata", f"MB:0={full['0']}\n")


# Defect 24
def test_the_infra_pool_hides_no_free_ways(odd):
    assert odd.call("GET", "/v1/cache/l3/0")["available_ways_pool"] == {
        "guaranteed": "2-8", "besteffort": "9-15", "shared": "16-17", "infra": "18-19", "os": "0-1"}


# Defect 25
def test_a_node_without_memory_bandwidth_allocation_starts():
    with Node("[drift]\ninterval_seconds = 0\n", sockets=1, cpus=2, mb=False, closids=8) as node:
        assert node.call("GET", "/v1/mba") == {"mba": False}
        assert created(node, ["1"], (1, 1))["cos_name"] == "COS2"


# Defect 26
def test_masks_follow_the_limits_of_the_hardware(odd):
    first = created(odd, ["1"], (7, 2))
    assert not_created(odd, ["2"], (1, 1))[0] == 400  # masks here have two ways at least
    second = created(odd, ["2"], (7, 2))
    odd.delete(first["id"])
    assert masks(odd.call("GET", "/v1/workloads/" + second["id"])) == {"4": "fe00"}  # grown
    assert odd.call("GET", "/v1/cache/l3/4")["WayContention"] == 0xc0000


# Defect 27
def test_an_unknown_cpu_uses_the_default_section():
    with Node(start=False, sockets=1, cpus=2) as node:
        policies = kept(node.folder, file=("policy.toml", "[default.gold.cache]\nmax = 2\nmin = 2\n"))
        node.configure(policies)
        node.start()
        assert node.call("GET", "/v1/policy") == {"gold": {"cache": {"max": 2, "min": 2}}}


# Endpoints

# Defect 28
def test_each_endpoint_works_and_is_access_controlled(node, passwords):
    assert ask(UnixConnection(node.socket), "GET", "/v1/health")[0] == 200
    status, said = checked(node, '[server]\ndebug = true\naddress = "0.0.0.0"\n')
    assert status == 78 and "must use a loopback address" in said
    # Without lists of certificates and whatever tls.client_auth says, a certificate has a role of its own.
    assert ask(passwords.tls(passwords.user), "DELETE", "/v1/workloads/1")[0] == 403
    assert ask(passwords.tls(passwords.admin), "DELETE", "/v1/workloads/1")[0] == 404


# Defect 29
def test_readers_may_use_all_read_only_requests(passwords):
    assert ask(passwords.tls(), "GET", "/v1/mba", headers=basic("bob", "bob"))[0] == 200
    assert ask(passwords.tls(), "POST", "/v1/hospitality", '{"max_cache": 1, "min_cache": 1}',
               {**basic("bob", "bob"), **JSON})[0] == 200


# Defect 30
def test_several_resources_work_side_by_side(node):
    for path in ("/v1/pstate", "/v1/onload"):
        assert node.request("GET", path)[0] == 200


# Defect 31
def test_old_tls_and_published_keys_are_refused(node, guarded):
    assert "Cipher is (NONE)" in s_client(guarded, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0").stdout
    assert "New, TLSv1.3, Cipher is " in s_client(guarded, "-tls1_3").stdout
    assert "rmd-cert.pem: is RMD's sample, whose private key is public" in carried_over(node, "public")
    assert not any(file.endswith((".pem", ".crt", ".key")) for file in files_below(node.output))
    broken = os.path.join(guarded.pki, "broken.pem")
    with open(broken, "w") as file:
        file.write("-----BEGIN CERTIFICATE-----\n")
    config = os.path.join(guarded.pki, "broken.toml")
    with open(config, "w") as file:
        file.write(f'[tls]\ncertificate = "{broken}"\nkey = "{guarded.server}"\nclient_ca = "{guarded.authority.path}"\n')
    elsewhere = ["--state-dir", guarded.folder + "/x", "--unix-socket", guarded.folder + "/y"]
    status, said = daemon(guarded, "--config", config, *elsewhere)
    assert status == 1 and broken in said and "is not a readable certificate" in said


# Defect 32
def test_certificates_are_compared_whole_and_accounts_are_checked(guarded, passwords):
    mine, twin = (guarded.authority.sign(f"{file}.pem", name("Bo", "Admin"), CLIENT) for file in ("mine", "twin"))
    listed = put(mine, guarded.lists.admin)
    reload(guarded)
    assert (code(guarded, mine), code(guarded, twin)) == (200, 401)
    os.remove(listed)
    reload(guarded)
    assert code(guarded, mine) == 401
    assert ask(passwords.tls(source="127.0.0.3"), "GET", "/v1/node", headers=basic("expired", "expired"))[0] == 401
    assert ask(passwords.tls(source="127.0.0.3"), "GET", "/v1/mba", headers=basic("bob", "bob"))[0] == 200


# Operation

# Defect 33
def test_rmds_key_for_infra_tasks_is_refused(node):
    status, said = checked(node, "[infra]\ntasks = [\"ovs*\"]\n")
    assert status == 78 and "infra" in said
    assert "InfraGroup.tasks" in carried_over(node, "infra")


# Defect 34
def test_cpu_state_is_refreshed(odd):
    odd.sim.control("offline 7")
    try:
        wait_for(lambda: odd.call("GET", "/v1/cache/l3/4")["available_cpus"] == "0-6", "the daemon to see it go")
    finally:
        odd.sim.control("online 7")
    wait_for(lambda: odd.call("GET", "/v1/cache/l3/4")["available_cpus"] == "0-7", "the daemon to see it return")


# Defect 35
def test_sigterm_stops_the_daemon_in_order(node):
    workload = created(node, ["4"], (1, 1))
    assert node.terminate() == 0
    node.start()
    assert node.list() == [workload]
    assert {"Type=notify", "WatchdogSec=60"} <= set(read("systemd/nrd.service").splitlines())


# Defect 36
def test_filters_dry_runs_and_conditional_requests_work(node):
    workload = created(node, ["4"], (1, 1), uuid="a")
    path, before = "/v1/workloads/" + workload["id"], counts(node)
    assert node.call("GET", "/v1/workloads?uuid=b") == []
    planned = node.call("POST", "/v1/workloads?dry_run=true", rmd_body(["5"], (2, 2)))
    assert planned["workload"]["cos_name"] and planned["changes"]
    tag = node.request("GET", path)[2]["ETag"]
    assert node.request("GET", path, headers={"If-None-Match": tag})[0] == 304
    assert node.request("DELETE", path, headers={"If-Match": '"0-0"'})[0] == 412
    problem = json.loads(refusal(node, "POST", "/v1/workloads", rmd_body(["4"], (1, 1)), {**JSON, "Accept": "application/json"})[1])
    assert (problem["code"], problem["field"]) == ("CpuTaken", "/core_ids")
    assert "PATH=/v1/workloads STATUS=400" in node.journal() and counts(node) == before
    assert node.call("PUT", path, rmd_body(["4"], (2, 2)))["cache"] == {"max": 2, "min": 2}
    # On purpose not: a list of as many as there are CPUs needs no pages.
    assert refusal(node, "GET", "/v1/workloads?limit=1")[0] == 400


# Defect 38
def test_comma_separated_lists_work_with_plugins(node):
    workload = created(node, ["0,3,8-39"], (0, 0), plugins={"pstate": {"max_ratio": 20}})
    assert {int(cpu) for cpu in workload["granted_frequencies"]} == cpus_of("0,3,8-39")
    assert node.sim.freq()["39"]["max"] == 2_000_000


# Defect 39
def test_integers_of_a_yaml_policy_are_used(odd):
    workload = created(odd, ["4"], policy="quick")
    assert workload["plugins"] == {"pstate": {"max_ratio": 30}} and odd.sim.freq()["4"]["max"] == 3_000_000


# Defect 40
def test_unknown_kernel_files_are_ignored():
    with Node(start=False, sockets=1, cpus=2, ways=13) as node:
        info = node.sim.path("/sys/fs/resctrl/info/L3")
        assert "sparse_masks" in os.listdir(info)
        known = os.path.join(node.folder, "L3")
        os.mkdir(known)
        for file in os.listdir(info):
            with open(os.path.join(known, file), "w") as copy, open(os.path.join(info, file)) as kernels:
                copy.write(kernels.read())
        with open(os.path.join(known, "a_file_of_tomorrow"), "w") as file:
            file.write("many things\n")
        node.sim.run_inside(["/usr/bin/mount", "--bind", known, "/sys/fs/resctrl/info/L3"])
        node.start()
        assert node.call("GET", "/v1/node")["capabilities"]["l3_cat"]["ways"] == 13
        created(node, ["1"], (1, 1))


# Defect 41
def test_bandwidth_needs_no_configuration():
    with Node(sockets=1, cpus=2, rdt=False) as node:
        assert node.call("GET", "/v1/mba") == {"mba": False}


# Defect 43
def test_documented_paths_exist(node):
    assert node.request("GET", "/v1/inventory")[:2] == (404, "404: Page Not Found\n")
    for path, methods in yaml.safe_load(read("docs/openapi.yaml"))["paths"].items():
        if "get" in methods:
            assert node.request("GET", path.replace("{id}", "7").replace("{level}", "l3"))[1] != "404: Page Not Found\n", path
