"""Every route with every kind of client: the expected code in each cell."""

import concurrent.futures
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import time

import pytest

from harness import NRD, wait_for
from reservations import public_folder
from fixtures import (CLIENT, DAY, NOW, SERVER, Accounts, Authority, Service, ask, basic, name,
                     replace_authority, routes, shadowed, socket_for, UnixConnection)
from unix_clients import Client

ANYBODY, SOMEGROUP = 65534, 60  # `nobody` and `games`: both exist on every Debian
ADMINS, USERS, RUNNERS = 12, 10, 9  # the groups man, uucp and news, by their role on the socket of the fixture `roles`

# What an administrator gets, by method and path: the request reaches its handler, which finds nothing to do.
REACHED = {("GET", "/v1/workloads"): 200, ("POST", "/v1/workloads"): 400, ("GET", "/v1/workloads/{id}"): 404,
           ("PUT", "/v1/workloads/{id}"): 400, ("PATCH", "/v1/workloads/{id}"): 404, ("DELETE", "/v1/workloads/{id}"): 404,
           ("GET", "/v1/cpus"): 200, ("GET", "/v1/cpus/pools"): 200, ("GET", "/v1/cpus/pools/{id}"): 404, ("GET", "/v1/cpus/pools/{id}/check"): 404,
           ("GET", "/v1/operations"): 200, ("GET", "/v1/operations/{id}"): 404,
           ("GET", "/v1/pstate"): 200, ("GET", "/v1/pstate/{id}"): 404, ("GET", "/v1/node"): 200, ("GET", "/v1/health"): 200, ("GET", "/metrics"): 200, ("GET", "/"): 200, ("GET", "/v1"): 200, ("GET", "/v1/openapi.yaml"): 200, ("GET", "/v1/workloads/{id}/monitoring"): 404,
           ("GET", "/v1/onload"): 200, ("POST", "/v1/onload/preflight"): 400, ("POST", "/v1/onload/drain"): 400,
           ("POST", "/v1/onload/undrain"): 423, ("GET", "/v1/onload/modules/{id}"): 404,
           ("PATCH", "/v1/onload/modules/{id}/parameters"): 409, ("GET", "/v1/onload/controlplane"): 200,
           ("PATCH", "/v1/onload/controlplane"): 400, ("POST", "/v1/onload/controlplane/restart"): 423,
           ("POST", "/v1/onload/operations/{id}/cancel"): 404,
           ("PUT", "/v1/onload"): 400, ("DELETE", "/v1/onload"): 423,
           ("POST", "/v1/onload/rollback"): 400, ("PUT", "/v1/onload/freeze"): 400, ("POST", "/v1/onload/verify"): 409,
           ("GET", "/v1/onload/modules"): 200, ("GET", "/v1/onload/users"): 200, ("GET", "/v1/onload/stacks"): 200,
           ("GET", "/v1/onload/interfaces"): 200, ("PUT", "/v1/onload/interfaces/{id}/acceleration"): 400,
           ("PUT", "/v1/onload/interfaces/{id}/afxdp"): 400, ("GET", "/v1/onload/versions"): 200, ("POST", "/v1/onload/versions"): 400,
           ("DELETE", "/v1/onload/versions/{id}"): 404, ("GET", "/v1/onload/generations"): 200,
           ("GET", "/v1/onload/generations/{id}"): 404, ("GET", "/v1/onload/operations"): 200,
           ("GET", "/v1/onload/operations/{id}"): 404,
           ("GET", "/v1/onload/profiles"): 200, ("GET", "/v1/onload/profiles/{id}"): 404,
           ("PUT", "/v1/onload/profiles/{id}"): 400, ("DELETE", "/v1/onload/profiles/{id}"): 404,
           ("POST", "/v1/onload/render"): 400, ("GET", "/v1/onload/allocations"): 200,
           ("POST", "/v1/onload/allocations"): 400, ("DELETE", "/v1/onload/allocations/{id}"): 404,
           ("GET", "/v1/cache"): 200, ("GET", "/v1/cache/{level}"): 200, ("GET", "/v1/cache/{level}/{id}"): 404, ("GET", "/v1/mba"): 200,
           ("GET", "/v1/config"): 200, ("POST", "/v1/config/reload"): 400,
           ("GET", "/v1/policy"): 404, ("POST", "/v1/hospitality"): 400,
           ("GET", "/v1/nothing"): 404, ("PUT", "/v1/node"): 405}


