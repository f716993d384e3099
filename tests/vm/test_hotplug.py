"""CPUs that come and go on a real kernel: its uevents tell the daemon, and registers are the witnesses.

The drift check is a day away, so every repair here follows an event. How long that takes says little: the processor is
emulated and the daemon may be sanitized. It is printed beside what a POST and a DELETE take in the same machine, and
may be LOOK_IN_CHANGES of these.
"""

import time

import pytest

from rdt_node import RdtNode, started
from shape import Shape

NEVER = "[drift]\ninterval_seconds = 86400\n"
CPUS = "2-3"  # all of the second cache
WINDOW = (10, 20)
ASKED = {"core_ids": [CPUS], "cache": {"max": 2, "min": 2}, "pstate": {"min_ratio": WINDOW[0], "max_ratio": WINDOW[1]}}
LOOK_IN_CHANGES = 3  # 0.7 was measured, with 400 ms for a POST and a DELETE (sanitized)
ROUNDS = 5

# Sets a CPU online and waits for its class, in the machine, so that the way there is not measured. Writes seconds.
BACK_IN_CLASS = """
import os, sys, time
cpu, wanted = int(sys.argv[1]), int(sys.argv[2])
with open(f"/sys/devices/system/cpu/cpu{cpu}/online", "w") as online:
    online.write("1")
begun = time.monotonic()
register = os.open(f"/dev/cpu/{cpu}/msr", os.O_RDONLY)
while int.from_bytes(os.pread(register, 8, 0xC8F), "little") >> 32 != wanted:
    if time.monotonic() - begun > 100:
        sys.exit("not within 100 s")
print(time.monotonic() - begun)
"""


class HotplugNode(RdtNode):
    def set(self, cpu, online):
        self.vm.write(f"/sys/devices/system/cpu/cpu{cpu}/online", f"{int(online)}\n")

    def back_in_class(self, cpu, wanted):
        return float(self.vm.run(["python3", "-c", BACK_IN_CLASS, str(cpu), str(wanted)], timeout=200).stdout)

    def class_of(self, cpu):
        return self.classes_of([cpu]).pop()

    def a_change(self):
        begun = time.monotonic()
        status, made = self.request("POST", "/v1/workloads", {"core_ids": ["1"], "cache": {"max": 1, "min": 1}})
        assert status == 201, made
        assert self.request("DELETE", f"/v1/workloads/{made['id']}")[0] == 200
        return time.monotonic() - begun


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(HotplugNode, tmp_path_factory, NEVER, cpu=Shape(sockets=2, cores=2, threads=1)) as node:
        yield node


@pytest.fixture
def granted(node):
    made = node.act("POST", "/v1/workloads", ASKED)
    yield made
    node.delete(made)


def test_a_cpu_that_comes_online_has_class_and_window_at_once(node, granted):
    of_workload = node.class_of(3)
    assert of_workload != 0 and node.window_of(3) == WINDOW
    looks, changes = [], []
    for _ in range(ROUNDS):
        node.set(3, False)
        looks.append(node.back_in_class(3, of_workload))
        node.vm.wait_until(lambda: node.window_of(3) == WINDOW, timeout=100, what="the window of CPU 3")
        changes.append(node.a_change())
    print("until the class was back:", looks, "a POST and a DELETE:", changes)
    node.assert_agree()
    assert node.get("/v1/health")["drift_repairs"] == 0
    assert min(looks) <= LOOK_IN_CHANGES * min(changes)


def test_a_cpu_that_goes_is_known_before_the_next_request(node):
    for _ in range(ROUNDS):
        node.set(3, False)
        status, refusal = node.request("POST", "/v1/workloads", ASKED)
        assert status == 400 and "offline" in str(refusal), refusal
        node.set(3, True)
        node.delete(node.act("POST", "/v1/workloads", ASKED))


def test_a_cache_whose_cpus_were_all_offline_gets_its_masks_again(node, granted):
    of_workload = node.class_of(3)
    for cpu in (2, 3):
        node.set(cpu, False)
    for cpu in (2, 3):
        node.set(cpu, True)
    for cpu in (2, 3):
        node.vm.wait_until(lambda: node.class_of(cpu) == of_workload, timeout=100, what=f"the class of CPU {cpu}")
    node.vm.wait_until(lambda: node.get("/v1/workloads")[0]["status"] == "Successful", timeout=100, what="the rest")
    node.assert_agree()
