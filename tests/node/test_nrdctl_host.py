"""nrdctl beside the other programs of a host: systemd, tuned, irqbalance."""

import os
import re
import subprocess

from harness import process
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


def test_tuned_spares_the_processes_of_owners(node):
    assert "[scheduler]" not in nrdctl(node, "export", "tuned")
    with process() as owner:
        node.create("4-5", 1, 1, owner={"pid": owner.pid})
        node.create("9", 1, 1, name="feed")
        text = nrdctl(node, "export", "tuned")
        with open(f"/proc/{owner.pid}/cgroup") as file:
            hierarchies = ",".join(file.read().splitlines())
    assert "\n[scheduler]\nisolated_cores=4-5,9\n" in text
    assert re.search(r"^# workload \d+ \(feed\): processes unknown", text, re.M)
    blacklist = re.search(r"^cgroup_ps_blacklist=(.*)$", text, re.M)
    if blacklist:  # as tuned applies it; without it the test runs in the root cgroup
        expressions = re.split(r"(?<!\\);", blacklist[1])
        assert any(re.search(each, hierarchies) for each in expressions)
        assert not any(re.search(each, "0::/other.slice/other.service") for each in expressions)
    else:
        assert all(line.endswith(":/") for line in hierarchies.split(",") if line.startswith(("0:", "1:name=systemd")))


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
