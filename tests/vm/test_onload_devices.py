"""Owner and mode of Onload's device nodes by the real daemon on a real kernel."""

import time

import pytest

from onload_node import CONFIG, LONG, OLD

RESTRICTED = CONFIG + 'device_group = "daemon"\ndevice_mode = "0660"\n'
SLOW = {"onload": {"cplane_init_timeout": "20", "stub_server_params": "--stub-start-late=4000"}}


@pytest.fixture
def config():
    return RESTRICTED


def nodes(node):
    done = node.vm.run(["stat", "-c", "%U:%G %a", "/dev/onload", "/dev/onload_epoll", "/dev/sfc_char"], check=False)
    return set(done.stdout.splitlines())


@LONG
def test_only_permitted_users_may_open_the_devices_while_the_modules_are_verified(node):
    operation = node.want({"state": "loaded", "version": OLD, "parameters": SLOW})["operation"]
    deadline = time.monotonic() + 60
    while [step["act"] for step in node.get(f"/v1/onload/operations/{operation}")["steps"]][-1:] != ["verify"]:
        assert time.monotonic() < deadline
    assert nodes(node) == {"root:daemon 660"}
    assert node.get(f"/v1/onload/operations/{operation}")["outcome"] == "running"
    assert node.finished(operation)["outcome"] == "succeeded"
    assert nodes(node) == {"root:daemon 660"}


@LONG
def test_another_group_and_mode_hold_from_the_start_of_nrd_on(node):
    node.terminate()
    node.config = CONFIG
    node.start()
    node.load(OLD)
    assert nodes(node) == {"root:root 666"}
    node.terminate()
    node.config = RESTRICTED
    node.start()
    node.vm.wait_until(lambda: nodes(node) == {"root:daemon 660"}, what="the configured owner and mode")
    node.vm.wait_until(lambda: node.condition("DevicesReady"), what="the condition")
    assert node.request("POST", "/v1/onload/verify", {})[1]["verified"] is True
