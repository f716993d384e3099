"""The server of the control plane, which the module starts."""

import errno

import pytest
from onload_stub import LONG

pytestmark = LONG

ADDED = ["--daemonise", "--ipv6-no-source"]
IDS = ["--uid", "65534", "--gid", "65534"]


def argv(stub, pid):
    return stub.vm.read(f"/proc/{pid}/cmdline").split("\0")[:-1]


def is_gone(stub, pid):
    return stub.vm.run(["test", "-e", f"/proc/{pid}"], check=False).returncode != 0


def alive(stub):
    """Also those that do not serve."""
    return [int(pid) for pid in stub.vm.run(["pgrep", "-x", "onload_cp_serve"], check=False).stdout.split()]


def test_it_comes_with_the_module_and_holds_it(stub):
    stub.load("9.0.1.86", cplane_server_params="-K")
    pid = stub.await_server()
    assert argv(stub, pid) == [stub.server("9.0.1.86"), "-K"] + ADDED + IDS + ["--bootstrap"]
    assert stub.vm.read(f"/proc/{pid}/environ") == ""
    stub.vm.wait_until(lambda: "\nUid:\t65534\t" in stub.vm.read(f"/proc/{pid}/status"))
    assert stub.vm.run(f"readlink /proc/{pid}/fd/* | grep -c /dev/onload$").stdout == "1\n"
    assert stub.references("onload")[0] > 0 and stub.references("onload")[1] == []
    assert stub.proc("cp_stats").startswith("route_requests:")
    stub.vm.wait_until(lambda: f"onload_cp_server[{pid}]: serves" in stub.kernel_log())
    with pytest.raises(BlockingIOError):
        stub.vm.remove("onload")
    stub.vm.run(["kill", str(pid)])
    stub.vm.wait_until(lambda: is_gone(stub, pid))
    assert stub.servers() == []
    stub.vm.remove("onload")


@pytest.mark.parametrize("parameters", [{"cplane_spawn_server": "N"}, {"cplane_server_grace_timeout": "0"}])
def test_its_start_can_be_prevented(stub, parameters):
    stub.load("9.0.1.86", **parameters)
    assert alive(stub) == [] and stub.servers() == []
    assert stub.proc("cp_stats") == "No control plane instance in this net namespace.\n"
    stub.vm.remove("onload")


def test_root_needs_no_ids(stub):
    stub.load("9.0.1.86", cplane_server_uid="0", cplane_server_gid="7")
    assert argv(stub, stub.await_server())[1:] == ADDED + ["--gid", "7", "--bootstrap"]


@pytest.mark.parametrize("name, value", [("cplane_server_params", "-K"), ("cplane_server_uid", "0"), ("cplane_server_gid", "0"),
                                         ("cplane_server_path", "/tmp/onload_cp_server")])
def test_a_changed_command_line_takes_a_new_server_at_once(stub, name, value):
    stub.vm.run(["cp", stub.server("9.0.1.86"), "/tmp/onload_cp_server"])
    stub.load("9.0.1.86")
    first = stub.await_server()
    stub.write_parameter(name, stub.parameter(name) + "\n")  # nothing new, so it stays
    stub.write_parameter(name, value + "\n")
    stub.vm.wait_until(lambda: len(stub.servers()) == 1 and stub.servers() != [first])
    assert is_gone(stub, first)
    assert argv(stub, stub.servers()[0]) != []
    assert stub.parameter(name) == value


def test_the_same_value_starts_nothing_and_neither_does_a_forbidden_one(stub):
    stub.load("9.0.1.86", cplane_server_params="-K")
    pid = stub.await_server()
    stub.write_parameter("cplane_server_params", "-K\n")
    assert stub.servers() == [pid]
    stub.vm.run(["kill", str(pid)])
    stub.vm.wait_until(lambda: is_gone(stub, pid))
    stub.write_parameter("cplane_server_params", "-K\n")
    stub.write_parameter("cplane_spawn_server", "N\n")
    stub.write_parameter("cplane_server_params", "\n")
    assert alive(stub) == []
    # Killed, but not forbidden: a changed parameter brings it back.
    stub.write_parameter("cplane_spawn_server", "Y\n")
    assert alive(stub) == []
    stub.write_parameter("cplane_server_params", "-K\n")
    stub.await_server()


