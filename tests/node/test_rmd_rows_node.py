"""What operators of RMD could do, row by row of docs/rmd-compatibility.md: the node, its endpoints and its operation."""

import gzip
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import tomllib

import pytest
from harness import Node, wait_for
from masks import cpus_of
from rmd_table import CONFLICT, JSON, ROOT, assert_put_back, carried_over, checked, created, daemon, masks, not_created, read, rmd_body
from fixtures import CLIENT, UnixConnection, ask, basic, name
from test_genconf import genconf
from test_certificate_list import code, put, reload
from test_operator import Operator, operators_context

pytest_plugins = "rmd_nodes"


# Classes and sockets

# Row 30
def test_the_os_has_the_remaining_ways(node):
    assert node.hardware()["/"]["L3"] == {"0": "fffff", "1": "fffff"}
    id = created(node, ["4"], (4, 4))["id"]
    assert node.hardware()["/"]["L3"] == {"0": "fffe0", "1": "fffff"}
    assert 4 not in cpus_of(node.hardware()["/"]["cpus"])
    node.delete(id)
    assert node.hardware()["/"]["L3"] == {"0": "fffff", "1": "fffff"} and 4 in cpus_of(node.hardware()["/"]["cpus"])


# Row 32
def test_only_caches_of_the_workloads_cpus_are_constrained(node, odd):
    there = created(node, ["25"], (2, 2))
    assert node.hardware()[there["cos_name"]]["L3"] == {"0": "fffff", "1": "6"}
    both = created(node, ["4,30"], (1, 1))
    assert set(masks(both)) == {"0", "1"}
    swapped = created(odd, ["9"], (2, 2))  # on the second socket, whose cache is 0
    assert masks(swapped) == {"0": "c"}
    assert odd.hardware()[swapped["cos_name"]]["L3"] == {"0": "c", "4": "fffff"}


# Row 33
def test_classes_are_directories_and_counted(odd):
    names = [created(odd, [cpu], (2, 2))["cos_name"] for cpu in ("1", "2", "9")]
    assert names == ["COS2", "COS3", "COS1"] and set(names) <= set(odd.hardware())
    status, text = not_created(odd, ["3"], (2, 2))
    assert status == 409 and text.startswith("No free CLOS available")
    odd.delete(odd.list()[1]["id"])
    assert created(odd, ["3"], (2, 2))["cos_name"] == names[1]


# What stays

# Row 34
def test_workloads_are_stored(node):
    workload = created(node, ["4-7"], (2, 2), uuid="kept")
    node.kill9_and_start()
    assert node.list() == [workload]
    node.assert_consistent({workload["id"]})


# Row 36
def test_grants_are_restored_after_restart_reboot_and_drift(odd):
    workload = created(odd, ["4-5"], (2, 2))
    assert_put_back(odd, workload, "schemata", "L3:4=00003\n")


# Endpoints

# Row 37
def test_a_flag_forces_a_mode():
    with Node('[rdt]\nmba_mode = "mbps"\n', mounts=True, start=False, flags=["--force-config"],
              mb_unit="percent") as node:
        node.start()
        assert node.call("GET", "/v1/mba")["mba_request"] == "mbps"
        with open(node.mounts) as notes:
            assert notes.read() == "umount \nmount mba_MBps\n"


# Row 38
def test_plain_http_serves_debugging(node):
    assert node.request("GET", "/v1/workloads")[0] == 200
    assert "8081" in daemon(node, "--help")[1]
    assert daemon(node, "-d", "--debugport", "9081", "--check-config")[0] == 0
    status, said = daemon(node, "--debug", "--address", "0.0.0.0", "--check-config")
    assert status == 78 and "must use a loopback address" in said


