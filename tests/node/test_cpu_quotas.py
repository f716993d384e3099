"""Quotas of CPUs for users with the role run, each with real users."""

import contextlib
import os

from cpu_pools import LARGE, POOLS, patch, post
from harness import Node, wait_for
from masks import cpus_of
from nrdctl import run
from unix_clients import Client

# Who may take CPUs, and how many. The flag --unix-socket replaces the path.
QUOTAS = """
[[server.sockets]]
path = "/run/nrd/nrd.sock"
run = ["daemon", "@games", "@news"]
[cpu.quotas]
daemon = {pools = ["fast"], count = 3}
"@games" = {pools = ["fast", "common"], count = 2}
"""
DAEMON, GAMES, NEWS = 1, 60, 9  # a user and two groups of every Debian


class Owner(Client):
    """Its workloads belong to it, unless it names another process."""

    def __init__(self, node, *user, **groups):
        os.chmod(node.folder, 0o711)
        super().__init__(node.socket, *user, **groups)

    def send(self, method, path, body=None):
        super().send(method, path, {"owner": {"pid": self.pid}, **body} if method == "POST" else body)

    def take(self, pool="fast", query="", **cpu):
        return self.request("POST", f"/v1/workloads{query}", {"cpu": {"pool": pool, **cpu}})

    def is_refused(self, field, detail, pool="fast", query="", **cpu):
        status, problem = self.take(pool, query, **cpu)
        return (status, problem["code"], problem["field"]) == (403, "Forbidden", field) and detail in problem["detail"]


def test_a_user_takes_no_more_cpus_than_its_quota():
    with Node(LARGE + QUOTAS) as node:
        with Owner(node, DAEMON) as first, Owner(node, DAEMON) as second:
            status, workload = first.take(count=2)
            assert status == 201 and len(cpus_of(workload["cpu"]["exclusive"])) == 2, workload
            too_many = "daemon has 2 of 3 CPUs of pools; 2 more were requested"
            for client in (first, second):
                assert client.is_refused("/cpu/count", too_many, count=2)
                assert client.is_refused("/cpu/count", too_many, query="?dry_run=true", count=2)
                assert client.is_refused("/cpu/cpus", too_many, cpus="14-15")
            status, problem = first.request("POST", "/v1/workloads", {"core_ids": ["14-15"], "cache": {"max": 2, "min": 2}})
            assert (status, problem["field"]) == (403, "/core_ids"), problem
            for query in ("", "?dry_run=true"):
                status, problem = first.request("PATCH", f"/v1/workloads/{workload['id']}{query}", {"cpu": {"count": 4}})
                assert (status, problem["field"]) == (403, "/cpu/count") and "at most 3 CPUs" in problem["allowed"], problem
            status, problem = first.request("POST", "/v1/workloads", {"cpu": {"pool": "common"}, "task_ids": [str(first.pid)]})
            assert (status, problem["field"]) == (403, "/cpu/pool") and "may not take CPUs of pool common" in problem["detail"], problem
            assert second.take(count=1)[0] == 201
            assert second.is_refused("/cpu/count", "daemon has 3 of 3 CPUs of pools; 1 more was requested", count=1)
            # Other roles are not limited.
            assert len(cpus_of(patch(node, workload["id"], {"cpu": {"count": 4}})["cpu"]["exclusive"])) == 4
            assert post(node, {"cpu": {"pool": "fast", "count": 1}})["id"]
        wait_for(lambda: len(node.list()) == 1, "the workloads of the clients to go")
        with Owner(node, DAEMON) as client:
            assert client.take(count=3)[0] == 201


def test_groups_have_quotas_for_each_of_their_users():
    with Node(LARGE + QUOTAS) as node, Owner(node, groups=[GAMES]) as member, Owner(node, 3, NEWS, [GAMES]) as other, Owner(node, 4, NEWS) as guest:
        assert member.take(count=2)[0] == other.take(count=2)[0] == 201
        assert member.is_refused("/cpu/count", "uid 2 has 2 of 2 CPUs of pools; 1 more was requested", count=1)
        assert guest.is_refused("/cpu/pool", "uid 4 has no quota of CPUs of pools", count=1)
        assert guest.request("POST", "/v1/workloads", {"core_ids": ["0"], "cache": {"max": 2, "min": 2}})[0] == 201


def test_many_requests_at_once_do_not_exceed_a_quota():
    with Node(LARGE + QUOTAS) as node, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Owner(node, DAEMON)) for _ in range(8)]
        for client in clients:
            client.send("POST", "/v1/workloads", {"cpu": {"pool": "fast", "count": 1}})
        assert sorted(client.answer()[0] for client in clients) == [201] * 3 + [403] * 5
        assert len(node.list()) == 3


def test_a_quota_counts_after_kill_9_and_a_reload_changes_it():
    with Node(LARGE + QUOTAS) as node, Owner(node, DAEMON) as client:
        assert client.take(count=3)[0] == 201
        node.kill9_and_start()
        assert client.is_refused("/cpu/count", "daemon has 3 of 3 CPUs of pools", count=1)
        for old, new, status in (("count = 3", "count = 5", 200), ('{pools = ["fast"]', '{pools = ["fats"]', 400)):
            with open(node.config) as file:
                text = file.read()
            node.configure(text.replace(old, new))
            answer, text, _ = node.request("POST", "/v1/config/reload", {})
            assert answer == status and ("cpu.quotas" in text), text
        assert "daemon: there is no pool fats" in text
        assert client.take(count=2)[0] == 201
        assert client.is_refused("/cpu/count", "daemon has 5 of 5 CPUs of pools", count=1)


def test_a_command_over_quota_does_not_start():
    limited = QUOTAS.replace("count = 3", "count = 0")
    with Node(POOLS + limited.replace(', "common"', ""), sockets=1, cpus=2) as node:
        os.chmod(node.folder, 0o711)
        words = ("--pool", "fast", "--count", "1", "--", "echo", "started")
        done = run(node, *words, user=DAEMON, group=DAEMON, extra_groups=[])
        assert (done.returncode, done.stdout) == (77, "") and "--count: daemon has 0 of 0 CPUs of pools; 1 more was requested" in done.stderr, done
        done = run(node, *words, user=2, group=GAMES, extra_groups=[])
        assert (done.returncode, done.stdout) == (0, "started\n"), done
