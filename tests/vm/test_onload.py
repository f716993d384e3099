"""Onload's modules, from one state to another, by the real daemon on a real kernel with the stub's releases."""

import json
import os

import pytest

from onload_node import IMPORTS, LONG, NEW, NEWEST, OLD

NRDCTL = os.environ["NRDCTL"]


def test_load_twice_is_once(node):
    operation = node.load(OLD)
    assert node.acts(operation) == [("switch", OLD), ("insert", "sfc_resource"), ("insert", "sfc_char"), ("insert", "onload"),
                                    ("verify", ""), ("open_device_access", "")]
    node.assert_loaded(OLD)
    before = node.stub.servers()
    answer = node.want({"state": "loaded", "version": OLD}, status=200)
    assert answer == {"generation": 1, "operation": None}
    assert node.stub.servers() == before


def test_upgrade_and_downgrade(node):
    node.load(OLD)
    operation = node.load(NEW)
    assert [act for act, _ in node.acts(operation)] == [
        "close_device_access", "end_users", "stop_control_plane", "remove", "remove", "remove", "switch", "insert", "insert", "insert",
        "verify", "open_device_access"]
    node.assert_loaded(NEW)
    status, answer = node.request("POST", "/v1/onload/rollback", {})
    assert status == 202
    assert node.finished(answer["operation"])["outcome"] == "succeeded"
    node.assert_loaded(OLD)


def test_unload_is_confirmed(node):
    node.load(OLD)
    status, answer = node.request("DELETE", "/v1/onload")
    assert status == 202
    assert node.finished(answer["operation"])["outcome"] == "succeeded"
    node.assert_unloaded()
    assert node.request("POST", "/v1/onload/verify", {})[0] == 409


@pytest.mark.parametrize("module, errno, cause", [pytest.param("onload", 12, "out_of_memory", marks=LONG), ("sfc_resource", 2, "syscall_table"),
                                                  ("sfc_char", 5, "init_failed")])
def test_a_release_that_does_not_start_is_taken_back(node, module, errno, cause):
    node.load(OLD)
    node.stub.arm(module, NEW, f"fail_init={errno}")
    operation = node.run({"state": "loaded", "version": NEW})
    assert (operation["outcome"], operation["cause"], operation["fallback"]) == ("rolled_back", cause, 1)
    failed = next(step for step in operation["steps"] if step["progress"] == "failed")
    assert (failed["act"], failed["subject"]) == ("insert", module)
    if cause == "syscall_table":
        assert any("failed to find syscall table" in line for line in failed["kernel"])
    node.assert_loaded(OLD)
    assert node.onload()["effective_generation"] == 1
    assert node.get("/v1/onload/generations/2")["verdict"] == "failed"


@LONG
@pytest.mark.parametrize("release, cause", [("9.1.0-unknown-symbol", "unknown_symbol"), ("9.1.0-other-kernel", "wrong_kernel")])
def test_a_release_for_another_kernel_says_so(node, release, cause):
    node.load(OLD)
    node.install(release) if cause == "unknown_symbol" else None
    if cause == "wrong_kernel":
        node.vm.run(["mkdir", "-p", IMPORTS])
        node.vm.run(["cp", "-r", node.stub.tree(release), f"{IMPORTS}/{release}"])
        status, answer = node.request("POST", "/v1/onload/versions", {"name": release, "source": f"{IMPORTS}/{release}"})
        assert status == 400, answer
        return
    operation = node.run({"state": "loaded", "version": release})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", cause)
    node.assert_loaded(OLD)


@LONG
@pytest.mark.parametrize("device", ["onload", "onload_epoll", "sfc_char"])
def test_users_are_named_and_left_alone(node, device):
    node.load(OLD)
    holder = node.vm.spawn(["sh", "-c", f"exec 3</dev/{device}; exec sleep 1000"])
    node.vm.wait_until(lambda: node.get("/v1/onload/users")["users"], what="the user")
    status, answer = node.request("PUT", "/v1/onload", {"state": "loaded", "version": NEW})
    assert status == 409 and f"pid {holder.pid}" in answer["detail"], answer
    node.assert_loaded(OLD)
    holder.kill(9)
    holder.wait()


