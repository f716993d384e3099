"""What can go wrong on the way from one release to another: files, kernel, people."""

import json
import os

import pytest

from onload_node import IMPORTS, LONG, NEW, NEWEST, OLD, VERSIONS

NRDCTL = os.environ["NRDCTL"]
MODULES = ("sfc_resource", "sfc_char", "onload")


def ko(vm, release, module):
    return f"{VERSIONS}/versions/{release}/lib/modules/{vm.release}/extra/{module}.ko"


def import_spoilt(node, name, module, spoil):
    """NEWEST under another name, with one module's file changed by a script that has it as $1."""
    node.vm.run(["mkdir", "-p", IMPORTS])
    node.vm.run(["cp", "-r", node.stub.tree(NEWEST), f"{IMPORTS}/{name}"])
    node.vm.run(["bash", "-euc", spoil, "-", f"{IMPORTS}/{name}/lib/modules/{node.vm.release}/extra/{module}.ko"])
    return node.request("POST", "/v1/onload/versions", {"name": name, "source": f"{IMPORTS}/{name}"})


def modes(node):
    return node.vm.run(["stat", "-c", "%a", "/dev/onload", "/dev/onload_epoll", "/dev/sfc_char"]).stdout.split()


def failed_step(operation):
    return next((step["act"], step["subject"]) for step in operation["steps"] if step["progress"] == "failed")


# struct module_signature of linux/module_signature.h: id_type 2 is PKCS#7; the length of the signature is the last word.
LONGER_THAN_THE_FILE = r"printf '\0\0\2\0\0\0\0\0\177\377\377\377~Module signature appended~\n' >> $1"
NO_SIGNATURE_AT_ALL = r"printf 'by nobody at all\0\0\2\0\0\0\0\0\0\0\0\020~Module signature appended~\n' >> $1"


@pytest.mark.parametrize("spoil", [LONGER_THAN_THE_FILE, pytest.param(NO_SIGNATURE_AT_ALL, marks=LONG)])
def test_a_broken_signature_is_reported_as_such(node, spoil):
    node.load(OLD)
    assert import_spoilt(node, "9.1.0-signed", "onload", spoil)[0] == 201
    operation = node.run({"state": "loaded", "version": "9.1.0-signed"})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "signature"), operation
    assert failed_step(operation) == ("insert", "onload")
    node.assert_loaded(OLD)


@LONG
def test_a_kernel_that_requires_signatures_leaves_device_access_closed(node):
    """As with module.sig_enforce=1 or Secure Boot. There is no way back either: neither release is signed."""
    node.load(OLD)
    node.back_up()
    node.vm.write("/sys/module/module/parameters/sig_enforce", "Y\n")
    operation = node.run({"state": "loaded", "version": NEW})
    assert (operation["outcome"], operation["cause"]) == ("failed", "signature"), operation
    assert any("rejected" in line for step in operation["steps"] for line in step["kernel"])
    node.assert_unloaded()
    node.vm.power_cut()
    node.restore()
    node.start()
    node.vm.wait_until(lambda: node.condition("DeviceAccessOpen"), timeout=60, what="the generation in force")
    node.assert_loaded(OLD)


@LONG
def test_a_kernel_that_is_locked_down_says_so(node):
    node.load(OLD)
    node.back_up()
    node.vm.run("mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security")
    node.vm.write("/sys/kernel/security/lockdown", "integrity")
    operation = node.run({"state": "loaded", "version": NEW})
    assert (operation["outcome"], operation["cause"]) == ("failed", "lockdown"), operation
    node.vm.power_cut()
    node.restore()
    node.start()
    node.vm.wait_until(lambda: node.condition("DeviceAccessOpen"), timeout=60, what="the generation in force")
    node.assert_loaded(OLD)


@LONG
def test_disabled_modules_are_reported(node):
    node.load(OLD)
    node.back_up()
    node.vm.write("/proc/sys/kernel/modules_disabled", "1\n")
    operation = node.run({"state": "unloaded"})
    assert operation["cause"] == "not_allowed", operation
    # Nothing could be removed, so the old release is still loaded, and device access is open again.
    assert operation["outcome"] == "rolled_back"
    node.assert_loaded(OLD)
    node.vm.power_cut()
    node.restore()
    node.start()


@LONG
def test_a_kernel_with_another_configuration_is_reported(node):
    """The release is the same, so the import cannot know. The kernel compares the rest."""
    node.load(OLD)
    spoil = 'sed -i "s/ SMP preempt mod_unload/ SMP PREEMPT mod_unload/" $1; grep -qa " SMP PREEMPT mod_unload" $1'
    status, answer = import_spoilt(node, "9.1.0-config", "sfc_resource", spoil)
    assert status == 201, answer
    operation = node.run({"state": "loaded", "version": "9.1.0-config"})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "wrong_kernel"), operation
    assert failed_step(operation) == ("insert", "sfc_resource")
    node.assert_loaded(OLD)