def for_user(method, path):
    if path == "/v1/config":
        return 403
    return REACHED[method, path] if method == "GET" or path in ("/v1/hospitality", "/v1/onload/preflight") else 403


# What the role run may request: what the calling process owns, and what nrdctl run reads to start an application.
OF_RUN = {("POST", "/v1/workloads"), ("PUT", "/v1/workloads/{id}"), ("GET", "/v1/workloads/{id}"), ("PATCH", "/v1/workloads/{id}"), ("DELETE", "/v1/workloads/{id}"),
          ("GET", "/v1/onload/allocations"), ("POST", "/v1/onload/allocations"), ("DELETE", "/v1/onload/allocations/{id}"),
          ("GET", "/v1/onload/profiles"), ("GET", "/v1/onload/profiles/{id}"), ("GET", "/v1/onload/interfaces"),
          ("GET", "/v1/operations/{id}"), ("GET", "/"), ("GET", "/v1"), ("GET", "/v1/openapi.yaml")}


def for_run(method, path):
    return REACHED[method, path] if (method, path) in OF_RUN else 403


def for_user_who_may_run(method, path):
    return REACHED[method, path] if (method, path) in OF_RUN else for_user(method, path)


def always(code):
    return lambda method, path: code


def for_admin(method, path):
    return REACHED[method, path]


def filled(path):
    return path.replace("{id}", "99").replace("{level}", "l3")


def send(connection, method, path, more=()):
    body = json.dumps({"origin": "REST"}) if method in ("POST", "PATCH", "PUT") else None
    headers = dict(more) | ({"Content-Type": "application/json"} if body else {})
    try:
        return ask(connection, method, filled(path), body, headers)[0]
    except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
        return "no connection"


def as_process_of(user, group, groups, service, path=None, url=None):
    """One request by another user, through curl: over the daemon's first Unix socket, or that at `path`, or to `url`."""
    where = [url] if url else ["--unix-socket", path or service.socket, "http://localhost"]

    def request(method, path):
        body = ["-d", '{"origin":"REST"}', "-H", "Content-Type: application/json"] if method in ("POST", "PATCH", "PUT") else []
        done = subprocess.run(["/usr/bin/curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *where[:-1],
                               "-X", method, *body, where[-1] + filled(path)],
                              user=user, group=group, extra_groups=groups, capture_output=True, text=True)
        return int(done.stdout) if done.returncode == 0 else "no connection"
    return request


def freeze(service):
    """So that refused requests cannot change the answer to the next one."""
    frozen = ask(service.unix(), "PUT", "/v1/onload/freeze", json.dumps({"frozen": True}), {"Content-Type": "application/json"})
    assert frozen[0] == 200


@pytest.fixture(scope="module")
def service():
    with Service(group="games") as service:
        freeze(service)
        yield service


@pytest.fixture(scope="module")
def roles():
    """A daemon with a second Unix socket, on which each role has a group; its path is `roles.path`."""
    with public_folder() as folder:
        path = f"{folder}/roles.sock"
        with Service(sockets=socket_for(path=path, admin=["@man"], user=["@uucp"], run=["@news"])) as service:
            freeze(service)
            service.path = path
            yield service


@pytest.fixture(scope="module")
def lenient():
    with Service(client_auth="optional") as service:
        yield service


def certificates(service):
    foreign = Authority(tempfile.mkdtemp(dir=service.pki), "Foreign")
    sign = service.authority.sign
    return {
        "admin": (service.admin, for_admin), "user": (service.user, for_user),
        "no certificate": (None, always("no connection")),
        "unknown CA": (foreign.sign("c.pem", name("Alice", "Admin"), CLIENT), always("no connection")),
        "expired": (sign("old.pem", name("Alice", "Admin"), CLIENT, NOW - 9 * DAY, NOW - DAY), always("no connection")),
        "not yet valid": (sign("new.pem", name("Alice", "Admin"), CLIENT, NOW + DAY, NOW + 9 * DAY), always("no connection")),
        "wrong purpose": (sign("srv.pem", name("Alice", "Admin"), SERVER), always("no connection")),
        "no role": (sign("guest.pem", name("Mallory", "Guests"), CLIENT), always(401)),
    }