@LONG
@pytest.mark.parametrize("policy, ignores, outcome", [("wait", False, "rolled_back"), ("term", False, "succeeded"),
                                                      ("term", True, "rolled_back"), ("kill", True, "succeeded")])
def test_users_end_as_the_policy_says(node, policy, ignores, outcome):
    node.load(OLD)
    trap = "trap '' TERM; " if ignores else ""
    holder = node.vm.spawn(["sh", "-c", f"{trap}exec 3</dev/sfc_char; exec sleep 1000"])
    node.vm.wait_until(lambda: node.get("/v1/onload/users")["users"], what="the user")
    operation = node.run({"state": "loaded", "version": NEW, "users_policy": policy, "drain_seconds": 1})
    assert operation["outcome"] == outcome, operation
    assert (holder.poll() is None) == (outcome == "rolled_back")
    node.assert_loaded(OLD if outcome == "rolled_back" else NEW)
    if holder.poll() is None:
        holder.kill(9)
        holder.wait()


@LONG
def test_an_unexplained_reference_counts_as_use(node):
    node.load(OLD)
    node.stub.write_parameter("stub_extra_refs", "1")
    status, answer = node.request("PUT", "/v1/onload", {"state": "unloaded"})
    assert status == 409 and "unidentified users" in answer["detail"]
    node.stub.write_parameter("stub_extra_refs", "0")
    assert node.run({"state": "unloaded"})["outcome"] == "succeeded"


@LONG
def test_a_control_plane_server_that_does_not_listen_is_ended(node):
    node.load(OLD, parameters={"onload": {"stub_server_params": "--stub-ignore-sigterm"}})
    node.load(NEW)
    node.assert_loaded(NEW)


@LONG
def test_a_control_plane_server_that_never_comes_is_noticed(node):
    node.load(OLD)
    operation = node.run({"state": "loaded", "version": NEW, "parameters": {
        "onload": {"cplane_init_timeout": "2", "stub_server_params": "--stub-crash-after=1"}}})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "control_plane")
    node.assert_loaded(OLD)


@LONG
@pytest.mark.parametrize("fault, cause", [("hide_node=1", "device"), ("stub_wrong_version=Y", "interface")])
def test_faults_after_loading_are_detected(node, fault, cause):
    node.load(OLD)
    if cause == "interface":
        spec = {"state": "loaded", "version": NEW, "parameters": {"onload": {"stub_wrong_version": "Y"}}}
    else:
        node.stub.arm("onload", NEW, fault)
        spec = {"state": "loaded", "version": NEW}
    operation = node.run(spec)
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", cause)
    node.assert_loaded(OLD)


@LONG
def test_parameters_are_set_live_where_they_can_be(node):
    node.load(OLD)
    pids = node.vm.read("/proc/modules")
    operation = node.load(OLD, parameters={"onload": {"cplane_route_request_limit": "77"}})
    assert node.acts(operation) == [("set_parameter", "onload.cplane_route_request_limit"), ("verify", "")]
    assert node.stub.parameter("cplane_route_request_limit") == "77"
    assert [line.split()[0] for line in pids.splitlines()] == [line.split()[0] for line in node.vm.read("/proc/modules").splitlines()]


def test_a_frozen_node_refuses_changes(node):
    node.load(OLD)
    assert node.request("PUT", "/v1/onload/freeze", {"frozen": True, "reason": "trading"})[0] == 200
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"})[0] == 423
    node.assert_loaded(OLD)
    assert node.request("PUT", "/v1/onload/freeze", {"frozen": False})[0] == 200


@LONG
def test_foreign_changes_are_reported_and_not_reverted(node):
    node.load(OLD)
    node.stub.unload()
    node.vm.wait_until(lambda: node.condition("Drifted"), what="the drift")
    node.stub.load(NEWEST)
    node.vm.wait_until(lambda: node.onload()["version"] == NEWEST, what="the other release")
    assert node.condition("Drifted") and not node.condition("DeviceAccessOpen")
    node.load(OLD)
    node.assert_loaded(OLD)


