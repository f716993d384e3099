"""Groups of others beside nrd's on a real kernel: groups that fill the ways of a guarantee are reported, exclusive ones are left
untouched, and the OS has the longest unassigned run of ways. tests/node has the same on the simulated node.
"""

import os

import pytest

from rdt_node import RESCTRL, RdtNode, started
from shape import Shape

OFTEN = "[drift]\ninterval_seconds = 1\n"
ALL = 0x7FFF  # 15 ways
WHEN = ["before the start", "after the start", "after the grant"]
VENDORS, KERNELS = ["Intel"], ["6.1"]
if os.environ.get("NRD_VM_LONG"):  # rdt/run
    VENDORS, KERNELS = ["Intel", "AMD"], ["6.1", "6.12"]


class Neighbour(RdtNode):
    def mkdir(self, name, ways=None, cpus=None):
        # EBUSY: the RMIDs of groups that were removed a moment ago cannot be used again yet.
        def is_made():
            made = self.vm.run(["mkdir", f"{RESCTRL}/{name}"], check=False)
            assert made.returncode == 0 or "busy" in made.stderr, made.stderr
            return made.returncode == 0
        self.wait_for(is_made, "an RMID")
        if ways:
            self.vm.write(f"{RESCTRL}/{name}/schemata", f"L3:0={ways:x}\n")
        if cpus:
            self.vm.write(f"{RESCTRL}/{name}/cpus_list", cpus + "\n")

    def rmdir(self, *names):
        self.vm.run(["rmdir", *(f"{RESCTRL}/{name}" for name in names)])

    def write_at_once(self, *commands):
        """What nrd sees all of or nothing: it takes a mask of the root class between two checks for the one to restore."""
        self.vm.run(["flock", RESCTRL, "/bin/bash", "-ec", "\n".join([f"cd {RESCTRL}", *commands])])

    def create(self, cpu, ways, least=None):
        least = ways if least is None else least
        answer = []

        def is_answered():  # where RMIDs are few, a class cannot be made for some seconds after others were removed
            answer[:] = self.request("POST", "/v1/workloads", {"core_ids": [str(cpu)], "cache": {"max": ways, "min": least}})
            return answer[0] != 503 or "RMID" not in answer[1]["detail"]
        self.wait_for(is_answered, "an RMID")
        status, made = answer
        assert status == 201, made
        return made

    def refused(self, cpu, ways):
        status, refusal = self.request("POST", "/v1/workloads", {"core_ids": [str(cpu)], "cache": {"max": ways, "min": ways}})
        assert status == 409, refusal
        return refusal["detail"]

    def remove(self, made):
        assert self.request("DELETE", f"/v1/workloads/{made['id']}")[0] == 200

    def mask(self, group=""):
        return int(self.groups()[group][1]["L3"][0], 16)

    def shared_with(self, made):
        workload = self.get(f"/v1/workloads/{made['id']}")
        assert workload["exclusive"] == (workload["shared_with"] == [])
        return workload["shared_with"]

    def takes_holes(self):
        """AMD's masks from Linux 6.7 on."""
        return self.get("/v1/node")["capabilities"]["l3_cat"]["sparse_masks"]

    def wait_for(self, condition, what):
        self.vm.wait_until(condition, timeout=60, what=what)


@pytest.fixture(scope="module", params=[(kernel, vendor) for kernel in KERNELS for vendor in VENDORS], ids=" ".join)
def running(request, tmp_path_factory):
    kernel, vendor = request.param
    shape = Shape(vendor=vendor, sockets=1, cores=4, threads=1, l3=15, clos=6)
    with started(Neighbour, tmp_path_factory, OFTEN, kernel, cpu=shape) as node:
        yield node


@pytest.fixture
def node(running):
    yield running
    if running.daemon.poll() is not None:
        running.start()
    for workload in running.get("/v1/workloads"):
        running.remove(workload)
    left, before = running.tree(), running.before
    if left != before:  # by a test that failed; the next test starts clean
        for group in filter(None, running.groups()):
            running.rmdir(group)
        running.vm.write(f"{RESCTRL}/schemata", f"L3:0={ALL:x}\n")
    assert left == before


def comes(node, when, acts):
    """Calls the act whose moment this is; the daemon is restarted for what comes before its start."""
    if when == "before the start":
        node.terminate()
    for moment in WHEN:
        if moment == "after the start" and when == "before the start":
            node.start()
        if moment == when:
            acts()
        if moment == "after the start":
            made = node.create(0, 2)
    return made