def all_callers(service):
    callers = {who: (lambda method, path, file=file: send(service.tls(file), method, path), expected)
               for who, (file, expected) in certificates(service).items()}
    callers |= {
        "root": (lambda method, path: send(service.unix(), method, path), for_admin),
        "group": (as_process_of(ANYBODY, SOMEGROUP, [], service), for_admin),
        "second group": (as_process_of(ANYBODY, ANYBODY, [7, SOMEGROUP], service), for_admin),
        "other uid": (as_process_of(ANYBODY, ANYBODY, [], service), always("no connection")),
        "plain debug": (lambda method, path: send(service.plain(), method, path), for_admin),
        "plain debug, other uid": (as_process_of(ANYBODY, ANYBODY, [], service, url=f"http://127.0.0.1:{service.port}"), for_admin),
    }
    return callers


def test_every_route_of_the_service_is_in_the_matrix():
    assert set(routes()) <= set(REACHED)


def test_matrix(service):
    assert judge(service, all_callers(service)) == []


def test_head_has_the_status_of_get_for_every_kind_of_client(service, roles):
    """curl -I, because it does not wait for a body."""
    def heads_of(groups, path):
        def request(method, path_of_route):
            done = subprocess.run(["/usr/bin/curl", "-sI", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path,
                                   "http://localhost" + filled(path_of_route)], user=ANYBODY, group=ANYBODY, extra_groups=groups,
                                  capture_output=True, text=True)
            return int(done.stdout)
        return request
    callers = {who: (heads_of(groups, roles.path), expected) for who, groups, expected in
               [("admin", [ADMINS], for_admin), ("user", [USERS], for_user), ("run", [RUNNERS], for_run), ("no role", [], always(403))]}
    guest = service.authority.sign("head.pem", name("Mallory", "Guests"), CLIENT)
    for who, file, expected in [("Admin", service.admin, for_admin), ("User", service.user, for_user), ("guest", guest, always(401))]:
        callers[who] = (lambda method, path, file=file: send(service.tls(file), "HEAD", path), expected)
    for who, (request, expected) in callers.items():
        for method, path in REACHED:
            if method == "GET":
                assert request("HEAD", path) == expected(method, path), (who, path)


def test_matrix_of_the_roles_of_a_local_socket(roles):
    def member_of(*groups):
        return as_process_of(ANYBODY, ANYBODY, groups, roles, roles.path)
    assert judge(roles, {
        "admin": (member_of(ADMINS), for_admin), "user": (member_of(USERS), for_user), "run": (member_of(RUNNERS), for_run),
        "user and run": (member_of(USERS, RUNNERS), for_user_who_may_run),
        "admin and run": (member_of(ADMINS, RUNNERS), for_admin), "no role": (member_of(), always(403))}) == []
    assert roles.list() == []


OF_THE_NODE = {(method, path) for method, path in REACHED if method == "GET" and re.match("/v1/(cache|policy|mba|node|cpus|pstate|health)|/metrics", path)}
READS_OF_ONLOAD = {(method, path) for method, path in REACHED if method == "GET" and path.startswith("/v1/onload") and "allocations" not in path}
ALLOWED = {"workloads": {(method, path) for method, path in REACHED if path.startswith(("/v1/workloads", "/v1/operations"))},
           "node": OF_THE_NODE | {("POST", "/v1/hospitality")},
           "onload.read": READS_OF_ONLOAD | {("POST", "/v1/onload/preflight")},
           "onload.allocations": {(method, path) for method, path in REACHED if path.startswith("/v1/onload/allocations")}}
FOR_ALL = {("GET", "/"), ("GET", "/v1"), ("GET", "/v1/openapi.yaml")}