@LONG
def test_of_two_concurrent_changes_one_is_accepted(node):
    node.load(OLD)
    node.stub.arm("onload", NEW, "slow_init_ms=1500")
    accepted = node.want({"state": "loaded", "version": NEW})
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"})[0] == 409
    assert node.finished(accepted["operation"])["outcome"] == "succeeded"
    node.assert_loaded(NEW)


@LONG
def test_a_version_that_is_needed_is_not_removed(node):
    node.load(OLD)
    assert node.request("DELETE", f"/v1/onload/versions/{OLD}")[0] == 409
    assert node.request("DELETE", f"/v1/onload/versions/{NEW}")[0] == 200
    assert [version["name"] for version in node.get("/v1/onload/versions")] == [OLD]


@LONG
def test_verify_finds_a_server_that_was_killed(node):
    node.load(OLD, parameters={"onload": {"cplane_init_timeout": "1"}})
    assert node.request("POST", "/v1/onload/verify", {})[1]["verified"] is True
    node.vm.run(["kill", "-9", str(node.stub.await_server())])
    found = node.request("POST", "/v1/onload/verify", {})[1]
    assert (found["verified"], found["cause"]) == (False, "control_plane")


@LONG
@pytest.mark.parametrize("step", range(1, 12))
def test_killed_in_the_middle_of_a_step_it_goes_on_at_the_next_start(node, step):
    """The daemon dies as soon as the operation has so many steps; test_onload_death.py kills it between them."""
    node.load(OLD)
    for module in ("sfc_resource", "sfc_char", "onload"):
        node.stub.arm(module, NEW, "slow_init_ms=300")
    operation = node.want({"state": "loaded", "version": NEW})["operation"]
    node.vm.wait_until(lambda: len(node.get(f"/v1/onload/operations/{operation}")["steps"]) >= step, what=f"step {step}")
    node.kill9()
    node.start()
    assert node.finished(operation)["outcome"] == "succeeded"
    node.assert_loaded(NEW)


@LONG
def test_after_a_power_cut_during_an_operation_it_is_completed(node):
    node.load(OLD)
    node.back_up()
    node.stub.arm("onload", NEW, "slow_init_ms=20000")
    operation = node.want({"state": "loaded", "version": NEW})["operation"]
    node.vm.wait_until(lambda: ("insert", "onload") in node.acts(node.get(f"/v1/onload/operations/{operation}")),
                       what="the insertion")
    node.vm.power_cut()
    node.restore()
    node.start()
    assert node.finished(operation)["outcome"] == "succeeded"
    node.assert_loaded(NEW)
    node.terminate()
    node.vm.reboot()
    node.restore()
    node.start()
    node.vm.wait_until(lambda: node.condition("DeviceAccessOpen"), timeout=60, what="Onload after the boot")
    node.assert_loaded(NEW)


def nrdctl(node, *words):
    return node.vm.run([NRDCTL, "--socket", "/run/nrd.sock", "onload", *words], timeout=180, check=False)


def test_nrdctl_shows_each_step_and_ends_as_the_operation_did(node):
    done = nrdctl(node, "load", OLD)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["done", "switch"], ["done", "insert"], ["done", "insert"], ["done", "insert"], ["done", "verify"], ["done", "open_device_access"],
        ["operation", "1"]]
    assert nrdctl(node, "load", OLD).stdout == "no change needed: generation 1\n"
    node.stub.arm("sfc_resource", NEW, "fail_init=2")
    failed = nrdctl(node, "load", NEW)
    assert failed.returncode == 1 and "syscall_table" in failed.stderr
    assert "failed to find syscall table" in failed.stdout
    assert "9.0.1.86" in nrdctl(node, "versions").stdout
    assert "DeviceAccessOpen   True" in nrdctl(node).stdout
    assert nrdctl(node, "freeze", "--reason", "trading").returncode == 0
    frozen = nrdctl(node, "unload")
    assert frozen.returncode == 1 and "trading" in frozen.stderr
    assert nrdctl(node, "thaw").returncode == 0
    assert nrdctl(node, "unload").returncode == 0
    node.assert_unloaded()