def test_with_stacks_a_changed_parameter_waits(stub):
    stub.load("9.0.1.86")
    pid = stub.await_server()
    stub.control("create 1 100 0")
    stub.write_parameter("cplane_server_params", "-K\n")
    assert stub.servers() == [pid] and "apply after its restart" in stub.kernel_log()


def test_one_may_ignore_sigterm(stub):
    stub.load("9.0.1.86", cplane_server_params="--stub-ignore-sigterm")
    pid = stub.await_server()
    stub.vm.run(["kill", str(pid)])
    stub.control("create 1 1 1")  # some way through the kernel and back: it would be gone by now
    assert "SigIgn:\t0000000000004000" in stub.vm.read(f"/proc/{pid}/status") and stub.servers() == [pid]
    stub.vm.run(["kill", "-KILL", str(pid)])
    stub.vm.wait_until(lambda: is_gone(stub, pid))
    stub.vm.remove("onload")


def test_one_may_crash(stub):
    stub.load("9.0.1.86", cplane_server_params="-K --stub-crash-after=50")
    stub.vm.wait_until(lambda: "crashes" in stub.kernel_log())
    stub.vm.wait_until(lambda: alive(stub) == [] and stub.servers() == [])
    stub.vm.remove("onload")


def test_one_may_come_late(stub):
    stub.load("9.0.1.86", cplane_server_params="--stub-start-late=1500")
    assert stub.servers() == [] and len(alive(stub)) >= 1
    assert stub.await_server() in alive(stub)


def test_one_may_not_be_there(stub):
    stub.load("9.0.1.86", cplane_server_path="/nowhere/onload_cp_server")
    assert "[onload] cp_server: cannot start /nowhere/onload_cp_server (-2)" in stub.kernel_log()
    assert alive(stub) == []
    stub.vm.remove("onload")


def test_one_of_another_release_does_not_serve(stub):
    stub.load("9.1.0", cplane_server_path=stub.server("8.1.2.26"), cplane_server_params="-K")
    stub.vm.wait_until(lambda: "user/driver cplane interface mismatch" in stub.kernel_log())
    stub.vm.wait_until(lambda: alive(stub) == [])
    assert stub.servers() == []


def test_each_network_namespace_has_its_own(stub):
    stub.load("9.0.1.86")
    first = stub.await_server()
    other = stub.vm.spawn(["unshare", "-n", "sleep", "600"])
    stub.vm.wait_until(lambda: stub.vm.run(f"readlink /proc/{other.pid}/ns/net").stdout != stub.vm.run("readlink /proc/self/ns/net").stdout)
    stub.control(f"serve {other.pid}")
    stub.vm.wait_until(lambda: len(stub.servers()) == 2)
    second = stub.servers()[1]
    assert argv(stub, second)[-2:] == ["--network-namespace-file", f"/proc/{other.pid}/ns/net"]
    stats = ["nsenter", "-n", "-t", str(other.pid), "cat", "/proc/driver/onload/cp_stats"]
    assert stub.vm.run(stats).stdout.startswith("route_requests:")
    # Only the first one's command line is of the parameters.
    stub.write_parameter("cplane_server_params", "-K\n")
    stub.vm.wait_until(lambda: len(stub.servers()) == 2 and first not in stub.servers())
    assert second in stub.servers()
    other.kill()


def test_its_pid_is_that_of_the_readers_namespace(stub):
    stub.load("9.0.1.86")
    stub.await_server()
    assert stub.vm.run(["unshare", "-fp", "cat", "/proc/driver/onload/cp_server_pids"]).stdout == "0\n"


def test_a_command_line_that_is_too_long_is_refused(stub):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    with pytest.raises(OSError) as refused:
        stub.write_parameter("cplane_server_params", "x" * 1024 + "\n")
    assert refused.value.errno == errno.ENOSPC