@pytest.fixture(scope="module")
def limited():
    """A daemon with a socket of origin kubernetes for each permission, and one with all; their paths are `limited.paths`."""
    allowed = {each: [each] for each in ALLOWED} | {"all": list(ALLOWED)}
    with public_folder() as folder:
        sockets = [socket_for(path=f"{folder}/{each}", origin="kubernetes", allow=allow, user=["@uucp"], run=["@news"])
                   for each, allow in allowed.items()]
        with Service(sockets="".join(sockets)) as service:
            freeze(service)
            service.paths = {each: f"{folder}/{each}" for each in allowed}
            yield service


def test_matrix_of_a_socket_with_an_origin_and_limits(limited):
    def root(path):
        return lambda method, route: send(UnixConnection(path), method, route)
    callers = {f"root, {each}": (root(limited.paths[each]), only(granted | FOR_ALL)) for each, granted in ALLOWED.items()}
    everything = set().union(*ALLOWED.values())
    callers |= {"root, all": (root(limited.paths["all"]), only(everything | FOR_ALL)),
                "user, all": (as_process_of(ANYBODY, ANYBODY, [USERS], limited, limited.paths["all"]),
                              lambda method, path: for_user(method, path) if (method, path) in everything | FOR_ALL else 403),
                "run, workloads": (as_process_of(ANYBODY, ANYBODY, [RUNNERS], limited, limited.paths["workloads"]),
                                   only((OF_RUN & ALLOWED["workloads"]) | FOR_ALL)),
                "no role": (as_process_of(ANYBODY, ANYBODY, [], limited, limited.paths["all"]), always(403))}
    assert judge(limited, callers) == []


def test_a_socket_with_an_origin_changes_its_own_workloads_only(limited):
    def ask_on(path, method, target, body=None, accept="application/json"):
        headers = {"Accept": accept} | ({"Content-Type": "application/json"} if body else {})
        status, text, _ = ask(UnixConnection(path), method, target, json.dumps(body) if body else None, headers)
        return status, json.loads(text) if text.startswith("{") else text
    kubernetes = limited.paths["all"]
    foreign = limited.create("12", 1, 1)["id"]
    wanted = {"core_ids": ["4"], "cache": {"max": 1, "min": 1}}
    status, own = ask_on(kubernetes, "POST", "/v1/workloads", wanted)
    assert (status, own["origin"]) == (201, "kubernetes")
    assert ask_on(kubernetes, "GET", f"/v1/workloads/{foreign}")[1]["origin"] == "REST"
    assert {each["id"] for each in limited.list()} == {foreign, own["id"]}
    changed = {"cache": {"max": 2, "min": 2}}
    for method, body in (("PATCH", changed), ("DELETE", None), ("PUT", {**wanted, "core_ids": ["12"]})):
        for query in ("", "?force=true"):
            for accept in ("application/json", "text/plain"):
                assert ask_on(kubernetes, method, f"/v1/workloads/{foreign}{query}", body, accept)[0] == 403, (method, query, accept)
    assert ask_on(kubernetes, "PATCH", f"/v1/workloads/{own['id']}", changed)[0] == 200
    assert ask_on(kubernetes, "PUT", "/v1/workloads/k8s.pod.main", {**wanted, "core_ids": ["5"]})[1]["origin"] == "kubernetes"
    assert ask_on(limited.socket, "DELETE", f"/v1/workloads/{own['id']}")[0] == 403
    assert ask_on(limited.socket, "DELETE", f"/v1/workloads/{own['id']}?force=true")[0] == 200
    assert ask_on(kubernetes, "DELETE", "/v1/workloads/k8s.pod.main")[0] == 200
    with_onload = {**wanted, "onload": {}}
    status, refusal = ask_on(limited.paths["workloads"], "POST", "/v1/workloads", with_onload)
    assert (status, refusal["field"]) == (403, "/onload")
    assert [each["id"] for each in limited.list()] == [foreign]
    limited.delete(foreign)


