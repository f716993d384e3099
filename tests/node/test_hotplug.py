"""CPUs that come and go, as the kernel's uevents tell it: the real daemon on the simulated node.

The simulated node has a kernel of its own for files only. Uevents come from the real one, which sends on what root hands
to it as a message of its own, within one network namespace (uevent_net_rcv() in lib/kobject_uevent.c, since Linux 4.18).
So the daemon gets a network namespace, and is asked through its Unix socket.
"""

import ctypes
import signal
import socket
import struct
import threading

import pytest

from frequencies import BOTH, DEFAULT, window
from harness import Node, refusal, wait_for
from masks import cpus_of
from shared_node import node  # noqa: F401
from unix_clients import UnixConnection

NETLINK_KOBJECT_UEVENT, KERNEL_GROUP = 15, 1
CLONE_NEWNET = 0x40000000
NLM_F_REQUEST, NLMSG_MIN_TYPE = 1, 0x10
NEVER = "[drift]\ninterval_seconds = 3600\n"


def socket_in_namespace_of(pid):
    """A thread may be in another network namespace than its process, and a socket stays where it was made."""
    made = []

    def make():
        with open(f"/proc/{pid}/ns/net") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                return
        made.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    made[0].bind((0, 0))
    return made[0]


class HotplugNode(Node):
    def __init__(self):
        self.events = None
        super().__init__(NEVER, cpufreq="intel_pstate", min_over_max="clamp")

    def command(self, *flags):
        return ["unshare", "--net", "--", *super().command(*flags)]

    def connect(self, timeout):
        return UnixConnection(self.socket, timeout)

    def start(self):
        super().start()
        if self.events:
            self.events.close()
        self.events = socket_in_namespace_of(self.daemon.pid)

    def end(self):
        if self.events:
            self.events.close()
        return super().end()

    @staticmethod
    def message(action, cpu):
        path = f"/devices/system/cpu/cpu{cpu}"
        return f"{action}@{path}\0ACTION={action}\0DEVPATH={path}\0SUBSYSTEM=cpu\0".encode()

    def tell(self, action, cpu):
        """As the kernel does once `action` is through."""
        text = self.message(action, cpu)
        self.events.sendto(struct.pack("=IHHII", 16 + len(text), NLMSG_MIN_TYPE, NLM_F_REQUEST, 1, 0) + text, (0, 0))

    def forge(self, action, cpu):
        """The same by a process."""
        self.events.sendto(self.message(action, cpu), (0, KERNEL_GROUP))

    def set(self, cpu, to):
        self.sim.control(f"{to} {cpu}")
        self.tell(to, cpu)

    def online(self):
        return cpus_of(self.call("GET", "/v1/node")["cpus"]["online"])


@pytest.fixture(scope="module")
def shared():
    with HotplugNode() as node:
        yield node


def test_a_returning_cpu_gets_class_and_frequency_window_with_its_event(node):
    made = node.call("POST", "/v1/workloads", BOTH)
    granted = window(node, 5)
    assert granted != DEFAULT
    node.set(5, "offline")
    wait_for(lambda: 5 not in node.online(), "the event that CPU 5 went")
    node.set(5, "online")
    wait_for(lambda: cpus_of(node.plain()[made["cos_name"]][1]) == {4, 5}, "the class of CPU 5")
    wait_for(lambda: window(node, 5) == granted, "the window of CPU 5")
    wait_for(lambda: 5 in node.online(), "the state to say so")
    assert node.list()[0]["status"] == "Successful" and node.health()["drift_repairs"] == 0


def test_an_offline_cpu_is_known_before_the_next_request(node):
    for _ in range(20):
        node.set(5, "offline")
        refused = refusal(node.create, "4-5", 2, 2)
        assert refused.status == 400 and "offline" in str(refused)
        node.set(5, "online")
        node.delete(node.create("4-5", 2, 2)["id"])


def test_a_short_cpu_outage_is_not_counted_as_drift(node):
    made = node.create("4-5", 2, 2)
    node.sim.control("offline 5")
    node.sim.control("online 5")
    assert cpus_of(node.plain()[made["cos_name"]][1]) == {4}
    node.tell("offline", 5)
    node.tell("online", 5)
    wait_for(lambda: cpus_of(node.plain()[made["cos_name"]][1]) == {4, 5}, "the class of CPU 5")
    wait_for(lambda: "CPUS_CHANGED" in node.said(), "the line in the journal")
    assert node.health()["drift_repairs"] == 0


def test_an_event_that_comes_before_the_files_is_not_lost(node):
    made = node.create("4-5", 2, 2)
    node.set(5, "offline")
    wait_for(lambda: 5 not in node.online(), "the event that CPU 5 went")
    node.sim.control("online 5")
    node.sim.control("fault write 1 errno EIO")  # the first look fails; no second event comes
    node.tell("online", 5)
    wait_for(lambda: cpus_of(node.plain()[made["cos_name"]][1]) == {4, 5}, "the class of CPU 5")
    wait_for(lambda: node.health()["status"] == "ok", "the end of the problem")


def test_uevents_sent_by_processes_are_ignored(node):
    made = node.create("4-5", 2, 2)
    node.sim.control("offline 5")
    node.sim.control("online 5")
    for _ in range(100):
        node.forge("online", 5)
    # Requests look at the events first, so had they been taken, this one would have found the CPU, though it says no.
    assert refusal(node.create, "4", 1, 1)
    assert cpus_of(node.plain()[made["cos_name"]][1]) == {4} and "CPUS_CHANGED" not in node.said()
    node.tell("online", 5)
    wait_for(lambda: cpus_of(node.plain()[made["cos_name"]][1]) == {4, 5}, "the class of CPU 5")


def test_dropped_kernel_events_trigger_a_refresh(node):
    made = node.create("4-5", 2, 2)
    node.sim.control("offline 5")
    node.sim.control("online 5")
    node.daemon.send_signal(signal.SIGSTOP)
    try:
        for _ in range(5000):  # more than the socket's buffer takes, and none of them about a CPU
            node.tell("change", 5)
    finally:
        node.daemon.send_signal(signal.SIGCONT)
    wait_for(lambda: cpus_of(node.plain()[made["cos_name"]][1]) == {4, 5}, "the class of CPU 5")


def test_after_a_storm_of_events_all_is_as_granted(node):
    made = node.create("4-5", 2, 2)
    for _ in range(300):
        node.set(5, "offline")
        node.set(5, "online")
    wait_for(lambda: cpus_of(node.plain()[made["cos_name"]][1]) == {4, 5}, "the class of CPU 5")
    wait_for(lambda: node.health()["status"] == "ok", "the end of the problem")
    node.assert_consistent({made["id"]})