@LONG
@pytest.mark.parametrize("spoil", ["rm {}", "printf x >> {}", "chmod 666 {}", "mv {0} /tmp/moved.ko; ln -s /tmp/moved.ko {0}"])
def test_a_file_that_is_gone_or_not_as_imported_is_not_loaded(node, spoil):
    node.load(OLD)
    # At the time of the request it was as imported.
    assert node.request("PUT", "/v1/onload?dryRun=true", {"state": "loaded", "version": NEW})[0] == 200
    node.vm.run(spoil.format(ko(node.vm, NEW, "sfc_char")))
    operation = node.run({"state": "loaded", "version": NEW})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "files"), operation
    assert failed_step(operation) == ("insert", "sfc_char")
    node.assert_loaded(OLD)


@LONG
def test_without_the_file_of_its_server_a_release_is_taken_back(node):
    node.load(OLD)
    node.vm.run(["rm", f"{VERSIONS}/versions/{NEW}/sbin/onload_cp_server"])
    operation = node.run({"state": "loaded", "version": NEW, "parameters": {"onload": {"cplane_init_timeout": "2"}}})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "control_plane"), operation
    node.assert_loaded(OLD)


@LONG
@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_can_never_be_removed_is_left_until_the_next_boot(node, module):
    node.stub.arm(module, OLD, "pinned=1")
    node.load(OLD)
    node.back_up()
    status, answer = node.request("PUT", "/v1/onload", {"state": "loaded", "version": NEW})
    assert status == 409 and f"references to {module} from unidentified users" in answer["detail"], answer
    # With users_policy "kill" the operation fails as well, and the old release stays.
    operation = node.run({"state": "loaded", "version": NEW, "users_policy": "kill", "drain_seconds": 0})
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "in_use"), operation
    node.assert_loaded(OLD)
    node.vm.power_cut()
    node.restore()
    node.start()
    node.vm.wait_until(lambda: node.condition("DeviceAccessOpen"), timeout=60, what="Onload after the boot")
    assert node.run({"state": "loaded", "version": NEW})["outcome"] == "succeeded"
    node.assert_loaded(NEW)


def open_during_removal(node, policy, stays):
    """Root, which ignores the mode, opens sfc_char's device while onload is being removed."""
    node.load(OLD)
    node.stub.write_parameter("stub_slow_exit_ms", "4000")
    # It watches by itself: a signal from outside may take longer than the removal.
    holder = node.vm.spawn("while read -r state < /sys/module/onload/initstate && [ $state != going ]; do sleep 0.05; done; "
                           f"exec 3< /dev/sfc_char; exec sleep {1000 if stays else 12}")
    id = node.want({"state": "loaded", "version": NEW, "users_policy": policy, "drain_seconds": 60})["operation"]
    operation = node.finished(id)
    assert ("remove", "in_use") in [(step["act"], step["cause"]) for step in operation["steps"]], operation
    return operation, holder


def test_a_user_that_appears_before_the_removal_keeps_the_old_release(node):
    operation, holder = open_during_removal(node, "fail", stays=True)
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "in_use"), operation
    assert f"pid {holder.pid}" in operation["message"], operation
    assert holder.poll() is None
    node.assert_loaded(OLD)
    holder.kill(9)
    holder.wait()


@LONG
def test_a_user_that_appears_before_the_removal_and_exits_is_awaited(node):
    operation, holder = open_during_removal(node, "wait", stays=False)
    assert operation["outcome"] == "succeeded", operation
    assert holder.wait() == 0
    node.assert_loaded(NEW)


@LONG
def test_a_failed_rollback_reports_what_is_loaded_and_can_be_continued_by_hand(node):
    node.load(OLD)
    node.stub.arm("onload", NEW, "fail_init=12")
    node.stub.arm("onload", OLD, "fail_init=5")
    operation = node.run({"state": "loaded", "version": NEW})
    assert (operation["outcome"], operation["cause"], operation["fallback"]) == ("failed", "out_of_memory", 1)
    failures = [(step["subject"], step["cause"]) for step in operation["steps"] if step["progress"] == "failed"]
    assert failures == [("onload", "out_of_memory"), ("onload", "init_failed")]
    assert node.acts(operation)[-1] == ("close_device_access", "")
    assert node.vm.run(["stat", "-c", "%a", "/dev/sfc_char"]).stdout.strip() == "0"
    onload = node.onload()
    assert onload["device_access"] == "closed" and not node.condition("Loaded") and not node.condition("DeviceAccessOpen")
    assert node.request("POST", "/v1/onload/allocations", {"owner": {"pid": 1}})[0] in (409, 503)
    # It does not heal by itself, not by a restart either: what would be tried has just failed.
    node.kill9()
    node.start()
    assert node.onload()["device_access"] == "closed" and not node.stub.is_loaded("onload")
    shown = node.vm.run([NRDCTL, "--socket", "/run/nrd.sock", "onload"]).stdout
    assert "access       closed" in shown, shown
    node.stub.disarm()
    assert node.run({"state": "loaded", "version": NEW})["outcome"] == "succeeded"
    node.assert_loaded(NEW)


