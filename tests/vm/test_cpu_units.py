"""Scopes and units of a real systemd on a real kernel: the effective CPUs of their cgroups, and masks of real threads."""


import pytest

from pool_node import CGROUPS, SystemdNode, pooled
from rdt_node import started
from masks import cpus_of
from shape import Shape

SHAPE = Shape(threads=1)  # 2 sockets of 2 CPUs: each is emulated, and takes time of the others
CONFIG = pooled("0", "1-3", drift=1, tasks=1)
ALL = set(range(4))


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(SystemdNode, tmp_path_factory, CONFIG, cpu=SHAPE, systemd=True) as node:
        yield node


def unchanged(before, after):
    return {pid: mask for pid, mask in after.items() if pid in before} == {pid: mask for pid, mask in before.items() if pid in after}


def test_a_command_is_in_a_scope_with_its_cpus_whatever_mask_it_was_started_with(node):
    """Before Linux 6.2 enabling the controller for it would give all processes all CPUs."""
    node.service("pinned.service", "/bin/sleep infinity", "CPUAffinity=2")
    node.vm.run(["systemctl", "start", "pinned"])
    node.vm.wait_until(lambda: node.mask_of(node.main_of("pinned")) == {2}, what="CPUAffinity=")
    masks, tree = node.masks(), node.tree()
    # Without the reset of its mask by nrdctl, the command would have CPU 0, or from 6.2 on just what is left of it.
    process, workload = node.launch("--pool", "fast", "--count", "2", "--ways", "2", prefix=["taskset", "-c", "0,2"])
    scope, granted = f"/nrd.slice/nrd-{workload['id']}.scope", cpus_of(workload["cpu"]["exclusive"])
    assert workload["cpu"]["enforced"] == {"by": "scope", "name": f"nrd-{workload['id']}.scope", "effective": workload["cpu"]["exclusive"]}
    assert len(granted) == 2 and node.cgroup_of(process.pid) == scope
    assert node.effective(scope) == granted == node.mask_of(process.pid)
    assert unchanged(masks, node.masks())
    node.assert_agree()  # ways, too
    grown = node.act("PATCH", f"/v1/workloads/{workload['id']}", {"cpu": {"count": 3}})
    assert granted < node.effective(scope) == node.mask_of(process.pid) == cpus_of(grown["cpu"]["exclusive"])
    node.delete(workload)
    # systemd would disable the controller in nrd.slice a moment later, and Linux before 6.2 give the process all CPUs with that.
    node.vm.run(["systemctl", "daemon-reload"])
    assert node.effective(scope) == ALL and node.mask_of(process.pid) == {0, 2}
    node.end(process)
    node.vm.wait_until(lambda: node.scopes() == [], timeout=60, what="the end of the scope")
    assert unchanged(masks, node.masks()) and node.tree() == tree
    node.vm.run(["systemctl", "stop", "pinned"])


def test_a_service_has_its_cpus_through_restart_and_daemon_reload_and_its_own_afterwards(node):
    node.service("feed.service", "/bin/sleep infinity")
    masks = node.masks()
    made = node.act("POST", "/v1/workloads", {"unit": "feed.service", "cpu": {"count": 2}, "cache": {"max": 2, "min": 2}})
    granted, feed = cpus_of(made["cpu"]["exclusive"]), "/system.slice/feed.service"
    for _ in range(2):
        node.vm.run(["systemctl", "restart", "feed"])
        assert node.effective(feed) == granted == node.mask_of(node.main_of("feed"))
    node.vm.run("ln -s feed.service /run/systemd/system/input.service")
    node.vm.run(["systemctl", "daemon-reload"])
    assert node.effective(feed) == granted
    for other, status, text in (({"unit": "input.service"}, 400, "input.service is an alias of feed.service"), ({"cgroup": feed}, 409, "belongs to workload")):
        refused = node.request("POST", "/v1/workloads", {**other, "cache": {"max": 2, "min": 2}})
        assert refused[0] == status and text in str(refused[1]), refused
    node.vm.wait_until(lambda: str(node.main_of("feed")) in node.vm.read(f"/sys/fs/resctrl/{made['cos_name']}/tasks").split(), timeout=60, what="the task scan")
    grown = node.act("PATCH", f"/v1/workloads/{made['id']}", {"cpu": {"count": 3}})
    assert granted < node.effective(feed) == node.mask_of(node.main_of("feed")) == cpus_of(grown["cpu"]["exclusive"])
    assert node.get(f"/v1/workloads/{made['id']}")["cpu"]["enforced"] == {"by": "unit", "name": "feed.service", "effective": grown["cpu"]["exclusive"]}
    node.delete(made)
    assert node.effective(feed) == ALL == node.mask_of(node.main_of("feed")) and node.property_of("feed", "AllowedCPUs") == ""
    node.vm.run(["systemctl", "stop", "feed"])
    assert unchanged(masks, node.masks()) and node.get("/v1/workloads") == []


def test_a_cgroup_of_no_unit_has_its_cpus_beside_systemd(node):
    node.vm.run(f"echo +cpuset > {CGROUPS}/cgroup.subtree_control; mkdir {CGROUPS}/job")
    process = node.vm.spawn(["bash", "-c", f"echo $$ > {CGROUPS}/job/cgroup.procs; exec sleep infinity"])
    node.vm.wait_until(lambda: node.vm.read(f"/proc/{process.pid}/comm") == "sleep\n", timeout=60, what="the process in the cgroup")
    made = node.act("POST", "/v1/workloads", {"cgroup": "/job", "cpu": {"count": 2}})
    assert node.effective("/job") == cpus_of(made["cpu"]["exclusive"]) == node.mask_of(process.pid)
    node.vm.run(["systemctl", "daemon-reload"])
    assert node.effective("/job") == cpus_of(made["cpu"]["exclusive"])
    status, refused = node.request("POST", "/v1/workloads", {"cgroup": "/system.slice/vm-agent.service", "cpu": {"count": 1}})
    assert status == 409 and "vm-agent.service" in str(refused), refused
    node.delete(made)
    assert node.effective("/job") == ALL == node.mask_of(process.pid)
    node.end(process)
