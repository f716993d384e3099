"""Who uses Onload, seen by the real daemon on a real kernel: in other namespaces, with recycled pids, without any file."""

import os
import signal

from onload_node import LONG, NEW, OLD, VERSIONS

NRDCTL = os.environ["NRDCTL"]
HOLD_MMAP_LOCK = os.path.join(os.path.dirname(os.path.realpath(__file__)), "hold_mmap_lock.py")
LIBRARY = f"{VERSIONS}/versions/{OLD}/usr/lib/x86_64-linux-gnu/libonload.so"
# Starts argv[2:] as process argv[1]: clone3(2) with set_tid. Waits until that pid is free.
AS_PID = """
import ctypes, os, signal, struct, sys, time
CLONE3 = 435
tid = (ctypes.c_int * 1)(int(sys.argv[1]))
arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tid), 1, 0)
libc = ctypes.CDLL(None, use_errno=True)
deadline = time.monotonic() + 60
while (pid := libc.syscall(CLONE3, arguments, len(arguments))) < 0:
    assert ctypes.get_errno() == 17 and time.monotonic() < deadline, os.strerror(ctypes.get_errno())  # EEXIST
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
print(pid, flush=True)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""

# As the user `nobody`: maps a copy of the library under another name, prints a line, and starts crashing programs with
# misleading names for ever.
FORGER = """
import ctypes, mmap, os, shutil, sys, time
mine = "/tmp/libonload.so.x"
shutil.copy(sys.argv[1], mine)
os.chown(mine, 65534, 65534)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
held = mmap.mmap(os.open(mine, os.O_RDONLY), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
while True:
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"[onload] ERROR:", 0, 0, 0)  # PR_SET_NAME
        ctypes.string_at(0)
    os.wait()
    time.sleep(1)