@LONG
def test_a_failure_without_rollback_leaves_device_access_closed(node):
    node.load(OLD)
    node.stub.arm("onload", NEW, "fail_init=12")
    operation = node.run({"state": "loaded", "version": NEW, "on_failure": "stop"})
    assert (operation["outcome"], operation["cause"], operation["fallback"]) == ("failed", "out_of_memory", None)
    assert node.stub.is_loaded("sfc_char") and not node.stub.is_loaded("onload")
    assert node.vm.run(["stat", "-c", "%a", "/dev/sfc_char"]).stdout.strip() == "0"
    node.load(OLD)
    node.assert_loaded(OLD)


@pytest.mark.parametrize("on_failure", ["stop", pytest.param("rollback", marks=LONG)])
def test_a_freeze_during_the_wait_removes_nothing_and_reopens_device_access(node, on_failure):
    node.load(OLD)
    holder = node.vm.spawn(["sh", "-c", "exec 3</dev/sfc_char; exec sleep 1000"])
    node.vm.wait_until(lambda: node.get("/v1/onload/users")["users"], what="the user")
    id = node.want({"state": "loaded", "version": NEW, "users_policy": "wait", "drain_seconds": 600,
                    "on_failure": on_failure})["operation"]
    node.vm.wait_until(lambda: ("end_users", "") in node.acts(node.get(f"/v1/onload/operations/{id}")), what="the wait for users")
    assert modes(node) == ["0", "0", "0"]
    assert node.request("PUT", "/v1/onload/freeze", {"frozen": True, "reason": "trading"})[0] == 200
    operation = node.finished(id)
    assert (operation["outcome"], operation["cause"]) == ("rolled_back", "frozen"), operation
    assert [act for act, _ in node.acts(operation)] == ["close_device_access", "end_users", "open_device_access"]
    assert holder.poll() is None
    node.assert_loaded(OLD)
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"})[0] == 423
    assert node.request("PUT", "/v1/onload/freeze", {"frozen": False})[0] == 200
    holder.kill(9)
    holder.wait()


@LONG
def test_a_freeze_during_a_change_lets_the_change_finish(node):
    node.load(OLD)
    node.stub.arm("sfc_resource", NEW, "slow_init_ms=3000")
    id = node.want({"state": "loaded", "version": NEW})["operation"]
    node.vm.wait_until(lambda: ("insert", "sfc_resource") in node.acts(node.get(f"/v1/onload/operations/{id}")), what="the insertion")
    assert node.request("PUT", "/v1/onload/freeze", {"frozen": True, "reason": "trading"})[0] == 200
    assert node.finished(id)["outcome"] == "succeeded"
    node.assert_loaded(NEW)
    assert node.request("PUT", "/v1/onload", {"state": "unloaded"})[0] == 423
    # Also after a kill: it is neither forgotten nor does it keep the daemon from coming up.
    node.kill9()
    node.start()
    assert node.request("DELETE", "/v1/onload")[0] == 423
    node.assert_loaded(NEW)


@LONG
def test_of_two_simultaneous_changes_one_is_accepted(node):
    node.load(OLD)
    specs = [json.dumps({"state": "loaded", "version": NEW}), json.dumps({"state": "unloaded"})]
    put = "curl -s -o /dev/null -w '%{{http_code}}\\n' --unix-socket /run/nrd.sock -X PUT -H 'Content-Type: application/json' -d '{}' http://localhost/v1/onload"
    both = " & ".join(put.format(spec) for spec in specs) + " & wait"
    assert sorted(node.vm.run(both).stdout.split()) == ["202", "409"]
    operations = [operation["id"] for operation in node.get("/v1/onload/operations")]
    assert len(operations) == 2
    assert node.finished(max(operations))["outcome"] == "succeeded"
    assert node.onload()["generation"] == 2
    if node.stub.is_loaded("onload"):
        node.assert_loaded(NEW)
    else:
        node.assert_unloaded()


@LONG
@pytest.mark.parametrize("field, body", [
    ("/parameters/onload/cplane_server_path", {"parameters": {"onload": {"cplane_server_path": "/share/evil"}}}),
    ("/parameters/onload/cplane_server_path", {"parameters": {"onload": {"cplane_server_path": "share/evil"}}})])
def test_no_client_chooses_programs_that_the_kernel_runs_as_root(node, field, body):
    node.vm.run("printf '#!/bin/sh\\nid > /share/was-run\\n' > /share/evil; chmod 755 /share/evil; rm -f /share/was-run")
    status, answer = node.request("PUT", "/v1/onload", {"state": "loaded", "version": NEW, **body})
    assert status == 400 and field in json.dumps(answer), answer
    node.load(NEW)
    status, answer = node.request("PATCH", "/v1/onload/modules/onload/parameters", body["parameters"]["onload"])
    assert status == 400 and '"/cplane_server_path"' in json.dumps(answer), answer  # as the client wrote it here
    assert node.vm.run(["test", "-e", "/share/was-run"], check=False).returncode != 0
    node.assert_loaded(NEW)