@pytest.mark.parametrize("groups, listed", [([RUNNERS], 403), ([USERS, RUNNERS], 200)])
def test_the_role_run_changes_own_workloads_and_none_of_another_process(roles, groups, listed):
    """Each cell for a workload that exists: of the process that asks, of another process of the group, of no process."""
    asked = {"cache": {"max": 2, "min": 2}, "owner": {"caller": True}}
    foreign = roles.create("12", 1, 1)["id"]
    with Client(roles.path, group=RUNNERS, groups=groups) as another, Client(roles.path, group=RUNNERS, groups=groups) as caller:
        theirs = another.request("POST", "/v1/workloads", {**asked, "core_ids": ["4"]})[1]["id"]
        own = caller.request("POST", "/v1/workloads", {**asked, "core_ids": ["8"]})[1]["id"]
        assert caller.request("PATCH", f"/v1/workloads/{own}", {"task_ids": [str(another.pid)]})[0] == 403
        assert caller.request("POST", "/v1/workloads", {**asked, "core_ids": ["9"], "owner": {"pid": another.pid}})[0] == 403
        reads = 404 if listed == 403 else 200
        expected = {
            own: {"GET": 200, "monitoring": listed, "PATCH": 200, "DELETE": 200},
            theirs: {"GET": reads, "monitoring": listed, "PATCH": 404, "DELETE": 404},
            foreign: {"GET": reads, "monitoring": listed, "PATCH": 404, "DELETE": 404}}
        assert [caller.request("GET", path)[0] for path in ("/v1/workloads", "/v1/workloads/")] == [listed, listed]
        got = {id: {"GET": caller.request("GET", f"/v1/workloads/{id}")[0],
                    "monitoring": caller.request("GET", f"/v1/workloads/{id}/monitoring")[0],
                    "PATCH": caller.request("PATCH", f"/v1/workloads/{id}", {"cache": {"max": 1, "min": 1}})[0],
                    "DELETE": caller.request("DELETE", f"/v1/workloads/{id}")[0]} for id in expected}
        assert got == expected
        assert {workload["id"] for workload in roles.list()} == {theirs, foreign}
    roles.delete(foreign)
    wait_for(lambda: roles.list() == [], "the workload to end with its process")


# Users of PAM. Failures are spread over several users and hosts, so that none reaches the limit.

PER_KIND = 5
SHADOW = {"right": lambda user: shadowed(user), "wrong": lambda user: shadowed("another"),
          "locked": lambda user: "!" + shadowed(user), "expired": lambda user: shadowed(user, ends=19001),
          "outdated": lambda user: shadowed(user, last_change=18000, most_days=10),
          "mustchange": lambda user: shadowed(user, last_change=0)}
NAMED = ("alice", "bob", "carol", "root", "admin", "user")
ACL = """# RMD's, and some users
p, user, /cache/l*/*, GET
p, user, /cache/l*, GET
p, user, /cache, GET
p, user, /policy, GET
p, user, /workloads, GET
p, user, /workloads/*, GET
p, user, /hospitality, GET
p, root, /workloads, POST
p, root, /workloads/*, (PATCH)|(DELETE)
p, all, /*, .*
g, root, user
g, admin, root
g, alice, all
g, bob, user
g, carol, admin
"""
OF_RMDS_USER = {("GET", "/v1/cache/{level}/{id}"), ("GET", "/v1/cache/{level}"), ("GET", "/v1/cache"), ("GET", "/v1/policy"),
                ("GET", "/v1/workloads"), ("GET", "/v1/workloads/{id}"), ("GET", "/v1/mba"), ("POST", "/v1/hospitality"),
                ("GET", "/v1/workloads/{id}/monitoring"),  # below /workloads/*
                ("GET", "/"), ("GET", "/v1"), ("GET", "/v1/openapi.yaml")}  # for every role
OF_RMDS_ROOT = OF_RMDS_USER | {("POST", "/v1/workloads"), ("PATCH", "/v1/workloads/{id}"), ("DELETE", "/v1/workloads/{id}")}


def accounts():
    users = {f"{kind}{i}": line(f"{kind}{i}") for kind, line in SHADOW.items() for i in range(PER_KIND)}
    return Accounts(users | {user: shadowed(user) for user in NAMED})


def user_of_pam(service, kind):
    hosts = iter(range(256))

    def request(method, path):
        at = next(hosts)
        user = kind if kind in NAMED else f"{kind}{at % PER_KIND}"
        # The second byte keeps kinds apart, the last one requests.
        source = f"127.{1 + sorted([*SHADOW, *NAMED, 'absent']).index(kind)}.0.{1 + at}"
        while (code := send(service.tls(source=source), method, path, basic(user, user).items())) == 429:
            time.sleep(1)  # one user fails here more often than may be at once
        return code
    return request


