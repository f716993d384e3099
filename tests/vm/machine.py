"""A virtual machine with Debian's kernel, for tests of what only a real kernel can show.

    with Machine(share) as vm:
        vm.run("modprobe dummy && ip link add d0 type dummy")     # a script for bash -e, or an argv as a list
        vm.write("/sys/module/onload/parameters/cplane_spawn_server", "N")
        holder = vm.spawn(["sleep", "infinity"])
        vm.power_cut()                                            # the folder `share` is all that is left, at /share

All that is installed on the host is there, and the sources at the same paths as here; changes go to memory and are
lost with the machine. Everything has a deadline; what misses it raises, with the end of the console's log.

A machine has one plain CPU, or those that a Shape (shape.py) describes, with cache allocation and frequencies:

    with Machine(share, cpu=Shape(l3=11, clos=16), kernel="6.12") as vm:
        vm.run("mount -t resctrl resctrl /sys/fs/resctrl && mkdir /sys/fs/resctrl/a")
        vm.msr(4, 0xC8F)

With systemd=True the host's systemd is the first process, with its bus and no other unit; what the machine runs is in
vm-agent.service then. network="tap0" connects it to this interface of the host, which is there already; addresses and the
module virtio_net are up to the test. disk=RecordedDisk(…) is /dev/vda (recorded_disk.py), once virtio_blk is loaded.

The kernel and the first root file system are $NRD_VM_KERNEL and $NRD_VM_INITRAMFS (see CMakeLists.txt); of another
series, the files beside them that have its number in their names.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import warnings

BOOT_DEADLINE = 120  # seconds; an emulated machine takes 10 when nothing else needs the processor
BOOTS = 3  # at most: where the processor is short, the kernel of one in dozens stops before the first process
ANSWER_MARGIN = 30  # beyond the time-out that the machine itself keeps
CONSOLE_TAIL = 4000  # characters shown with an error


class MachineError(Exception):
    pass


class CommandError(MachineError):
    """A command ended with a status that was not expected. The result is in `result`."""

    def __init__(self, what, result):
        super().__init__(f"{what!r} ended with {result.returncode}\n{result.stdout}{result.stderr}")
        self.result = result


class Background:
    """A process started by Machine.spawn."""

    def __init__(self, machine, pid):
        self._machine = machine
        self.pid = pid

    def poll(self):
        return self._machine.ask("wait", pid=self.pid, timeout=0)["returncode"]

    def wait(self, timeout=30):
        status = self._machine.ask("wait", answer_in=timeout + ANSWER_MARGIN, pid=self.pid, timeout=timeout)["returncode"]
        if status is None:
            raise MachineError(f"process {self.pid} has not ended after {timeout} s; it said:\n{self.output()}")
        return status

    def kill(self, number=signal.SIGTERM):
        self._machine.ask("kill", pid=self.pid, number=int(number))

    def output(self):
        """What it has written to standard output and error so far."""
        return self._machine.ask("output", pid=self.pid)["output"]


class Machine:
    def __init__(self, share, memory=2048, cpu=None, kernel="6.1", arguments="", systemd=False, network=None, disk=None):
        self.share = os.path.abspath(share)
        suffix = "" if kernel == "6.1" else f"-{kernel}"
        root, extension = os.path.splitext(os.environ["NRD_VM_INITRAMFS"])
        self.kernel = os.path.realpath(os.environ["NRD_VM_KERNEL"] + suffix)
        self.initramfs = os.path.abspath(root + suffix + extension)
        self.memory, self.cpu, self.arguments, self.systemd = memory, cpu, arguments, systemd
        self.network, self.disk = network, disk
        with open(os.path.join(os.path.dirname(self.initramfs), "accel")) as file:
            self.accel = os.environ.get("NRD_VM_ACCEL") or file.read().strip()
        self._folder = tempfile.mkdtemp(prefix="vm-")  # sockets and logs
        self._qemu = self._socket = self._listener = None
        self._boots = 0

    # Life

    def start(self):
        assert self._qemu is None, "it runs already"
        last = self._boots + BOOTS
        while True:
            try:
                self._boot()
                return self
            except BaseException as error:
                is_stuck = isinstance(error, MachineError) and self._qemu.poll() is None
                self._kill()
                if not is_stuck or self._boots == last:
                    raise
                warnings.warn(str(error))  # pytest shows it when all passes, too

    def _boot(self):
        self._boots += 1
        self._answers, self._arrived = {}, threading.Condition()
        self._next, self._lost, self.release = 0, None, None
        with open(self._console_path, "wb") as console:
            environment = {**os.environ, **(self.cpu.environment() if self.cpu else {})}
            self._qemu = subprocess.Popen(self._argv(), stdin=subprocess.DEVNULL, stdout=console, stderr=console, env=environment)
        self._connect()
        self._listener = threading.Thread(target=self._listen, args=(self._socket,), daemon=True)
        self._listener.start()
        self._wait_for(lambda: self.release, BOOT_DEADLINE, "did not come up")

    def reboot(self):
        """Ends all processes in order, and starts again. The share stays."""
        self._shut_down()
        self.start()

    def power_cut(self):
        """Takes the power away in the middle of whatever it does, and starts again. The share stays."""
        self._kill()
        self.start()

    def stop(self):
        """Takes the power away for good. What happened on the console is gone then."""
        self._kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    # What it does

    def run(self, what, timeout=60, check=True, stdin="", env=None, cwd="/"):
        """Runs an argv, or a text as a script of bash -e. As subprocess.run with text captured; check=True."""
        argv = ["/bin/bash", "-euo", "pipefail", "-c", what] if isinstance(what, str) else list(what)
        said = self.ask("run", answer_in=timeout + ANSWER_MARGIN, argv=argv, timeout=timeout, stdin=stdin, env=env, cwd=cwd)
        if said.pop("timed_out"):
            raise MachineError(f"{what!r} has not ended after {timeout} s\n{said['stdout']}{said['stderr']}\n{self._console_tail()}")
        result = subprocess.CompletedProcess(what, **said)
        if check and result.returncode != 0:
            raise CommandError(what, result)
        return result

    def spawn(self, argv, env=None, cwd="/"):
        argv = ["/bin/bash", "-euo", "pipefail", "-c", argv] if isinstance(argv, str) else list(argv)
        return Background(self, self.ask("spawn", argv=argv, env=env, cwd=cwd)["pid"])

    def read(self, path):
        """The content of a file. Raises the OSError that the machine's kernel gave."""
        return self.ask("read", path=path)["content"]

    def write(self, path, content):
        """One write(2). Raises the OSError that the machine's kernel gave."""
        self.ask("write", path=path, content=content)

    def exchange(self, path, content, timeout=60):
        """What a Unix socket says to this until it ends. Raises the OSError that the machine's kernel gave."""
        return self.ask("exchange", answer_in=timeout + ANSWER_MARGIN, path=path, content=content, timeout=timeout)["content"]

    def await_listener(self, path, process, timeout=60):
        """Until this Unix socket takes connections, or the process has ended."""
        self.ask("await_listener", answer_in=timeout + ANSWER_MARGIN, path=path, pid=process.pid, timeout=timeout)

    def msr(self, cpu, number):
        """A register of a CPU. Needs the module msr."""
        return self.msrs([(cpu, number)])[0]

    def msrs(self, places):
        """Registers, each a pair of a CPU and a number."""
        return self.ask("msrs", places=places)["values"]

    def tree(self, path, without=()):
        """The content of all files below, by their path; folders, which end in a slash, have none. Names of files and
        folders that are left out are in `without`."""
        return self.ask("tree", path=path, without=list(without))["files"]

    def insert(self, path, parameters=""):
        """Loads one module, as insmod does. Raises the OSError that the machine's kernel gave."""
        self.ask("insert", answer_in=60, path=path, parameters=parameters)

    def remove(self, name):
        """Unloads one unused module. Raises the OSError of the machine's kernel, EAGAIN if the module is in use."""
        self.ask("remove", answer_in=60, name=name)

    def wait_until(self, condition, timeout=20, what="the condition"):
        """Asks until the condition holds; what it gave is returned."""
        deadline = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise MachineError(f"{what} did not hold within {timeout} s\n{self._console_tail()}")
            time.sleep(0.05)
        return found

    def processor_seconds(self):
        """What the machine has used of the host's processors since its start. It says how much was computed, however
        busy the host is, and the machine's own clocks do not."""
        with open(f"/proc/{self._qemu.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def console(self):
        """What the kernel and the first programs have said since the last start."""
        with open(self._console_path, errors="replace") as file:
            return file.read()

    # How

    @property
    def _console_path(self):
        return os.path.join(self._folder, f"console.{self._boots}")

    @property
    def _socket_path(self):
        return os.path.join(self._folder, "agent")

    def _argv(self):
        # no_timer_check: on a host that is busy the timer comes late, which the kernel takes for a broken one and panics.
        # tsc=reliable: for the same reason it would give up the TSC, and might find no other clock.
        # lpj: 10 million iterations a jiffy are right for a TSC of 2.5 GHz; the kernel would measure it for each CPU.
        # mitigations=off: an emulated CPU has none of these bugs, and with them a call of the kernel takes a tenth longer.
        command_line = (f"console=ttyS0 panic=-1 reboot=triple no_timer_check tsc=reliable lpj=10000000 mitigations=off "
                        f"random.trust_cpu=on loglevel=5 "
                        f"vm.modules={self.kernel}/modules {'vm.manager systemd.show_status=0 ' if self.systemd else ''}{self.arguments}")
        # multidevs: the host's root may be made of several file systems with the same inode numbers.
        export = "security_model=none,multidevs=remap"
        # setpriv: a test runner that is killed takes its machine along. The thread that starts a machine has to live as long.
        return ["setpriv", "--pdeathsig", "KILL", *self._processors(), "-m", str(self.memory), "-nodefaults", "-no-user-config",
                "-display", "none", "-no-reboot",
                "-kernel", f"{self.kernel}/vmlinux", "-initrd", self.initramfs, "-append", command_line,
                "-chardev", "stdio,id=console", "-serial", "chardev:console",
                "-fsdev", f"local,id=host,path=/,readonly=on,{export}", "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
                "-fsdev", f"local,id=share,path={self.share},{export}", "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
                "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,path={self._socket_path},server=on,wait=off",
                "-device", "virtserialport,chardev=agent,name=nrd.vm.agent", *self._network(), *(self.disk.arguments() if self.disk else [])]

    def _network(self):
        if not self.network:
            return []
        return ["-netdev", f"tap,id=net,ifname={self.network},script=no,downscript=no", "-device", "virtio-net-pci,netdev=net,romfile="]

    def _processors(self):
        if not self.cpu:
            return ["qemu-system-x86_64", "-accel", self.accel]  # emulated CPUs wait for each other longer than they compute
        return [self.cpu.program(), "-L", "/usr/share/qemu", "-L", "/usr/share/seabios", "-accel", "tcg", *self.cpu.arguments(self.memory)]

    def _connect(self):
        self._socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + BOOT_DEADLINE
        while True:
            try:
                return self._socket.connect(self._socket_path)
            except (FileNotFoundError, ConnectionRefusedError):
                if self._qemu.poll() is not None or time.monotonic() > deadline:
                    raise MachineError(f"qemu did not start\n{self._console_tail()}") from None
                time.sleep(0.01)

    def _listen(self, connection):
        """A thread for each boot: hands answers to those who wait for them."""
        pending = b""
        try:
            while data := connection.recv(1 << 20):
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
        except OSError:
            pass
        with self._arrived:
            self._lost = connection
            self._arrived.notify_all()

    def _take(self, message):
        with self._arrived:
            if "hello" in message:
                self.release = message["hello"]
            else:
                self._answers[message["id"]] = message
            self._arrived.notify_all()

    def ask(self, act, answer_in=ANSWER_MARGIN, **arguments):
        with self._arrived:
            number, self._next = self._next, self._next + 1
        line = json.dumps({"id": number, "do": act, **arguments}).encode() + b"\n"
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise MachineError(f"{act}: the machine is gone: {error}\n{self._console_tail()}") from None
        answer = self._wait_for(lambda: self._answers.pop(number, None), answer_in, f"did not answer to {act} {arguments}")
        if "ok" in answer:
            return answer["ok"]
        if answer["errno"]:
            raise OSError(answer["errno"], os.strerror(answer["errno"]), answer["path"])
        raise MachineError(f"{act}: {answer['said']}")

    def _wait_for(self, condition, timeout, what):
        with self._arrived:
            found = []

            def settled():
                found[:] = [condition()]
                return found[0] is not None or self._lost is self._socket

            self._arrived.wait_for(settled, timeout)
        if found[0] is None:
            gone = "ended and " if self._lost is self._socket else ""
            raise MachineError(f"the machine {gone}{what} within {timeout} s\n{self._console_tail()}")
        return found[0]

    def _console_tail(self):
        return f"--- console:\n{self.console()[-CONSOLE_TAIL:]}---"

    def _shut_down(self):
        try:
            self.ask("reboot", answer_in=60)
        except MachineError:
            pass  # it never answers: it ends
        try:
            self._qemu.wait(10)
        except subprocess.TimeoutExpired:
            tail = self._console_tail()
            self._kill()
            raise MachineError(f"the machine did not shut down\n{tail}") from None
        self._kill()

    def _kill(self):
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
        if self._listener is not None:
            self._listener.join()  # with qemu gone it reads to the end
        if self._socket is not None:
            self._socket.close()
        self._qemu = self._socket = self._listener = None
