"""Clients at once. Run with ThreadSanitizer as well."""

import threading

from harness import Node, Refused


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


def test_of_eight_clients_that_want_one_cpu_exactly_one_gets_it():
    with Node() as node:
        for _ in range(10):
            outcomes = at_once(8, lambda _: node.create("4", 1, 1))
            won = [outcome for outcome in outcomes if isinstance(outcome, dict)]
            assert len(won) == 1, outcomes
            for outcome in outcomes:
                if outcome is won[0]:
                    continue
                assert isinstance(outcome, Refused) and outcome.status == 400
                assert outcome.text == ("Failed to validate workload. Reason: Workload validation in database failed. "
                                        "Details: CPU list [4] has been assigned\n")
            node.assert_consistent({won[0]["id"]})
            node.delete(won[0]["id"])


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