def only(granted):
    return lambda method, path: REACHED[method, path] if (method, path) in granted else 403


def judge(service, callers):
    """What is wrong. All at once, for those who fail are answered late."""
    def wrong(who, request, expected):
        return [(who, method, path, got, expected(method, path)) for method, path in REACHED
                if (got := request(method, path)) != expected(method, path)]
    with concurrent.futures.ThreadPoolExecutor(len(callers)) as threads:
        found = [threads.submit(wrong, who, request, expected) for who, (request, expected) in callers.items()]
        return [one for each in found for one in each.result()]


def refused_by_pam(service, *kinds):
    return {kind: (user_of_pam(service, kind), always(401)) for kind in kinds}


# Those whom PAM refuses, and who would have a role.
REFUSED = [f"{kind}{i}" for kind in (*SHADOW, "absent") if kind != "right" for i in range(PER_KIND)]


def test_matrix_of_users_of_pam_with_roles():
    config = f'[roles]\npam_admin = ["alice"]\npam_user = {json.dumps(["bob", *REFUSED])}\n[access]\npam = true\n'
    with Service("optional", config, accounts=accounts()) as service:
        freeze(service)
        assert judge(service, refused_by_pam(service, "wrong", "locked", "expired", "outdated", "mustchange", "absent") | {
            "PAM admin": (user_of_pam(service, "alice"), for_admin), "PAM user": (user_of_pam(service, "bob"), for_user),
            "PAM, no role": (user_of_pam(service, "right"), always(401)), "root": (user_of_pam(service, "root"), always(401)),
            "nothing": (lambda method, path: send(service.tls(), method, path), always(400)),
            "admin's certificate": (lambda method, path: send(service.tls(service.admin), method, path), for_admin),
            "user's certificate, admin's password": (
                lambda method, path: send(service.tls(service.user), method, path, basic("alice", "alice").items()), for_user)}) == []


def test_matrix_of_users_of_pam_with_an_access_list():
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as acl:
        acl.write(ACL + "".join(f"g, {user}, user\n" for user in REFUSED))
        acl.flush()
        with Service("optional", f'[access]\npam = true\nacl = "{acl.name}"\n', accounts=accounts()) as service:
            freeze(service)
            assert judge(service, refused_by_pam(service, "wrong") | {
                "all": (user_of_pam(service, "alice"), for_admin), "RMD's user": (user_of_pam(service, "bob"), only(OF_RMDS_USER)),
                "RMD's admin": (user_of_pam(service, "carol"), only(OF_RMDS_ROOT)),
                "named like a role": (user_of_pam(service, "root"), always(401)),
                "named like another": (user_of_pam(service, "admin"), always(401)),
                "named like the least": (user_of_pam(service, "user"), always(401)),
                "in no line": (user_of_pam(service, "right"), always(401)),
                "user's certificate": (lambda method, path: send(service.tls(service.user), method, path), for_user)}) == []


# Connections from before a reload: one for each request, for each is the last one of its connection.

def kept_connections(service, certificate):
    def kept():
        connection = service.tls(certificate)
        connection.request("GET", "/v1/health")
        assert connection.getresponse().read()
        return connection
    return {key: kept() for key in REACHED}


def by_kept(connections):
    return lambda method, path: send(connections[method, path], method, path)


def test_matrix_of_connections_from_before_a_reload_that_trusts_them_no_more():
    with Service() as service:
        freeze(service)
        admin, user = kept_connections(service, service.admin), kept_connections(service, service.user)
        replace_authority(service, Authority(tempfile.mkdtemp(dir=service.pki), "Other").path)
        assert judge(service, {"admin": (by_kept(admin), always(401)), "user": (by_kept(user), always(401))}) == []
        refused = audit(service, "METHOD=DELETE")
        assert refused and all("AUDIT_REFUSED" in line and "no longer trusted" in line for line in refused)


