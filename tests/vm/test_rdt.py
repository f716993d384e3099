"""The main job on a real kernel: after each act, what was answered, the tree of groups and the registers agree.

Each shape has a machine of its own, whose daemon serves all cases.
"""

import os

import pytest

from rdt_node import L3_MASK, RESCTRL, RdtNode, started
from shape import Shape

GUARANTEE = {"max": 2, "min": 2}
SHAPES = {"Intel": Shape(), "AMD": Shape(vendor="AMD")}
KERNELS = ["6.1"]
if os.environ.get("NRD_VM_LONG"):  # rdt/run
    KERNELS.append("6.12")
    for vendor in "Intel", "AMD":
        SHAPES |= {
            f"{vendor}, two L3 a socket": Shape(vendor=vendor, dies=2, cores=1),
            f"{vendor}, one socket of four L3": Shape(vendor=vendor, sockets=1, dies=4, cores=1),
            f"{vendor}, CDP": Shape(vendor=vendor, cdp=True),
            f"{vendor}, L3 and L2": Shape(vendor=vendor, l2=8),
            f"{vendor}, L3 and L2 with CDP": Shape(vendor=vendor, l2=8, cdp=True),
            f"{vendor}, L2 alone": Shape(vendor=vendor, l3=0, l2=8, mba=0),
            f"{vendor}, few classes and ids": Shape(vendor=vendor, clos=4, mba=0, rmid=4),
            f"{vendor}, no bandwidth and no ids": Shape(vendor=vendor, l3=20, mba=0, rmid=0),
            f"{vendor}, ways shared with devices": Shape(vendor=vendor, shared=0x600),
        }
    SHAPES |= {"Intel, no HWP": Shape(hwp=False), "Intel, no driver": Shape(hwp=False)}
# Linux turns L3 CAT off on every Skylake and Cascade Lake unless configured otherwise (rdt_quirks_intel).
ARGUMENTS = {"Intel, no HWP": "rdt=l3cat", "Intel, no driver": "rdt=l3cat intel_pstate=disable"}


def note_vendor(vm):
    """For the summary of ./test."""
    with open(os.environ["NRD_VENDORS"], "a") as file:
        file.write(vm.run(["grep", "-m1", "vendor_id", "/proc/cpuinfo"]).stdout)


@pytest.fixture(scope="module", params=[(kernel, name) for kernel in KERNELS for name in SHAPES], ids=" ".join)
def node(request, tmp_path_factory):
    kernel, name = request.param
    with started(RdtNode, tmp_path_factory, kernel=kernel, cpu=SHAPES[name], arguments=ARGUMENTS.get(name, "")) as node:
        note_vendor(node.vm)
        yield node


@pytest.fixture(autouse=True)
def all_is_given_back(node):
    yield
    for workload in node.get("/v1/workloads"):
        node.delete(workload)
    assert node.tree() == node.before


def needs(node, *keys):
    lacking = [key for key in keys if not getattr(node.vm.cpu, key)]
    if lacking:
        pytest.skip(f"the CPU has no {lacking[0]}")


def across_caches(node):
    """A CPU of each of the first two caches."""
    return ",".join(str(cpus[1]) for cpus in node.vm.cpu.caches[:2])


def test_a_workload_on_one_cache(node):
    needs(node, "l3")
    cpus = ",".join(map(str, node.vm.cpu.caches[0]))
    made = node.post(cpus, cache=GUARANTEE)
    assert [granted["ways"] for granted in made["granted_ways"].values()] == [2]
    assert node.patch(made, cache=GUARANTEE) == made
    assert [granted["ways"] for granted in node.patch(made, cache={"max": 3, "min": 3})["granted_ways"].values()] == [3]
    node.patch(made, core_ids=[cpus.split(",")[0]])
    node.delete(made)