# Row 39
def test_https_works_as_the_operator_uses_it(guarded):
    put(guarded.admin, guarded.lists.admin)
    reload(guarded)
    connection = operators_context(guarded).wrap_socket(
        socket.create_connection(("127.0.0.1", guarded.tls_port), timeout=30), server_hostname="rmd-nameserver")
    with Operator(connection, f"127.0.0.1:{guarded.tls_port}") as operator:
        assert operator.send("POST", "/v1/workloads", json.dumps(rmd_body(["2-3"], (1, 1), uuid="tls"))).status == 201
        assert operator.send("DELETE", "/v1/workloads/" + operator.find("tls")["id"]).status == 200
    with pytest.raises((ssl.SSLError, ConnectionError)):
        ask(guarded.tls(), "GET", "/v1/workloads")


# Row 40
def test_certificates_determine_the_role(guarded, passwords):
    bo = guarded.authority.sign("bo.pem", name("Bo", "User"), CLIENT)
    assert ask(guarded.tls(bo), "GET", "/v1/node")[:2] == (401, "Bo is not authorized\n")
    listed = put(bo, guarded.lists.admin)
    reload(guarded)
    assert ask(guarded.tls(bo), "DELETE", "/v1/workloads/1")[0] == 404
    os.remove(listed)
    reload(guarded)
    assert code(guarded, bo) == 401
    # By organisational unit and by common name, where there are no lists.
    assert ask(passwords.tls(passwords.admin), "DELETE", "/v1/workloads/1")[0] == 404
    assert ask(passwords.tls(passwords.user), "DELETE", "/v1/workloads/1")[:2] == (
        403, 'User "Eli" is not authorized to access this resource\n')
    stranger = passwords.authority.sign("guest.pem", name("Mallory", "Guests"), CLIENT)
    assert ask(passwords.tls(stranger), "GET", "/v1/node")[:2] == (401, "OU: Guests is not authorized\n")


# Row 41
def test_passwords_are_checked_by_pam(passwords):
    def get(headers, source="127.0.0.1"):
        return ask(passwords.tls(source=source), "GET", "/v1/workloads", headers=headers)
    assert get(basic("bob", "bob"))[:2] == (200, "[]")
    assert get({})[:2] == get({"Authorization": "Basic !"})[:2] == (400, "Malformed credentials\n")
    status, text, headers = get(basic("bob", "wrong"), "127.0.0.2")
    assert (status, text, headers["WWW-Authenticate"]) == (401, "Authentication failure\n", "Basic realm=RMD")
    assert headers.get_content_type() == "text/plain"


# Row 42
def test_the_access_list_limits_path_and_method(passwords):
    def as_user(user, method, path, body=None):
        return ask(passwords.tls(), method, path, body, {**basic(user, user), **(JSON if body else {})})[:2]
    assert as_user("bob", "GET", "/v1/cache/l3")[0] == 200
    assert as_user("bob", "POST", "/v1/workloads", "{}") == (
        403, 'User "bob" is not authorized to access this resource\n')
    assert as_user("alice", "POST", "/v1/workloads", "{}")[0] == 400
    assert as_user("bob", "GET", "/v1/mba")[0] == as_user("bob", "GET", "/v1/cache/l3?")[0] == 200
    assert as_user("bob", "POST", "/v1/hospitality", '{"max_cache": 1, "min_cache": 1}')[0] == 200


# Row 43
def test_the_unix_socket_serves_requests(node):
    assert ask(UnixConnection(node.socket), "GET", "/v1/workloads")[:2] == (200, "[]")


# Configuration, logs, service

# Row 44
def test_the_configuration_is_converted(node):
    told = carried_over(node, "carried")
    for key, is_now in (("default.tlsport", "server.tls_port = 8443"), ("OSGroup.cacheways", "cache_pools.os = 1"),
                        ("CachePool.guarantee", "cache_pools.guarantee = 6")):
        assert f"{key}: {is_now}\n" in told, told
    flags = ["--address", "127.0.0.1", "--tlsport", "9443", "--debugport", "9081", "--unixsock", "/run/x.sock", "-d"]
    assert daemon(node, "--conf-dir", node.output, *flags, "--check-config")[0] == 0
    assert daemon(node, "--version")[1].startswith("nrd ")