def test_matrix_of_connections_from_before_a_reload_that_still_trusts_them():
    with Service() as service:
        freeze(service)
        admin, user = kept_connections(service, service.admin), kept_connections(service, service.user)
        replace_authority(service, Authority(tempfile.mkdtemp(dir=service.pki), "Other").path, service.authority.path)
        assert judge(service, {"admin": (by_kept(admin), for_admin), "user": (by_kept(user), for_user)}) == []


def test_no_connection_makes_a_change_after_its_authority_was_revoked():
    with Service() as service:
        kept = [service.tls(service.admin) for _ in range(20)]
        for connection in kept:
            connection.request("GET", "/v1/health")
            connection.getresponse().read()
        replace_authority(service, Authority(tempfile.mkdtemp(dir=service.pki), "Other").path)
        body = json.dumps({"core_ids": ["4"], "cache": {"max": 2, "min": 2}})
        codes = [ask(connection, "POST", "/v1/workloads", body, {"Content-Type": "application/json"})[0] for connection in kept]
        assert codes == [401] * 20 and service.list() == []


def test_where_certificates_are_optional_a_request_without_one_is_a_401(lenient):
    for method, path in REACHED:
        assert send(lenient.tls(), method, path) == 401, (method, path)
        assert send(lenient.tls(lenient.user), method, path) == for_user(method, path)
    foreign = Authority(tempfile.mkdtemp(dir=lenient.pki), "Foreign")
    assert send(lenient.tls(foreign.sign("c.pem", name("Alice", "Admin"), CLIENT)), "GET", "/v1/node") == "no connection"


def test_the_daemon_checks_peer_credentials_even_with_a_world_writable_socket(service):
    os.chmod(service.socket, 0o666)
    try:
        assert as_process_of(ANYBODY, ANYBODY, [], service)("GET", "/v1/node") == 403
        assert as_process_of(ANYBODY, ANYBODY, [7, SOMEGROUP], service)("GET", "/v1/node") == 200
    finally:
        os.chmod(service.socket, 0o660)


def test_the_socket_is_for_root_and_the_group():
    with Service(group="games") as service:
        found = os.stat(service.socket)
        assert (found.st_mode & 0o777, found.st_uid, found.st_gid) == (0o660, 0, SOMEGROUP)
    with Service(group="no-such-group") as service:
        assert os.stat(service.socket).st_mode & 0o777 == 0o600
        assert as_process_of(ANYBODY, SOMEGROUP, [], service)("GET", "/v1/node") == "no connection"
        assert "ACCOUNT_NOT_FOUND" in service.journal()


def test_refusals_have_a_reason_in_both_styles(service):
    status, text, _ = ask(service.tls(service.user), "DELETE", "/v1/workloads/1")
    assert (status, text) == (403, 'User "Eli" is not authorized to access this resource\n')
    status, text, headers = ask(service.tls(service.user), "DELETE", "/v1/workloads/1", headers={"Accept": "application/json"})
    assert status == 403 and headers["Content-Type"] == "application/problem+json"
    assert json.loads(text)["code"] == "Forbidden"
    guest = service.authority.sign("reason.pem", name("Mallory", "Guests"), CLIENT)
    assert ask(service.tls(guest), "GET", "/v1/node")[:2] == (401, "OU: Guests is not authorized\n")


def audit(service, text):
    return [line for line in service.journal().splitlines() if "AUDIT_" in line and text in line]


def test_each_change_and_each_refusal_is_one_line_of_the_audit():
    with Service() as service:
        body = {"core_ids": ["4-7"], "cache": {"max": 2, "min": 2}}
        status, text, _ = ask(service.tls(service.admin), "POST", "/v1/workloads", json.dumps(body), {"Content-Type": "application/json"})
        assert status == 201
        path = "/v1/workloads/" + json.loads(text)["id"]
        assert ask(service.tls(service.user), "GET", path)[0] == 200
        assert ask(service.tls(service.user), "DELETE", path)[0] == 403
        assert ask(service.unix(), "DELETE", path)[0] == 200
        assert ask(service.unix(), "DELETE", path)[0] == 404
        made, = audit(service, "METHOD=POST")
        assert "AUDIT_CHANGE" in made and "USER=Alice" in made and "FROM=127.0.0.1:" in made and "STATUS=201" in made
        refused, deleted, missed = audit(service, "METHOD=DELETE")
        assert "AUDIT_REFUSED" in refused and "USER=Eli" in refused and "STATUS=403" in refused
        assert "USER=uid 0" in deleted and f"FROM=uid 0 pid {os.getpid()}" in deleted and "STATUS=200" in deleted
        assert "STATUS=404" in missed
        assert audit(service, "METHOD=GET") == []


