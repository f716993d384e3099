"""nrdctl beside the other programs of a host: systemd, tuned, irqbalance."""

import os
import re
import subprocess

from harness import NRDCTL, process
from masks import cpus_of
from nrdctl import nrdctl, run_nrdctl
from shared_node import node, shared  # noqa: F401
from system_bus import SystemBus
from systemd import Systemd


def isolated_by_the_kernel():
    found = set()
    for name in ("isolated", "nohz_full"):
        try:
            with open(f"/sys/devices/system/cpu/{name}") as file:
                text = file.read().strip()
        except OSError:
            continue
        found |= numbers(text)  # some kernels say "(null)"
    return found


def numbers(text):
    return cpus_of(*re.findall(r"\d+(?:-\d+)?", text))


def test_irqbalance_is_kept_off_the_cpus_of_all_workloads(node):
    assert nrdctl(node, "export", "irqbalance").splitlines() == ["# no workload has CPUs", "#IRQBALANCE_BANNED_CPULIST="]
    node.create("4-7,^6", 1, 1)
    node.create("9", 1, 1)
    line = nrdctl(node, "export", "irqbalance")
    assert line.startswith("IRQBALANCE_BANNED_CPULIST=") and numbers(line) == {4, 5, 7, 9} | isolated_by_the_kernel()
    sourced = subprocess.run(["sh", "-euc", line + 'printf %s "$IRQBALANCE_BANNED_CPULIST"'], capture_output=True, text=True)
    assert numbers(sourced.stdout) == numbers(line)


def test_tuned_spares_the_processes_of_owners(node, tmp_path):
    assert "[scheduler]" not in nrdctl(node, "export", "tuned")
    # For programs on the node, the owner is in a cgroup, whichever one this test runs in.
    (tmp_path / "cgroup").write_text("0::/feed.slice/feed@1.service\n")
    with process() as owner:
        node.sim.run_inside(["mount", "--bind", str(tmp_path / "cgroup"), f"/proc/{owner.pid}/cgroup"])
        node.create("4-5", 1, 1, owner={"pid": owner.pid})
        node.create("9", 1, 1, name="feed")
        text = node.sim.run_inside([NRDCTL, "--socket", node.socket, "export", "tuned"]).stdout
    assert "\n[scheduler]\nisolated_cores=4-5,9\n" in text
    assert re.search(r"^# workload \d+ \(feed\): processes unknown", text, re.M)
    blacklist = re.search(r"^cgroup_ps_blacklist=(.*)$", text, re.M)[1]
    spares = {cgroup: bool(re.search(blacklist, f"11:pids:/x,0::{cgroup}")) for cgroup in (  # as tuned applies it
        "/feed.slice/feed@1.service", "/feed.slice/feed@1.service/below", "/feed.slice/feed@1.service2", "/other.slice/other.service")}
    assert list(spares.values()) == [True, True, False, False], (blacklist, spares)


def test_a_service_owns_a_workload(node, tmp_path):
    systemd = Systemd()
    with process() as main, SystemBus(tmp_path, systemd.answer) as address:
        systemd.add("feed@1.service", main.pid)
        nrdctl(node, "workload", "create", "--cpus", "4", "--ways", "1", "--owner", "feed@1.service", DBUS_SYSTEM_BUS_ADDRESS=address)
        assert node.list()[0]["owner"]["pid"] == main.pid
        refused = nrdctl(node, "workload", "create", "--cpus", "5", "--ways", "1", "--owner", "other.service", exit=1, DBUS_SYSTEM_BUS_ADDRESS=address)
        assert refused.startswith("nrdctl: --owner: other.service has no main process")


def test_an_owner_is_a_process_or_a_service(node):
    create = ["workload", "create", "--cpus", "4", "--ways", "1", "--owner"]
    for wrong in ("feed", "0", ".service", "feed.socket", "a/b.service"):
        assert f"{wrong}: expected a process ID, a service such as feed.service, or cgroup" in nrdctl(node, *create, wrong, exit=2)
    unreachable = nrdctl(node, *create, "feed.service", exit=1, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={os.devnull}/none")
    assert "cannot ask systemd for the main process of feed.service" in unreachable
    remote = run_nrdctl("--url", f"http://127.0.0.1:{node.port}", *create, "feed.service")
    assert remote.returncode == 2 and "--owner: a service belongs to this host" in remote.stderr
    assert node.list() == []