# Row 45
def test_cpu_models_have_names(node, odd):
    assert set(node.call("GET", "/v1/policy")) >= {"gold", "silver", "bronze"}  # of the section skylake
    assert odd.call("GET", "/v1/policy")["gold"] == {"cache": {"max": 4, "min": 4}}  # of a name that cpu_map gives


# Row 46
def test_genconf_writes_a_configuration(node):
    made = genconf(node).stdout
    assert tomllib.loads(made)["cache_pools"] == {"os": 1, "guarantee": 10, "besteffort": 7, "shared": 2}
    assert checked(node, made)[0] == 0


# Row 47
def test_log_lines_go_to_the_journal(node):
    created(node, ["4"], (1, 1))
    lines = [line for line in node.journal().splitlines() if "AUDIT_CHANGE" in line]
    assert "METHOD=POST" in lines[-1] and "STATUS=201" in lines[-1]
    for flag in ("--logtostderr", "--log_dir=/x"):
        status, said = daemon(node, flag)
        assert status == 2 and "nrd logs to the journal" in said
    assert daemon(node, "--log-level", "debug", "--check-config")[0] == 0


# Row 48
def test_one_daemon_runs_with_few_rights(node):
    second = node.run_daemon()
    assert second.returncode == 1 and "another nrd uses" in second.stderr
    unit = read("systemd/nrd.service").splitlines()
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateDevices=yes",
            "CapabilityBoundingSet=CAP_PERFMON CAP_DAC_OVERRIDE CAP_CHOWN CAP_SYS_NICE"} <= set(unit)


# Row 49
def test_the_package_has_unit_and_manual_pages(tmp_path):
    unit = read("systemd/nrd.service").splitlines()
    assert {"Type=notify", "Restart=on-failure", "WatchdogSec=60"} <= set(unit)
    build = pathlib.Path(os.environ["NRD"]).parent.parent
    subprocess.run(["cmake/make-package", build, tmp_path], cwd=ROOT, check=True, timeout=300, capture_output=True)
    [package] = tmp_path.glob("nrd_*.deb")
    told = subprocess.run(["dpkg-deb", "--field", package], check=True, capture_output=True, text=True).stdout
    assert re.search(r"^Depends: .*intel-cmt-cat \(>= .*libpistache0", told, re.M), told
    inside = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True).stdout
    for path in ("usr/sbin/nrd", "usr/bin/nrdctl", "usr/libexec/nrd/nrd-pam", "etc/nrd/nrd.toml",
                 "usr/lib/systemd/system/nrd.service", "usr/lib/sysusers.d/nrd.conf", "usr/share/man/man8/nrd.8.gz",
                 "usr/share/man/man1/nrdctl.1.gz", "usr/share/man/man5/nrd.toml.5.gz"):
        assert re.search(rf"root/root .* \./{path}$", inside, re.M), path


# Row 50
def test_openstack_is_omitted(node):
    assert "default.openstackEnable: was false; nrd has no OpenStack integration\n" in carried_over(node, "openstack")
    status, said = checked(node, "[openstack]\namqpuri = \"amqp://x\"\n")
    assert status == 78 and ":1: " in said and "openstack" in said


# Row 53
def test_cpu_hotplug_is_followed(odd):
    workload = created(odd, ["4-5"], (2, 2))
    odd.sim.control("offline 5")
    try:
        assert not_created(odd, ["5"], (2, 2))[0] == 400
        wait_for(lambda: 5 not in cpus_of(odd.call("GET", "/v1/node")["cpus"]["online"]), "the daemon to see it")
        assert odd.health()["status"] == "ok"
    finally:
        odd.sim.control("online 5")
    wait_for(lambda: 5 in cpus_of(odd.hardware()[workload["cos_name"]]["cpus"]), "the CPU to be back in its class")
    wait_for(lambda: 5 in cpus_of(odd.call("GET", "/v1/node")["cpus"]["online"]), "the daemon to see it")


# HTTP