def test_client_input_does_not_flood_the_journal():
    """Paths of 2 KB, as fast as they come: a day of them is bounded, and one client's leave others their lines."""
    with Service() as service:
        before = len(service.journal())
        connection = service.tls(service.user)
        for _ in range(300):
            connection.request("DELETE", "/v1/workloads/" + "x" * 2000)
            assert connection.getresponse().read()
        lines = audit(service, "AUDIT_REFUSED")
        assert 20 <= len(lines) <= 40 and max(map(len, lines)) < 1000
        assert len(service.journal()) - before < 40_000
        connection.request("DELETE", "/v1/workloads/other")
        connection.getresponse().read()
        other = service.authority.sign("other.pem", name("Bo", "User"), CLIENT)
        assert ask(service.tls(other, source="127.0.0.2"), "DELETE", "/v1/workloads/1")[0] == 403
        assert [line for line in audit(service, "AUDIT_REFUSED") if "USER=Bo" in line]


def test_refusals_of_many_clients_do_not_flood_the_journal():
    """All together have 50 lines at once and one more a second, however many addresses they come from."""
    with Service() as service:
        begun = time.monotonic()
        for i in range(6):
            connection = service.tls(service.user, source=f"127.0.0.{20 + i}")
            for _ in range(20):
                connection.request("DELETE", "/v1/workloads/1")
                assert connection.getresponse().read()
        assert 50 <= len(audit(service, "AUDIT_REFUSED")) <= 51 + (time.monotonic() - begun)


def test_a_web_page_gets_nothing_from_a_browser_that_has_a_certificate(service):
    """A page can only send what needs no permission of the server (CORS), and nrd gives none."""
    page = {"Origin": "https://page.example"}
    before = service.list()
    for method in ("DELETE", "PUT", "PATCH", "POST"):
        asked = {**page, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type"}
        status, _, headers = ask(service.tls(service.admin), "OPTIONS", "/v1/workloads", headers=asked)
        assert status == 405 and not [name for name in headers if name.startswith("Access-Control-")]
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        for path in ("/v1/workloads", "/v1/onload/drain", "/v1/onload/undrain"):
            body = json.dumps({"core_ids": ["4"], "cache": {"max": 1, "min": 1}})
            assert ask(service.tls(service.admin), "POST", path, body, {**page, **({"Content-Type": kind} if kind else {})})[0] == 415
    assert not [name for name in ask(service.tls(service.admin), "GET", "/v1/workloads", headers=page)[2]
                if name.startswith("Access-Control-")]
    assert service.list() == before


def test_a_local_user_cannot_read_the_state(service):
    for path in (service.state, os.path.join(service.state, "nrd.db")):
        read = subprocess.run(["/usr/bin/cat" if path.endswith("db") else "/usr/bin/ls", path], user=ANYBODY, group=ANYBODY,
                              extra_groups=[], capture_output=True, text=True)
        assert read.returncode != 0 and "Permission denied" in read.stderr


def test_plain_text_on_the_tls_port_gets_an_explanation(service):
    with socket.create_connection(("127.0.0.1", service.tls_port), timeout=10) as client:
        client.sendall(b"GET /v1/node HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while piece := client.recv(4096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ") and b"Client sent an HTTP request to an HTTPS server." in answer


def test_the_socket_of_a_running_daemon_is_not_taken_over(service):
    second = subprocess.run(service.sim.inside([NRD, "--config", "/dev/null", "--state-dir", os.path.join(service.folder, "second"),
                                             "--unix-socket", service.socket]), capture_output=True, text=True, timeout=60)
    assert second.returncode == 1 and "another process is listening there" in second.stderr
    assert send(service.unix(), "GET", "/v1/node") == 200
