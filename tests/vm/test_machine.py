"""What tests on the virtual machine rely on."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from machine import CommandError, MachineError


def test_the_kernel_is_the_unpacked_one_and_not_the_hosts(vm):
    with open(os.path.join(vm.kernel, "release")) as file:
        assert vm.run(["uname", "-r"]).stdout == file.read() == vm.release + "\n"
    assert vm.read("/proc/sys/kernel/random/boot_id") != open("/proc/sys/kernel/random/boot_id").read()


def test_installed_programs_of_the_host_are_available(vm):
    assert vm.run(["python3", "-c", "import pytest; print(pytest.__version__)"]).stdout == pytest.__version__ + "\n"
    assert vm.read(__file__) == open(__file__).read()


def test_changes_stay_in_the_machine(vm):
    vm.write("/etc/only-in-the-machine", "here\n")
    vm.run(["rm", "/etc/debian_version"])
    assert vm.read("/etc/only-in-the-machine") == "here\n"
    assert not os.path.exists("/etc/only-in-the-machine") and os.path.exists("/etc/debian_version")


@pytest.mark.parametrize("path, kind", [
    ("/proc", "proc"), ("/sys", "sysfs"), ("/dev", "devtmpfs"), ("/run", "tmpfs"), ("/sys/fs/cgroup", "cgroup2"),
    ("/sys/kernel/debug", "debugfs"), ("/sys/fs/bpf", "bpf"), ("/dev/pts", "devpts"), ("/share", "9p")])
def test_file_systems_are_mounted(vm, path, kind):
    assert vm.run(["findmnt", "-n", "-o", "FSTYPE", path]).stdout.split() == [kind]


def test_modules_load_with_their_dependencies(vm):
    assert "dummy" not in vm.read("/proc/modules")
    vm.run("modprobe dummy && ip link add d0 type dummy")
    assert os.path.basename(vm.run(["readlink", "-f", "/sys/class/net/d0"]).stdout.strip()) == "d0"
    vm.run("ip link del d0 && modprobe -r dummy")
    assert "dummy" not in vm.read("/proc/modules")
    # The kernel's own driver of the cards that Onload is for, with two modules below it.
    vm.run(["modprobe", "sfc"])
    assert vm.run("cat /sys/module/mtd/refcnt; ls /sys/module/mtd/holders").stdout == "1\nsfc\n"
    with pytest.raises(BlockingIOError):
        vm.remove("mtd")
    vm.remove("sfc")
    with pytest.raises(FileNotFoundError):
        vm.remove("sfc")
    vm.insert(vm.run(["modinfo", "-n", "dummy"]).stdout.strip(), "numdummies=3")
    assert vm.run("ls /sys/class/net").stdout.split() == ["dummy0", "dummy1", "dummy2", "lo"]
    with pytest.raises(FileExistsError):
        vm.insert(vm.run(["modinfo", "-n", "dummy"]).stdout.strip())
    vm.remove("dummy")


def test_a_failed_command_raises_with_its_output(vm):
    with pytest.raises(CommandError, match="nothing of that") as failed:
        vm.run("echo nothing of that >&2; exit 7")
    assert failed.value.result.returncode == 7
    assert vm.run("false; echo unreached", check=False).stdout == ""
    assert vm.run(["cat"], stdin="in\udcff").stdout == "in\udcff"
    assert vm.run('echo "$A in $PWD"', env={"A": "b"}, cwd="/usr").stdout == "b in /usr\n"


def test_a_command_that_does_not_end_is_ended(vm):
    # Another process of it holds its output open as well.
    with pytest.raises(MachineError, match="not ended after 5 s\nleft"):
        vm.run("setsid sleep 78 & until pgrep -fx 'sleep 78' > /dev/null; do :; done; echo left; sleep 77", timeout=5)
    assert vm.run(["pgrep", "-fx", "sleep 77"], check=False).returncode == 1
    vm.run(["pkill", "-fx", "sleep 78"])


def test_errors_of_files_arrive_as_they_are(vm):
    with pytest.raises(FileNotFoundError):
        vm.read("/etc/nothing/there")
    with pytest.raises(OSError) as refused:
        vm.write("/proc/sys/vm/overcommit_memory", "9")
    assert refused.value.errno == errno.EINVAL and refused.value.filename == "/proc/sys/vm/overcommit_memory"
    with pytest.raises(MachineError, match="TypeError"):
        vm.ask("read", nonsense=1)


def test_a_unix_socket_is_used_without_a_program(vm):
    server = vm.spawn(["python3", "-I", "-S", "-c", """
