"""kill -9 at random moments under eight clients. NRD_KILL_ROUNDS (30) rounds; NRD_KILL_SEED repeats a run."""

import http.client
import os
import random
import threading
import time

from harness import Node, Refused, use_all_cpus, wait_for

use_all_cpus()
CLIENTS = 8
MOST_ANSWERS = 20  # before a kill
ASKS = [(1, 1, 4), (0, 0, None), (3, 1, None), (2, 2, 2)]  # max, min, ways of L2


def l2_request(ask):
    return {"ways": ask[2]} if ask[2] else None


class Client(threading.Thread):
    """Creates, patches and deletes workloads on its own CPU until the daemon is gone, and remembers the answers."""

    def __init__(self, node, index, owned, seed):
        super().__init__()
        self.node, self.index, self.random = node, index, random.Random(seed)
        self.owned = dict(owned)  # acknowledged and not deleted: what was asked for by id
        self.unsure = None        # what was not answered: ("create", None, ask), ("patch", id, ask), ("delete", id, None)
        self.answers = 0
        self.wrong = None

    def run(self):
        while self.unsure is None and self.wrong is None:
            id = self.random.choice(sorted(self.owned)) if self.owned else None
            ask = self.random.choice(ASKS)
            doing = "create" if id is None else self.random.choice(["patch", "delete"])
            try:
                self.do(doing, id, ask)
                self.answers += 1
            except Refused as refused:
                if refused.status not in (409, 503):
                    self.wrong = refused
            except (OSError, http.client.HTTPException):
                self.unsure = (doing, id, ask)
            except Exception as error:  # noqa: BLE001 - the test looks at it
                self.wrong = error

    def do(self, doing, id, ask):
        if doing == "create":
            self.owned[self.node.create(str(self.index), ask[0], ask[1], l2=l2_request(ask))["id"]] = ask
        elif doing == "patch":
            self.node.call("PATCH", f"/v1/workloads/{id}", {"cache": {"max": ask[0], "min": ask[1]}, "l2": l2_request(ask)})
            self.owned[id] = ask
        else:
            self.node.delete(id)
            del self.owned[id]

    def assert_answers_hold(self, found):
        """Answered requests took effect; the unanswered one took effect completely or not at all."""
        assert self.wrong is None, self.wrong
        if found == self.owned:
            return
        doing, id, ask = self.unsure
        if doing == "create":
            [new] = set(found) - set(self.owned)
            assert found == {**self.owned, new: ask}
        elif doing == "patch":
            assert found == {**self.owned, id: ask}
        else:
            assert found == {other: was for other, was in self.owned.items() if other != id}


def await_answers(clients, number):
    wait_for(lambda: sum(client.answers for client in clients) >= number or any(client.wrong for client in clients), "answers")


def found_by_client(node):
    found = [{} for _ in range(CLIENTS)]
    for workload in node.list():
        found[int(workload["core_ids"][0])][workload["id"]] = (workload["cache"]["max"], workload["cache"]["min"],
                                                                workload.get("l2", {}).get("ways"))
    return found


def test_acknowledged_workloads_survive_every_kill():
    rounds = int(os.environ.get("NRD_KILL_ROUNDS", "30"))
    seed = int(os.environ.get("NRD_KILL_SEED", time.time_ns() % 1_000_000))
    print(f"NRD_KILL_SEED={seed}")
    dice = random.Random(seed)
    answers = 0
    with Node(config="[cache_pools]\nshrink = true\n", start=False, l2_cat=True, l2_cpus=2) as node:
        owned = [{} for _ in range(CLIENTS)]
        node.start()
        for turn in range(rounds):
            clients = [Client(node, index, owned[index], dice.random()) for index in range(CLIENTS)]
            for client in clients:
                client.start()
            await_answers(clients, dice.randint(0, MOST_ANSWERS))
            time.sleep(dice.uniform(0.0, 0.02))  # somewhere in the next change
            node.kill9()
            for client in clients:
                client.join()
            if dice.random() < 0.25:
                node.sim.control("wipe")  # a power cut
            node.start()
            owned = found_by_client(node)
            for client in clients:
                client.assert_answers_hold(owned[client.index])
            node.assert_consistent([id for mine in owned for id in mine])
            answers += sum(client.answers for client in clients)
        print(f"{rounds} rounds, {answers} answers")
        assert answers > rounds
