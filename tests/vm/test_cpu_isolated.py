"""A boot with isolcpus=, beside a real systemd. A kernel before 6.2 lets every service that starts later run on the isolated
CPUs once the cpuset controller is enabled, unless the slices are limited to the others."""


import pytest

from pool_node import LONG, SystemdNode, pooled
from rdt_node import KERNEL, started
from masks import cpus_of
from shape import Shape

pytestmark = LONG
CONFIG = pooled("0", "isolated", "none", drift=1)
OTHERS, ISOLATED = {0, 1}, {2, 3}


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with started(SystemdNode, tmp_path_factory, CONFIG, cpu=Shape(threads=1), systemd=True, arguments="isolcpus=2-3") as node:
        yield node


def assert_no_service_is_isolated(node):
    node.service("later.service", "/bin/sleep infinity")
    node.vm.run(["systemctl", "restart", "later"])
    assert node.mask_of(node.main_of("later")) == OTHERS == node.mask_of(1)
    node.vm.run(["systemctl", "stop", "later"])


def end(node, process):
    node.end(process)
    node.vm.wait_until(lambda: node.get("/v1/workloads") == [], timeout=60, what="the end of the workload")


def test_commands_have_isolated_cpus_and_no_service_gets_them(node):
    assert_no_service_is_isolated(node)
    process, workload = node.launch("--pool", "fast", "--count", "1")
    granted = cpus_of(workload["cpu"]["exclusive"])
    assert granted < ISOLATED and node.mask_of(process.pid) == granted
    assert workload["cpu"]["enforced"]["by"] == ("affinity" if KERNEL == "6.1" else "scope")
    assert_no_service_is_isolated(node)
    end(node, process)


def test_a_unit_is_refused_where_the_kernel_would_give_up_isolcpus(node):
    node.service("feed.service", "/bin/sleep infinity")
    node.vm.run(["systemctl", "start", "feed"])
    status, answer = node.request("POST", "/v1/workloads", {"unit": "feed.service", "cpu": {"count": 1}})
    if KERNEL == "6.1":
        assert status == 422 and "isolcpus" in str(answer), answer
        assert "isolcpus" in str(node.get("/v1/health"))
    else:
        assert status == 201 and node.mask_of(node.main_of("feed")) == cpus_of(answer["cpu"]["exclusive"]), answer
        node.delete(answer)
    node.vm.run(["systemctl", "stop", "feed"])
    assert_no_service_is_isolated(node)


def test_slices_that_lack_the_isolated_cpus_let_scopes_have_them(node):
    node.vm.write("/run/nrd.toml", CONFIG.replace('"none"', '"slices"'))
    status, answer = node.request("POST", "/v1/config/reload", {})
    assert status in (200, 204), answer
    assert node.effective("/system.slice") == OTHERS
    assert_no_service_is_isolated(node)
    process, workload = node.launch("--pool", "fast", "--count", "1")
    granted = cpus_of(workload["cpu"]["exclusive"])
    assert workload["cpu"]["enforced"]["by"] == "scope" and node.mask_of(process.pid) == granted < ISOLATED
    assert_no_service_is_isolated(node)
    end(node, process)


def test_a_partition_with_isolated_cpus_is_refused(node):
    node.vm.write("/run/nrd.toml", CONFIG.replace('"none"', '"partition"'))
    status, answer = node.request("POST", "/v1/config/reload", {})
    assert status == 400 and "isolcpus" in str(answer), answer
    assert node.effective("/system.slice") == OTHERS
