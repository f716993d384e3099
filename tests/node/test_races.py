"""Clients at once. Run with ThreadSanitizer as well."""

import http.client
import os
import threading

import pytest
from harness import Node, Refused, use_all_cpus, wait_for
from unix_clients import Client

use_all_cpus()

NEWS = 9  # a group of every Debian
RUN_BY_NEWS = """
[drift]
interval_seconds = 0
[[server.sockets]]
path = "/run/nrd/nrd.sock"
run = ["@news"]
"""


def at_once(count, act):
    barrier, outcomes, threads = threading.Barrier(count), [None] * count, []

    def run(index):
        barrier.wait()
        try:
            outcomes[index] = act(index)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            outcomes[index] = error

    for index in range(count):
        threads.append(threading.Thread(target=run, args=(index,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.mark.parametrize("clients", [2, 8])
def test_of_clients_that_request_one_cpu_exactly_one_gets_it(clients):
    with Node() as node:
        for _ in range(10):
            outcomes = at_once(clients, lambda _: node.create(["3-4"], 1, 1))
            won = [outcome for outcome in outcomes if isinstance(outcome, dict)]
            assert len(won) == 1, outcomes
            for outcome in outcomes:
                if outcome is won[0]:
                    continue
                assert isinstance(outcome, Refused) and outcome.status == 400, outcome
                assert outcome.text == ("Failed to validate workload. Reason: Workload validation in database failed. "
                                        "Details: CPU list [3 4] has been assigned\n")
            node.assert_consistent({won[0]["id"]})
            node.delete(won[0]["id"])
        node.assert_consistent(set())
        assert node.terminate() == 0, node.journal()


@pytest.mark.parametrize("method, body", [("DELETE", None), ("PATCH", {"name": "mine"})])
def test_a_request_that_waits_changes_nothing_that_another_process_is_given_meanwhile(method, body):
    """Of a client with the role run, whose workload an administrator gives to another process: a slow change."""
    feed = {"core_ids": ["4"], "cache": {"max": 2, "min": 2}}
    with Node(RUN_BY_NEWS) as node:
        os.chmod(node.folder, 0o711)
        with Client(node.socket, group=NEWS) as first, Client(node.socket, group=NEWS) as second:
            assert first.request("PUT", "/v1/workloads/feed", {**feed, "owner": {"caller": True}})[0] == 201
            node.sim.control("reset")
            node.sim.control("fault write 1 delay 3000")
            given = {**feed, "cache": {"max": 3, "min": 3}, "owner": {"pid": second.pid}}
            change = threading.Thread(target=node.request, args=("PUT", "/v1/workloads/feed", given))
            change.start()
            wait_for(lambda: node.sim.writes() > 0, "the write to begin")
            first.send(method, "/v1/workloads/feed", body)
            change.join()
            assert first.answer()[0] == 404
            status, left = second.request("GET", "/v1/workloads/feed")
            assert (status, left["owner"]["pid"], left.get("name")) == (200, second.pid, None)


def test_clients_that_create_read_and_delete_at_once_leave_nothing_behind():
    with Node(ways=20, closids=16) as node:
        def work(index):
            for _ in range(15):
                id = node.create(str(index), 1, 1)["id"]
                assert any(workload["id"] == id for workload in node.list())
                node.delete(id)
            return True
        assert at_once(8, work) == [True] * 8
        node.assert_consistent(set())
        assert node.terminate() == 0, node.journal()


def test_a_stop_under_load_answers_begun_requests_and_keeps_acknowledged_ones():
    with Node(ways=20, closids=16) as node:
        created, deleted, unanswered = [set() for _ in range(8)], [set() for _ in range(8)], [None] * 8
        first = threading.Barrier(9)

        def work(index):
            created[index].add(node.create(str(index), 1, 1)["id"])
            first.wait()
            while True:
                there = created[index] - deleted[index]
                try:
                    if there:
                        unanswered[index] = id = there.pop()
                        node.delete(id)
                        deleted[index].add(id)
                    else:
                        unanswered[index] = "create"
                        created[index].add(node.create(str(index), 1, 1)["id"])
                    unanswered[index] = None
                except Refused as refused:
                    assert refused.status == 503 and refused.text == "The service is stopping.\n", refused
                    unanswered[index] = None
                    return True
                except (OSError, http.client.HTTPException):
                    return True

        def stop(_):
            first.wait()
            return node.terminate()

        outcomes = at_once(9, lambda index: work(index) if index < 8 else stop(index))
        assert outcomes == [True] * 8 + [0], (outcomes, node.journal())
        held = node.plain()
        node.start()
        assert node.plain() == held
        for index in range(8):
            found = {workload["id"] for workload in node.list() if workload["core_ids"] == [str(index)]}
            sure = created[index] - deleted[index]
            if unanswered[index] is None:
                assert found == sure
            elif unanswered[index] == "create":
                assert sure <= found and len(found - sure) <= 1
            else:
                assert found in (sure, sure - {unanswered[index]})
        node.assert_consistent()