@LONG
def test_a_drained_node_admits_no_new_users_until_it_is_undrained(node):
    node.load(OLD)
    holder = node.vm.spawn(["sh", "-c", "exec 3</dev/sfc_char; exec sleep 1000"])
    node.vm.wait_until(lambda: node.get("/v1/onload/users")["users"], what="the user")
    done = nrdctl(node, "drain", "--users", "term", "--drain", "0")
    assert done.returncode == 0, done.stderr
    holder.wait()
    assert node.onload()["device_access"] == "drained" and not node.condition("Drifted")
    assert node.vm.run(["stat", "-c", "%a", "/dev/onload"]).stdout.strip() == "0"
    assert node.stub.parameter("cplane_spawn_server") == "Y"
    status, answer = node.request("POST", "/v1/onload/allocations", {"owner": {"pid": 1}})
    assert status == 503 and "drained" in answer["detail"]
    node.kill9()
    node.start()
    assert node.onload()["device_access"] == "drained"
    operation = node.run({"state": "loaded", "version": NEW})
    assert operation["outcome"] == "succeeded" and "open_device_access" not in [act for act, _ in node.acts(operation)]
    assert node.vm.run(["stat", "-c", "%a", "/dev/onload"]).stdout.strip() == "0"
    assert nrdctl(node, "undrain").returncode == 0
    node.assert_loaded(NEW)


@LONG
def test_an_operation_that_waits_for_users_can_be_planned_watched_and_cancelled(node):
    node.load(OLD)
    holder = node.vm.spawn(["sh", "-c", "exec 3</dev/sfc_char; exec sleep 1000"])
    node.vm.wait_until(lambda: node.get("/v1/onload/users")["users"], what="the user")
    spec = {"state": "loaded", "version": NEW, "users_policy": "wait", "drain_seconds": 600}
    status, planned = node.request("PUT", "/v1/onload?dryRun=true", spec)
    assert status == 200 and planned["ok"]
    assert [step["act"] for step in planned["steps"]] == [
        "close_device_access", "end_users", "stop_control_plane", "remove", "remove", "remove", "switch", "insert", "insert", "insert",
        "verify", "open_device_access"]
    assert node.onload()["generation"] == 1
    assert node.request("PUT", "/v1/onload?dryRun=true", {**spec, "users_policy": "fail"})[0] == 409
    id = node.want(spec)["operation"]
    path = f"/v1/onload/operations/{id}"
    node.vm.wait_until(lambda: ("end_users", "") in node.acts(node.get(path)), what="the wait for users")
    watcher = node.vm.spawn(["curl", "-s", "--max-time", "60", "--unix-socket", "/run/nrd.sock",
                             f"http://localhost{path}?since={node.get(path)['revision']}&wait=60"])
    assert node.request("POST", f"{path}/cancel", {})[0] == 202
    assert watcher.wait(30) == 0 and "cancelled" in watcher.output()
    operation = node.finished(id)
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "cancelled")
    assert node.request("POST", f"{path}/cancel", {})[0] == 409
    assert holder.poll() is None
    holder.kill(9)
    holder.wait()
    node.assert_loaded(OLD)


@LONG
def test_an_operation_that_has_begun_to_change_goes_back_when_it_is_cancelled(node):
    node.load(OLD)
    node.stub.arm("sfc_resource", NEW, "slow_init_ms=3000")
    id = node.want({"state": "loaded", "version": NEW})["operation"]
    path = f"/v1/onload/operations/{id}"
    node.vm.wait_until(lambda: ("insert", "sfc_resource") in node.acts(node.get(path)), what="the insertion")
    assert node.request("POST", f"{path}/cancel", {})[0] == 202
    operation = node.finished(id)
    assert (operation["outcome"], operation["cause"], operation["fallback"]) == ("rolled_back", "cancelled", 1)
    node.assert_loaded(OLD)