"""


def users(node):
    return node.get("/v1/onload/users")["users"]


def await_user(node):
    return node.vm.wait_until(lambda: users(node), what="the user")[0]


def take_pid(node, pid):
    """An innocent program that gets a pid as soon as it is free."""
    return node.vm.spawn(["python3", "-I", "-c", AS_PID, str(pid), "sleep", "1000"])


def end(process):
    process.kill(signal.SIGKILL)
    process.wait()


def test_a_program_that_only_has_the_library_is_a_user(node):
    node.load(OLD)
    holder = node.vm.spawn(["sleep", "1000"], env={"LD_PRELOAD": LIBRARY, "ONLOAD_STUB_PRELOAD_ONLY": "1"})
    user = await_user(node)
    assert (user["pid"], user["library"], user["uses"]) == (holder.pid, LIBRARY, ["preload_only"]), user
    status, answer = node.request("PUT", "/v1/onload", {"state": "unloaded"})
    assert status == 409 and f"pid {holder.pid}" in answer["detail"], answer
    # Its files stay for as long as it has them, whatever is loaded.
    operation = node.run({"state": "loaded", "version": NEW, "users_policy": "term", "drain_seconds": 0})
    assert operation["outcome"] == "succeeded"
    assert holder.wait() == -signal.SIGTERM
    node.assert_loaded(NEW)


def test_a_user_of_the_node_neither_stops_an_upgrade_nor_rolls_it_back(node):
    node.load(OLD)
    forger = node.vm.spawn(["python3", "-I", "-c", FORGER, LIBRARY])
    node.vm.wait_until(lambda: "[onload] ERROR:[" in node.vm.run("dmesg").stdout, what="a crash of that name")
    assert "libonload.so.x" in node.vm.read(f"/proc/{forger.pid}/maps") and users(node) == []
    asking = "while :; do curl -s -o /dev/null --unix-socket /run/nrd.sock http://localhost/v1/onload/users; done"
    askers = [node.vm.spawn(["sh", "-c", asking]) for _ in range(6)]
    holder = node.vm.spawn(["sleep", "1000"], env={"LD_PRELOAD": LIBRARY, "ONLOAD_STUB_PRELOAD_ONLY": "1"})
    await_user(node)
    spec = {"state": "loaded", "version": NEW, "users_policy": "term", "drain_seconds": 1}
    # Slow here, where each look of theirs takes a second; before, it never ended.
    operation = node.finished(node.want(spec)["operation"], timeout=400)
    assert operation["outcome"] == "succeeded", operation
    assert forger.poll() is None and holder.wait() == -signal.SIGTERM
    node.assert_loaded(NEW)
    for process in (forger, *askers):
        end(process)


def test_a_process_whose_mappings_cannot_be_read_counts_as_a_user_until_it_has_ended(node):
    node.load(OLD)
    node.vm.run(["modprobe", "fuse"])
    holder = node.vm.spawn(["python3", "-I", HOLD_MMAP_LOCK])
    unknown = node.vm.wait_until(lambda: node.get("/v1/onload/users")["unknown"], what="the process")
    assert unknown == [f"process {holder.output().strip()} cannot be inspected"]
    status, answer = node.request("PUT", "/v1/onload", {"state": "unloaded"})
    assert status == 409 and unknown[0] in answer["detail"], answer
    status, answer = node.request("DELETE", f"/v1/onload/versions/{NEW}")
    assert status == 409 and unknown[0] in answer["detail"], answer
    end(holder)
    node.vm.wait_until(lambda: node.get("/v1/onload/users")["unknown"] == [], what="its end")
    assert node.run({"state": "unloaded"})["outcome"] == "succeeded"


@LONG
def test_the_files_of_a_version_stay_while_a_program_has_them(node):
    node.load(OLD)
    node.load(NEW)
    holder = node.vm.spawn(["sleep", "1000"], env={"LD_PRELOAD": LIBRARY, "ONLOAD_STUB_PRELOAD_ONLY": "1"})
    assert await_user(node)["stale"] is True
    status, answer = node.request("DELETE", f"/v1/onload/versions/{OLD}")
    assert status == 409, answer
    end(holder)


@LONG
def test_a_user_of_ef_vi_alone_is_reported_as_such(node):
    node.load(OLD)
    holder = node.vm.spawn(["sh", "-c", "exec 3</dev/sfc_char; exec sleep 1000"])
    user = await_user(node)
    assert (user["pid"], user["uses"], user["library"]) == (holder.pid, ["ef_vi"], ""), user
    end(holder)


@LONG
def test_a_stack_without_a_process_is_in_use_and_an_orphan_is_not(node):
    node.load(OLD)
    node.stub.control("create 3 4242 1000")
    status, answer = node.request("PUT", "/v1/onload", {"state": "unloaded"})
    assert status == 409 and "1 stacks" in answer["detail"], answer
    node.stub.control("orphan 3")
    assert [(s["id"], s["orphan"]) for s in node.get("/v1/onload/stacks?kind=orphan")] == [(3, True)]
    assert node.get("/v1/onload/stacks?kind=user") == []
    assert node.run({"state": "unloaded"})["outcome"] == "succeeded"
    node.assert_unloaded()


@LONG
def test_a_user_in_another_pid_namespace_is_named_by_its_pid_here_and_ended(node):
    node.load(OLD)
    outer = node.vm.spawn(["unshare", "--fork", "--pid", "--mount-proc", "--kill-child", "sh", "-c", "exec 3</dev/onload; exec sleep 1000"])
    user = await_user(node)
    assert user["pid"] != outer.pid and user["comm"] == "sleep"
    inner = next(line for line in node.vm.read(f"/proc/{user['pid']}/status").splitlines() if line.startswith("NSpid:"))
    assert inner.split()[1:] == [str(user["pid"]), "1"]
    # As the first process of its namespace it does not hear SIGTERM of its own; from here it has to be killed.
    operation = node.run({"state": "loaded", "version": NEW, "users_policy": "kill", "drain_seconds": 0})
    assert operation["outcome"] == "succeeded", operation
    outer.wait()
    node.assert_loaded(NEW)


@LONG
def test_servers_of_other_network_namespaces_are_shown_and_ended(node):
    node.load(OLD)
    own = node.stub.await_server()
    other = node.vm.spawn(["unshare", "--net", "sleep", "1000"])
    here = node.vm.run(["readlink", "/proc/self/ns/net"]).stdout
    node.vm.wait_until(lambda: node.vm.run(["readlink", f"/proc/{other.pid}/ns/net"]).stdout != here, what="the namespace")
    node.stub.control(f"serve {other.pid}")
    node.vm.wait_until(lambda: len(node.stub.servers()) == 2, what="the second server")
    servers = node.vm.wait_until(lambda: (s := node.get("/v1/onload/controlplane")["servers"])[1:] and s, what="nrd's next look")
    assert len({server["net_namespace"] for server in servers}) == 2 and own in [server["pid"] for server in servers]
    assert users(node) == []
    node.load(NEW)
    node.assert_loaded(NEW)
    assert len(node.stub.servers()) == 1
    end(other)


def test_a_process_that_reuses_the_pid_of_a_stopped_user_is_not_killed(node):
    """The user ignores SIGTERM, and ends before SIGKILL would come. Its pid belongs to another process by then."""
    node.load(OLD)
    holder = node.vm.spawn(["sh", "-c", "exec 3</dev/sfc_char; trap 'exec 3<&-; sleep 3; exit 0' TERM; while :; do sleep 0.1; done"])
    await_user(node)
    id = node.want({"state": "loaded", "version": NEW, "users_policy": "kill", "drain_seconds": 0})["operation"]
    node.vm.wait_until(lambda: ("end_users", "") in node.acts(node.get(f"/v1/onload/operations/{id}")), what="the signal")
    innocent = take_pid(node, holder.pid)
    end(holder)
    node.vm.wait_until(lambda: innocent.output() == f"{holder.pid}\n", timeout=60, what="the recycled pid")
    assert node.finished(id)["outcome"] == "succeeded"
    assert node.vm.read(f"/proc/{holder.pid}/comm") == "sleep\n"  # and not a line about its end
    assert innocent.output() == f"{holder.pid}\n"
    node.assert_loaded(NEW)
    node.vm.run(["kill", "-9", str(holder.pid)])


@LONG
def test_a_process_that_reuses_the_pid_of_a_stopped_server_is_not_killed(node):
    node.load(OLD, parameters={"onload": {"stub_server_params": "--stub-ignore-sigterm"}})
    server = node.stub.await_server()
    innocent = take_pid(node, server)
    id = node.want({"state": "loaded", "version": NEW})["operation"]
    node.vm.wait_until(lambda: ("stop_control_plane", "") in node.acts(node.get(f"/v1/onload/operations/{id}")), what="the signal")
    node.vm.run(["kill", "-9", str(server)])
    node.vm.wait_until(lambda: innocent.output() == f"{server}\n", timeout=60, what="the recycled pid")
    assert node.finished(id)["outcome"] == "succeeded"
    assert innocent.output() == f"{server}\n" and node.vm.read(f"/proc/{server}/comm") == "sleep\n"
    node.assert_loaded(NEW)
    node.vm.run(["kill", "-9", str(server)])


@LONG
def test_an_allocation_does_not_pass_to_a_process_that_reuses_the_pid(node):
    node.load(OLD)
    owner = node.vm.spawn(["sleep", "1000"])
    status, answer = node.request("POST", "/v1/onload/allocations", {"owner": {"pid": owner.pid}})
    assert status == 201, answer
    node.kill9()
    innocent = take_pid(node, owner.pid)
    end(owner)
    node.vm.wait_until(lambda: innocent.output() == f"{owner.pid}\n", timeout=60, what="the recycled pid")
    node.start()
    node.vm.wait_until(lambda: node.get("/v1/onload/allocations") == [], what="the end of the allocation")
    assert innocent.output() == f"{owner.pid}\n"
    node.vm.run(["kill", "-9", str(owner.pid)])
