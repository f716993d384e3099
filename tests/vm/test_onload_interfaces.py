"""Onload's interfaces by the real daemon on a real kernel: the driver, names, routes, and what is wanted of single ones.

The cards are there for as long as the machine runs; interfaces come and go with their driver.
"""

import os

import pytest

from onload_node import CONFIG, LONG, NEW, OLD
from onload_stub import OnloadStub

NRDCTL = os.environ["NRDCTL"]
FIRST, SECOND = "enp1s0f0", "enp1s0f1"
MANAGED = {"sfc": "managed"}


@pytest.fixture
def vm(vm):
    """With cards without a driver."""
    OnloadStub(vm).insert_cards()
    return vm


def interfaces(node):
    return {interface["name"]: interface for interface in node.get("/v1/onload/interfaces")}


def turn(node, name, what, body):
    return node.request("PUT", f"/v1/onload/interfaces/{name}/{what}", body)


def condition(node, kind):
    return next(c for c in node.onload()["conditions"] if c["type"] == kind)


def load_driver_of_the_kernel(node):
    node.vm.run(["modprobe", "sfc"])
    node.vm.wait_until(lambda: [m["in_tree"] for m in node.get("/v1/onload/modules") if m["name"] == "sfc"] == [True],
                       what="nrd's next look, that sees the driver")


def test_a_driver_of_the_kernel_that_came_first_is_replaced(node):
    load_driver_of_the_kernel(node)
    operation = node.load(NEW, **MANAGED)
    assert ("remove", "sfc") in node.acts(operation) and ("insert", "sfc") in node.acts(operation)
    assert node.vm.read("/sys/module/sfc/version") == NEW + "\n"
    assert [interfaces(node)[name]["pci"] for name in (FIRST, SECOND)] == ["0001:00:00.0", "0001:00:00.1"]
    assert condition(node, "NicAvailable")["reason"] == "NoLink"
    node.vm.run(["ip", "link", "set", FIRST, "up"])
    node.vm.wait_until(lambda: node.condition("NicAvailable"), what="the interface that is up")
    for kind in ("Loaded", "VersionMatch", "UserspaceMatch", "ControlPlaneReady", "DevicesReady", "Verified"):
        assert condition(node, kind)["status"] == "True", condition(node, kind)


@LONG
@pytest.mark.parametrize("module", ["sfc", "onload"])
def test_a_driver_of_the_kernel_is_back_when_the_first_load_fails(node, module):
    load_driver_of_the_kernel(node)
    build = node.get("/v1/onload/modules/sfc")["build_id"]
    node.stub.arm(module, NEW, "fail_init=5")
    operation = node.run({"state": "loaded", "version": NEW, **MANAGED})
    assert (operation["outcome"], operation["cause"], operation["fallback"]) == ("rolled_back", "init_failed", 0), operation
    removed = ["sfc"] if module == "sfc" else ["sfc", "sfc_char", "sfc_resource", "sfc"]
    assert [subject for act, subject in node.acts(operation) if act == "remove"] == removed
    assert [subject for act, subject in node.acts(operation) if act == "insert"][-1] == "sfc"
    node.vm.wait_until(lambda: [m["build_id"] for m in node.get("/v1/onload/modules")] == [build], what="the driver of the kernel")


@LONG
def test_interface_settings_survive_an_upgrade_of_the_driver(node):
    node.vm.run("ip link show veth-a || ip link add veth-a type veth peer name veth-b")
    node.load(OLD, **MANAGED)
    assert turn(node, SECOND, "acceleration", {"enabled": False})[1]["accelerated"] is False
    assert turn(node, "veth-a", "afxdp", {"registered": True})[1]["af_xdp"] is True
    operation = node.load(NEW, **MANAGED)
    assert [before["name"] for before in operation["interfaces_before"]] == [FIRST, SECOND]
    assert {subject for act, subject in node.acts(operation) if act == "configure"} == {
        f"{SECOND}.acceleration", "veth-a.afxdp"}
    found = interfaces(node)
    assert [found[name]["accelerated"] for name in (FIRST, SECOND)] == [True, False]
    assert found["veth-a"]["af_xdp"] is True and found["veth-a"]["wanted"] == {"accelerated": None, "af_xdp": True}
    status, answer = turn(node, "veth-a", "afxdp", {"registered": False})
    assert status == 409 and "reloaded" in answer["detail"]
    assert node.run({"state": "unloaded"})["outcome"] == "succeeded"
    node.load(NEW)
    assert interfaces(node)["veth-a"]["af_xdp"] is False


@LONG
def test_interface_settings_are_applied_at_the_start_and_by_nrdctl(node):
    node.load(OLD, **MANAGED)
    done = node.vm.run([NRDCTL, "--socket", "/run/nrd.sock", "onload", "interfaces", "--accelerate", FIRST, "off"])
    assert next(line for line in done.stdout.splitlines() if line.startswith(FIRST + " ")).split()[-2:] == ["off", "off"]
    node.kill9()
    node.vm.write(f"/sys/class/net/{FIRST}/device/sfc_resource/enable", "1\n")
    node.start()
    node.vm.wait_until(lambda: interfaces(node)[FIRST]["accelerated"] is False, what="the switch")


@LONG
def test_an_interface_that_comes_back_is_registered_again(node):
    node.load(OLD)
    create = "ip link add veth-c address 02:00:00:00:00:0c type veth peer name veth-d"
    node.vm.run(create)
    assert turn(node, "veth-c", "afxdp", {"registered": True})[0] == 200
    node.vm.run(f"ip link del veth-c; {create}")
    node.vm.wait_until(lambda: interfaces(node)["veth-c"]["af_xdp"], what="the registration")
    node.vm.wait_until(lambda: node.condition("DeviceAccessOpen") and not node.condition("Drifted"), what="a node as wanted")
    node.vm.run("ip link del veth-c")


@LONG
def test_interfaces_that_come_back_under_other_names_turn_the_operation_back(node):
    node.load(OLD, **MANAGED)
    operation = node.run({"state": "loaded", "version": NEW, "parameters": {"sfc": {"phys_port_names": "Y"}}, **MANAGED})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "interface_changed")
    assert f"{FIRST} was renamed to {FIRST}np0" in operation["message"]
    assert node.vm.read("/sys/module/sfc/version") == OLD + "\n"
    assert {FIRST, SECOND} <= set(interfaces(node))
    assert condition(node, "Verified")["reason"] == "InterfaceChanged"
    node.assert_loaded(OLD)


def carry_default_route(node):
    node.vm.run(f"ip link set {FIRST} up; ip addr add 192.0.2.1/24 dev {FIRST}; ip route add default via 192.0.2.2")


def test_the_driver_below_the_default_route_stays(node):
    node.load(OLD, **MANAGED)
    carry_default_route(node)
    before = node.stub.servers()
    status, answer = node.request("PUT", "/v1/onload", {"state": "loaded", "version": NEW, **MANAGED})
    assert status == 409 and FIRST in answer["detail"] and "default route" in answer["detail"]
    assert node.stub.servers() == before
    node.load(NEW)  # without the driver
    assert node.vm.read("/sys/module/sfc/version") == OLD + "\n"


@LONG
def test_the_default_route_is_given_up_where_the_configuration_says_so(node):
    node.load(OLD, **MANAGED)
    carry_default_route(node)
    node.terminate()
    node.config = CONFIG + "protect_default_route = false\n"
    node.start()
    node.load(NEW, **MANAGED)
    assert node.vm.read("/sys/module/sfc/version") == NEW + "\n"
