"""kill -9 at random moments under eight clients. NRD_KILL_ROUNDS (30) rounds; NRD_KILL_SEED repeats a run."""

import http.client
import os
import random
import threading
import time

from harness import Node, Refused

CLIENTS = 8


class Client(threading.Thread):
    """Creates and deletes workloads on its own CPU until the daemon is gone, and remembers what it was told."""

    def __init__(self, node, index, owned, seed):
        super().__init__()
        self.node, self.index, self.random = node, index, random.Random(seed)
        self.owned = set(owned)   # acknowledged and not deleted
        self.unsure = None        # "create" or the id of a delete that was not answered

    def run(self):
        while self.unsure is None:
            doing = self.random.choice(sorted(self.owned)) if self.owned else "create"
            try:
                if doing == "create":
                    most, least = self.random.choice([(1, 1), (0, 0), (3, 1)])
                    self.owned.add(self.node.create(str(self.index), most, least)["id"])
                else:
                    self.node.delete(doing)
                    self.owned.discard(doing)
            except Refused as refused:
                assert refused.status in (409, 503), refused
            except (OSError, http.client.HTTPException):
                self.unsure = doing


def test_whatever_was_acknowledged_is_there_after_every_kill():
    rounds = int(os.environ.get("NRD_KILL_ROUNDS", "30"))
    seed = int(os.environ.get("NRD_KILL_SEED", time.time_ns() % 1_000_000))
    print(f"NRD_KILL_SEED={seed}")
    dice = random.Random(seed)
    with Node(config="[cache_pools]\nshrink = true\n", start=False) as node:
        owned = [set() for _ in range(CLIENTS)]
        for _ in range(rounds):
            node.start()
            listed = {w["id"]: int(w["core_ids"][0]) for w in node.list()}
            owned = [{id for id, cpu in listed.items() if cpu == index} for index in range(CLIENTS)]
            clients = [Client(node, index, owned[index], dice.random()) for index in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(dice.uniform(0.0, 0.4))  # the moment is what is random; nothing is waited for
            node.kill9()
            for client in clients:
                client.join()
            node.start()
            ids = {workload["id"]: int(workload["core_ids"][0]) for workload in node.list()}
            node.assert_consistent(ids)
            for client in clients:
                mine = {id for id, cpu in ids.items() if cpu == client.index}
                if client.unsure == "create":
                    assert client.owned <= mine and len(mine - client.owned) <= 1, (client.owned, mine)
                else:
                    assert mine in (client.owned, client.owned - {client.unsure}), (client.owned, mine)
            node.kill9()