@pytest.mark.parametrize("method, path, headers, status, text", [
    ("POST", "/v1/workloads", {}, 415, "415: Unsupported Media Type\n"),
    ("PATCH", "/v1/workloads/1", {"Content-Type": "text/plain"}, 415, "415: Unsupported Media Type\n"),
    ("GET", "/v1/workloads", {"Content-Type": "text/plain"}, 415, "415: Unsupported Media Type\n"),
    ("GET", "/v1/workloads", {"Accept": "image/png"}, 406, "406: Not Acceptable\n"),
    ("PUT", "/v1/workloads", JSON, 405, "405: Method Not Allowed\n"),
    ("GET", "/v1/hospitality", {}, 405, "405: Method Not Allowed\n"),
    ("GET", "/v1/workloads/1/2", {}, 404, "404: Page Not Found\n"),
    ("GET", "/v1/foo", {}, 404, "404: Page Not Found\n"),
    ("GET", "/v1//workloads", {}, 400, "The path contains //.\n"),
])
# Row 54
def test_wrong_types_methods_and_paths_have_rmds_text(node, method, path, headers, status, text):
    assert node.request(method, path, "{}" if method != "GET" else None, headers)[:2] == (status, text)
    assert node.request("POST", "/v1/workloads", json.dumps(rmd_body(["4"], (1, 1))),
                        {"Content-Type": "application/json; charset=utf-8", "Accept": "*/*"})[0] == 201


# Row 55
def test_slashes_key_case_and_gzip_are_accepted(node):
    body = gzip.compress(json.dumps({"Core_IDs": ["4"], "RDT": {"Cache": {"Max": 1, "MIN": 1}}}).encode())
    status, text, _ = node.request("POST", "/v1/workloads/", body, {**JSON, "Content-Encoding": "gzip"})
    assert status == 201, text
    workload = json.loads(text)
    assert node.call("GET", "/v1/workloads/") == [workload] == [node.call("GET", f"/v1/workloads/{workload['id']}/")]
    assert not_created(node, ["4"], (1, 1)) == (400, CONFLICT + "CPU list [4] has been assigned\n")
    assert node.request("DELETE", f"/v1/workloads/{workload['id']}/")[:2] == (200, "")


# Groups

GROUPS = """
[cache_pools]
max_allowed_shared = 1
infra = 2
[os]
cpus = "0"
[infra]
cpus = "2"
"""


@pytest.fixture(scope="module")
def grouped():
    with Node(GROUPS) as node:
        yield node


# Row 9
def test_the_shared_class_has_a_limit(grouped):
    first = created(grouped, ["4"], (0, 0))
    assert not_created(grouped, ["5"], (0, 0))[0] == 409
    question = {"max_cache": 0, "min_cache": 0}
    assert set(grouped.call("POST", "/v1/hospitality", question)["score"]["l3"].values()) == {0}
    grouped.delete(first["id"])
    assert set(grouped.call("POST", "/v1/hospitality", question)["score"]["l3"].values()) == {100}


# Row 30
def test_the_os_has_reserved_cpus(grouped):
    for cpu, owner in (("0", "the operating system, by the configuration (os.cpus)"),
                       ("2", "the infrastructure, by the configuration (infra.cpus)")):
        status, text = not_created(grouped, [cpu], (1, 1))
        assert status == 400 and text.startswith(f"{CONFLICT}CPU list [{cpu}] has been assigned to {owner}"), text
    assert "0" not in grouped.call("GET", "/v1/cache/l3/0")["available_cpus"].replace("-", ",").split(",")


# Row 31
def test_an_infra_group_has_ways_cpus_and_tasks(grouped):
    group = grouped.hardware()["COS1"]
    assert group["L3"] == {"0": "600", "1": "7ff"} and group["cpus"] == "2"
    assert not_created(grouped, ["2"], (1, 1))[0] == 400
    assert grouped.call("GET", "/v1/cache/l3/0")["available_ways_pool"]["infra"] == "9-10"
    status, said = checked(grouped, "[cache_pools]\ninfra = 1\n[infra]\nprocesses = [\"ovs*\"]\n")
    assert status == 0, said