@LONG
def test_a_parameter_is_set_live_or_by_a_reload_that_is_asked_for(node):
    node.load(OLD)
    live = nrdctl(node, "set", "onload", "cplane_route_request_limit=77")
    assert live.returncode == 0 and "remove" not in live.stdout, live.stderr
    assert node.stub.parameter("cplane_route_request_limit") == "77"
    pio = node.get("/v1/onload/modules/sfc_resource")["parameters"]["pio"]
    assert not pio["writable"]
    other = "0" if pio["value"].strip() != "0" else "1"
    refused = nrdctl(node, "set", "sfc_resource", f"pio={other}")
    assert refused.returncode == 1 and "reload=true" in refused.stderr
    assert nrdctl(node, "set", "sfc_resource", f"pio={other}", "--reload").returncode == 0
    assert node.vm.read("/sys/module/sfc_resource/parameters/pio").strip() == other
    assert node.stub.parameter("cplane_route_request_limit") == "77"
    node.assert_loaded(OLD)


def servers_as_processes(node):
    """Also those that do not serve yet, of which the module knows nothing."""
    return [int(pid) for pid in node.vm.run(["pgrep", "-x", "onload_cp_serve"], check=False).stdout.split()]


@LONG
def test_the_control_plane_is_restarted(node):
    # A server that takes its time: who did not wait for it would start a second one.
    node.load(OLD, parameters={"onload": {"stub_server_params": "--stub-start-late=700"}})
    before = node.stub.await_server()
    done = nrdctl(node, "controlplane", "restart")
    assert done.returncode == 0, done.stderr
    after, = node.stub.servers()
    assert after != before
    node.vm.wait_until(lambda: servers_as_processes(node) == [after], what="one server and no other")
    node.assert_loaded(OLD)
    node.vm.wait_until(lambda: [s["pid"] for s in node.get("/v1/onload/controlplane")["servers"]] == [after], what="the new server")

    # Three words of its command line at once are three changes, and one server in the end.
    operation = node.load(OLD, control_plane=["-K", "--verify-routes"], parameters={
        "onload": {"stub_server_params": "--stub-start-late=700", "cplane_server_uid": "1", "cplane_server_gid": "1"}})
    assert [act for act, _ in node.acts(operation)] == ["set_parameter"] * 3 + ["verify"]
    server, = node.stub.servers()
    assert server != after
    node.vm.wait_until(lambda: servers_as_processes(node) == [server], what="one server and no other")
    command_line = node.vm.read(f"/proc/{server}/cmdline").split("\0")
    assert {"-K", "--verify-routes", "--uid", "--gid"} <= set(command_line)
    assert node.get("/v1/onload/controlplane")["parameters"].strip() == "-K --verify-routes"
    done = nrdctl(node, "controlplane", "set", "-K", "--time-to-live=7", "-h", "8")
    assert done.returncode == 0, done.stderr
    assert node.get("/v1/onload/controlplane")["parameters"].strip() == "-K --time-to-live=7 -h 8"


@LONG
def test_the_control_plane_is_not_restarted_below_a_stack(node):
    node.load(OLD)
    before = node.stub.await_server()
    node.stub.control("create 3 4242 1000")
    status, answer = node.request("POST", "/v1/onload/controlplane/restart", {})
    assert status == 409 and "a stack uses the control plane server" in answer["detail"], answer
    assert node.stub.servers() == [before] and node.stub.parameter("cplane_spawn_server") == "Y"
    node.stub.control("destroy 3")
    status, answer = node.request("POST", "/v1/onload/controlplane/restart", {})
    assert status == 202, answer
    assert node.finished(answer["operation"])["outcome"] == "succeeded"
    assert node.stub.await_server() != before


@LONG
@pytest.mark.parametrize("words", [["-K", "--uid=0"], ["--"], ["-t"], ["/etc/shadow"]])
def test_no_client_says_more_to_the_server_than_it_may(node, words):
    node.load(OLD)
    before = node.stub.await_server()
    for body, field in (({"control_plane": words}, "/control_plane/"),
                        ({"parameters": {"onload": {"cplane_server_params": " ".join(words)}}}, "/cplane_server_params")):
        status, answer = node.request("PUT", "/v1/onload", {"state": "loaded", "version": OLD, **body})
        assert status == 400 and field in json.dumps(answer), answer
    assert nrdctl(node, "controlplane", "set", *words).returncode != 0
    assert node.stub.servers() == [before]