@pytest.mark.parametrize("when", WHEN)
def test_a_group_that_fills_guarantee_ways_is_reported(node, when):
    made = comes(node, when, lambda: node.mkdir("k8s", cpus="2"))
    node.wait_for(lambda: node.shared_with(made) == ["k8s"], "the group to be told")
    [foreign] = node.get("/v1/node")["caches"][0]["foreign"]
    assert (foreign["group"], foreign["cpus"], int(foreign["ways"]["mask"], 16)) == ("k8s", "2", ALL)
    assert any("k8s may fill the ways of workload" in text for text in node.get("/v1/health")["warnings"])
    node.vm.write(f"{RESCTRL}/k8s/schemata", "L3:0=6000\n")
    node.wait_for(lambda: node.shared_with(made) == [], "the narrower mask to be seen")
    node.rmdir("k8s")


@pytest.mark.parametrize("when", WHEN)
def test_ways_of_an_exclusive_group_are_not_ours(node, when):
    def lock():
        node.mkdir("locked", ways=0x7000)
        node.write_at_once(f"echo L3:0={node.mask() & 0xFFF:x} > schemata", "echo exclusive > locked/mode")

    made = comes(node, when, lock)
    granted = node.mask(made["cos_name"])
    assert granted.bit_count() == 2 and granted & 0x7000 == 0
    node.wait_for(lambda: node.mask() & 0x7000 == 0 and node.get("/v1/node")["caches"][0]["foreign"] != [], "the group to be seen")
    assert node.shared_with(made) == []
    beside = node.create(1, 3)
    assert node.mask(beside["cos_name"]) & (0x7000 | granted) == 0
    node.remove(beside)
    node.remove(made)
    assert node.mask() == 0xFFF
    # Who made the group took the ways from the OS.
    node.write_at_once("rmdir locked", f"echo L3:0={ALL:x} > schemata")


@pytest.mark.parametrize("when", WHEN)
def test_the_os_has_the_longest_unassigned_run(node, when):
    made = comes(node, when, lambda: node.mkdir("theirs", ways=0x700))

    def os_has_longest_run_beside(theirs):
        free = ALL & ~(theirs | node.mask(made["cos_name"]))
        most = free.bit_count() if node.takes_holes() else max(map(len, f"{free:b}".split("0")))
        mask, [cache] = node.mask(), node.get("/v1/node")["caches"]
        return (mask & ~free, mask.bit_count(), cache["idle"]["ways"]) == (0, most, free.bit_count() - most)

    node.wait_for(lambda: os_has_longest_run_beside(0x700), "the OS to leave the ways of the group")
    node.rmdir("theirs")
    node.wait_for(lambda: os_has_longest_run_beside(0), "the OS to have the ways of the group")


def test_classes_are_left_to_others(node):
    names = [f"g{number}" for number in range(5)]  # six classes, one is the root's
    for stopped in False, True:
        if stopped:
            node.terminate()
        for name in names:
            node.mkdir(name)
        if stopped:
            node.start()
        assert "other groups hold 5: g0, g1" in node.refused(0, 1)
        node.rmdir(names[0])
        made = node.create(0, 1)
        assert "nrd uses 1" in node.refused(1, 1)
        node.rmdir(*names[1:])
        node.remove(node.create(1, 1))
        node.remove(made)


def test_groups_left_by_pqos_count_as_free(node):
    node.vm.run(["pqos", "-I", "-s"])
    made = [node.create(cpu, 1) for cpu in range(4)]
    assert len({workload["cos_name"] for workload in made}) == 4
    # pqos makes a group of each class, of which the last is unused now.
    node.wait_for(lambda: len(node.groups()) == 5, "what was left over to be removed")


def test_resources_held_by_others_are_refused_and_returned(node):
    node.mkdir("k8s", cpus="2")
    status, refusal = node.request("POST", "/v1/workloads", {"core_ids": ["2"], "cache": {"max": 1, "min": 1}})
    assert status == 400, refusal
    assert refusal["detail"] == "CPU 2 belongs to resctrl group k8s, which nrd does not own"
    node.rmdir("k8s")
    node.remove(node.create(2, 1))


def test_only_root_can_open_the_tree_and_so_lock_it(node):
    locked = node.vm.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "flock", "--shared", RESCTRL, "true"], check=False)
    assert locked.returncode != 0 and "Permission denied" in locked.stderr
    assert node.vm.run(["stat", "-c", "%a", RESCTRL]).stdout == "700\n"
    node.remove(node.create(0, 1))