import socket
with socket.socket(socket.AF_UNIX) as server:
    server.bind("/run/answers")
    server.listen()
    print("listens", flush=True)
    peer, _ = server.accept()
    peer.sendall(b"said " + peer.recv(100))"""])
    vm.wait_until(lambda: server.output() == "listens\n")
    assert vm.exchange("/run/answers", "this\udcff") == "said this\udcff"
    assert server.wait() == 0
    with pytest.raises(ConnectionRefusedError):
        vm.exchange("/run/answers", "this")
    with pytest.raises(FileNotFoundError):
        vm.exchange("/run/nobody", "this")


def test_processes_run_beside_each_other(vm):
    sleeper = vm.spawn(["sleep", "60"])
    talker = vm.spawn("echo said; exit 3")
    assert talker.wait() == 3 and talker.output() == "said\n"
    assert sleeper.poll() is None
    sleeper.kill()
    assert sleeper.wait() == -signal.SIGTERM
    with pytest.raises(FileNotFoundError):
        vm.spawn(["/no/such/program"])


def test_orphans_do_not_stay_as_zombies(vm):
    vm.run("( sleep 0.1 & )")
    vm.wait_until(lambda: "Z" not in vm.run("ps -eo stat=").stdout, what="an empty list of zombies")


def test_the_share_survives_a_power_cut_and_nothing_else_does(vm):
    boot = vm.read("/proc/sys/kernel/random/boot_id")
    vm.write("/share/from-the-machine", "kept\n")
    vm.write("/root/in-memory", "lost\n")
    with open(os.path.join(vm.share, "from-the-host"), "w") as file:
        file.write("seen\n")
    vm.spawn("trap 'echo told > /share/told' TERM; while :; do sleep 0.1; done")
    vm.power_cut()
    assert vm.read("/proc/sys/kernel/random/boot_id") != boot
    assert vm.read("/share/from-the-machine") == "kept\n" == open(os.path.join(vm.share, "from-the-machine")).read()
    assert vm.read("/share/from-the-host") == "seen\n"
    for lost in "/root/in-memory", "/share/told":
        with pytest.raises(FileNotFoundError):
            vm.read(lost)


def test_a_reboot_lets_processes_end(vm):
    ready = vm.spawn("trap 'echo told > /share/told; exit' TERM; echo ready; while :; do sleep 0.1; done")
    vm.wait_until(lambda: ready.output() == "ready\n")
    vm.spawn("trap '' TERM; while :; do sleep 0.1; done")  # this one has to be killed
    vm.reboot()
    assert vm.read("/share/told") == "told\n"


def test_a_panic_is_reported_with_the_console_output(vm):
    with pytest.raises(MachineError, match="(?s)the machine ended .*Kernel panic - not syncing: sysrq triggered crash"):
        vm.write("/proc/sysrq-trigger", "c")
    with pytest.raises(MachineError, match="is gone|ended"):
        vm.run(["true"])
    vm.power_cut()
    vm.run(["true"])


def test_a_killed_runner_ends_its_machine(tmp_path):
    program = "import sys; from machine import Machine; Machine(sys.argv[1]).start()"
    runner = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=os.environ | {"PYTHONPATH": os.path.dirname(__file__)})
    qemu = awaited(lambda: children_named(runner.pid, "qemu-system-x86"))
    runner.kill()
    runner.wait()
    awaited(lambda: not os.path.exists(f"/proc/{qemu[0]}"))


def awaited(condition):
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def children_named(parent, name):
    with open(f"/proc/{parent}/task/{parent}/children") as file:
        children = file.read().split()
    return [pid for pid in children if open(f"/proc/{pid}/comm").read().strip() == name]