def test_a_workload_on_two_caches_outlives_its_daemon(node):
    needs(node, "l3")
    made = node.post(across_caches(node), cache=GUARANTEE)
    assert len(made["granted_ways"]) == 2
    beside = node.post(str(node.vm.cpu.cpus - 1), cache={"max": 3, "min": 1})
    tree = node.tree()
    node.kill9()
    assert node.tree() == tree
    node.assert_registers_are_as_the_tree(node.groups())
    node.start()
    node.assert_agree()
    assert node.tree() == tree and node.get(f"/v1/workloads/{made['id']}") == made
    node.delete(made)
    node.delete(beside)


def test_tasks_run_in_the_class_of_their_workload(node):
    needs(node, "l3")
    cpu = node.vm.cpu.caches[1][0]
    busy = node.vm.spawn(f"exec taskset -c {cpu} python3 -c 'while True: pass'")
    status, made = node.request("POST", "/v1/workloads", {"task_ids": [str(busy.pid)], "cache": GUARANTEE})
    assert status == 201, made
    assert str(busy.pid) in node.vm.read(f"{RESCTRL}/{made['cos_name']}/tasks").split()
    # While it runs there, the register of its CPU is that of its class.
    [number] = node.vm.wait_until(lambda: node.classes_of([cpu]) - {0}, what="the class of the task")
    cache = node.cache_of(3)[cpu]
    register = L3_MASK + (2 if node.vm.cpu.cdp else 1) * number
    assert node.vm.msr(cpu, register) == int(made["granted_ways"][str(cache)]["mask"], 16)
    node.delete(made)
    assert node.classes_of([cpu]) == {0}
    busy.kill()
    busy.wait()


def test_memory_bandwidth_is_limited(node):
    needs(node, "l3", "mba")
    few, more = ({"mbps": 2000}, {"mbps": 16000}) if node.vm.cpu.vendor == "AMD" else ({"percentage": 20}, {"percentage": 60})
    made = node.post("1", rdt={"cache": GUARANTEE, "mba": few})
    assert list(made["granted_bandwidth"].values()) == [few]
    assert list(node.patch(made, rdt={"mba": more})["granted_bandwidth"].values()) == [more]
    node.delete(made)


def test_frequencies_are_held(node):
    before = node.window_of(1)
    slow, fast = ({"max_ratio": 8}, {"max_ratio": 15}) if node.has_steps() else ({"min_ratio": 9, "max_ratio": 20}, {"min_ratio": 12, "max_ratio": 30})
    made = node.post("2-3", pstate=slow)
    node.patch(made, pstate=fast)
    node.kill9()
    node.start()
    node.assert_agree()
    assert node.window_of(2) == node.window_of(3) != before
    node.delete(made)
    assert node.window_of(2) == node.window_of(3) == before


def test_ways_of_l2_beside_those_of_l3(node):
    needs(node, "l2", "l3")
    made = node.post("0-3", l2={"ways": 3})
    assert {granted["ways"] for granted in made["granted_l2_ways"].values()} == {3}
    node.patch(made, l2={"ways": 2})
    node.delete(made)


def test_ways_of_l2_alone(node):
    needs(node, "l2")
    if node.vm.cpu.l3:
        pytest.skip("the CPU has ways of L3")
    made = node.post("0-3", cache={"max": 3, "min": 3})
    assert {granted["ways"] for granted in made["granted_ways"].values()} == {3}
    node.patch(made, cache=GUARANTEE)
    node.delete(made)


def test_requests_that_do_not_fit_are_refused(node):
    needs(node, "l3")
    free = node.get("/v1/node")["classes"]
    for cpu in range(node.vm.cpu.cpus):
        node.act("POST", "/v1/workloads", {"core_ids": [str(cpu)], "cache": {"max": 3, "min": 3}}, expected=(201, 409))
    assert 0 < len(node.get("/v1/workloads")) < free["total"]


def test_workloads_stay_when_the_daemon_stops(node):
    needs(node, "l3")
    made = node.post("1", cache=GUARANTEE)
    tree = node.tree()
    node.terminate()
    assert node.tree() == tree
    node.assert_registers_are_as_the_tree(node.groups())
    node.start()
    node.delete(made)
