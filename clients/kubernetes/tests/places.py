"""Where the programs of a node run: on this machine beside simulated hardware, or in a virtual machine with real cgroups and
an emulated CPU with RDT. A Worker uses either through the same methods."""

import contextlib
import fnmatch
import glob
import os
import signal
import socket
import subprocess
import time
from http.client import HTTPConnection, HTTPResponse
from io import BytesIO

from processes import DEADLINE, Process
from settings import ADDRESS, MACHINE_ADDRESS, PORT, SERVER, SERVER_ADDRESS, TAP, write
from simnode import SimNode  # tests/simnode, by PYTHONPATH


class UnixConnection(HTTPConnection):
    def __init__(self, path):
        super().__init__("nrd", timeout=30)
        self.unix = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.unix)


class Here:
    """This machine, in the namespaces that clients/kubernetes/test has made. nrd alone is inside the simulated node: kubelet
    needs more of /sys than that has."""

    driver = "cgroupfs"  # who makes cgroups: runtime and kubelet themselves, or systemd for them
    address = ADDRESS
    server = SERVER
    kubelet = {}  # of its configuration

    def __init__(self, cluster, name, **shape):
        self.folder = f"{cluster.folder}/{name}"
        self.cgroups = f"/nrd-kube-{os.path.basename(cluster.folder)}-{name}"
        self.sim = SimNode()
        self.shape = {"sockets": 2, "cpus": 16, "ways": 11, "closids": 16, "min_cbm_bits": 1, "sparse_masks": False, **shape}

    def start(self):
        self.sim.start(["sleep", "infinity"], **self.shape)

    def of_nrd(self, *command):
        return self.sim.inside(list(command))

    def process(self, name, command, env=None, nice=0):
        return Process(f"{self.folder}/{name}.log", command, env={**os.environ, **env} if env else None, nice=nice)

    def request(self, at, method, path, body):
        """Status and text."""
        connection = UnixConnection(at)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", "Accept": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def make_folder(self, path):
        os.makedirs(path, exist_ok=True)

    def write(self, path, text):
        write(path, text)

    def read(self, path):
        with open(path) as file:
            return file.read()

    def listens(self, pattern):
        """Whether a program does at a socket of this pattern."""
        def answers(path):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                return True
            return False
        return any(answers(path) for path in glob.glob(pattern))

    def groups(self):
        """The classes of the simulated kernel: masks and tasks."""
        return self.sim.dump()

    def processes_of(self, cgroup):
        """Of version 2, or of the memory hierarchy of version 1."""
        for hierarchy in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            if os.path.isdir(hierarchy + cgroup):
                return {int(pid) for pid in self.read(f"{hierarchy}{cgroup}/cgroup.procs").split()}
        return set()

    def prepare_kubelet(self):
        """It uses /var/lib/kubelet for sockets whatever its root is; the test's mount namespace has this one there."""
        script = f"mkdir -p /var/lib/kubelet && mount --make-rslave / && mount --bind {self.folder}/kubelet /var/lib/kubelet && mount --make-rshared /"
        subprocess.run(["sh", "-c", script], check=True)
        for hierarchy in self.hierarchies():
            os.makedirs(hierarchy + self.cgroups, exist_ok=True)
            if hierarchy.endswith("/cpuset"):  # empty in a new cgroup, and then no process may enter
                for file in ("cpuset.cpus", "cpuset.mems"):
                    write(f"{hierarchy}{self.cgroups}/{file}", self.read(f"{hierarchy}/{file}"))

    @staticmethod
    def hierarchies():
        if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            return ["/sys/fs/cgroup"]
        return [f"/sys/fs/cgroup/{name}" for name in os.listdir("/sys/fs/cgroup") if os.path.isdir(f"/sys/fs/cgroup/{name}")]

    def end(self, runtime):
        self.end_containers(runtime)
        self.sim.stop()

    def end_containers(self, runtime):
        """Containers outlive their runtime: each shim has this node's socket in its command line."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as file:
                    is_ours = runtime in file.read() and int(pid) != os.getpid()
                with open(f"/proc/{pid}/task/{pid}/children") as file:
                    children = file.read().split()
            except OSError:
                continue
            for process in [*children, pid] if is_ours else []:
                subprocess.run(["kill", "-9", process], stderr=subprocess.DEVNULL, check=False)
        end = time.monotonic() + 5
        for hierarchy in self.hierarchies():
            while os.path.isdir(hierarchy + self.cgroups) and time.monotonic() < end:
                subprocess.run(["find", hierarchy + self.cgroups, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], stderr=subprocess.DEVNULL, check=False)
                time.sleep(0.05)


class FakeSocket:
    def __init__(self, text):
        self.text = text

    def makefile(self, _):
        return BytesIO(self.text)


class MachineProcess(Process):
    """A program in a virtual machine."""

    def __init__(self, machine, name, command, env=None):
        super().__init__(name, command, env)
        self.machine, self.background, self.earlier = machine, None, ""

    def start(self):
        assert not self.runs(), f"{self.command[0]} runs already"
        if self.background:
            self.earlier += self.background.output()
        self.background = self.machine.spawn(self.command, env=self.env)
        return self

    @property
    def pid(self):
        return self.background.pid

    def runs(self):
        return self.background is not None and self.background.poll() is None

    def kill9(self):
        if self.runs():
            self.background.kill(signal.SIGKILL)
        if self.background:
            self.background.wait(DEADLINE)

    def terminate(self):
        if self.runs():
            self.background.kill(signal.SIGTERM)
            self.background.wait(DEADLINE)

    def stop(self):
        self.background.kill(signal.SIGSTOP)

    def proceed(self):
        self.background.kill(signal.SIGCONT)

    def text(self):
        return self.earlier + self.text_since_start()

    def text_since_start(self):
        return self.background.output() if self.background else ""


class InMachine:
    """A virtual machine of tests/vm: eight CPUs with RDT on two NUMA nodes, cgroup v2. The API server is outside. The machine sees
    this one's files, read-only; its own are in memory. With the driver "systemd" this is the machine's first process."""

    address = MACHINE_ADDRESS
    server = f"https://{SERVER_ADDRESS}:{PORT}"
    kubelet = {"topologyManagerPolicy": "restricted"}
    cgroups = "/"
    folder = "/run/node"
    resctrl = "/sys/fs/resctrl"

    def __init__(self, cluster, name, driver):
        from machine import Machine  # tests/vm, by PYTHONPATH
        from shape import Shape
        share = f"{cluster.folder}/{name}"
        os.mkdir(share)
        self.driver = driver
        self.machine = Machine(share, memory=4096, cpu=Shape(numa=True), network=TAP, systemd=driver == "systemd")

    def start(self):
        for command in (f"tuntap add {TAP} mode tap", f"address add {SERVER_ADDRESS}/24 dev {TAP}", f"link set {TAP} up"):
            subprocess.run(["ip", *command.split()], check=True)
        self.machine.start()
        self.machine.run(f"""modprobe virtio_net; modprobe msr
device=$(ls /sys/class/net | grep -v lo)
ip address add {self.address}/24 dev $device; ip link set $device up; ip route add default via {SERVER_ADDRESS}
mount -t resctrl resctrl {self.resctrl}
{"" if self.driver == "systemd" else 'echo "+cpu +cpuset +memory +pids +io" > /sys/fs/cgroup/cgroup.subtree_control'}
mkdir -p {self.folder} /var/lib/kubelet; mount -t tmpfs kubelet /var/lib/kubelet; mkdir {self.folder}/kubelet
mount --bind /var/lib/kubelet {self.folder}/kubelet; mount --make-rshared /""")

    def of_nrd(self, *command):
        return list(command)

    def process(self, name, command, env=None, nice=0):
        return MachineProcess(self.machine, name, list(command), env)

    def request(self, at, method, path, body):
        head = f"{method} {path} HTTP/1.1\r\nHost: nrd\r\nConnection: close\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
        content = body or ""
        text = self.machine.exchange(at, f"{head}Content-Length: {len(content.encode())}\r\n\r\n{content}")
        answer = HTTPResponse(FakeSocket(text.encode("utf-8", "surrogateescape")), method=method)
        answer.begin()
        return answer.status, answer.read().decode()

    def run(self, *command):
        return self.machine.run(list(command), check=False, timeout=120)

    def make_folder(self, path):
        self.machine.run(["mkdir", "-p", path])

    def write(self, path, text):
        self.machine.write(path, text)

    def read(self, path):
        return self.machine.read(path)

    def listens(self, pattern):
        words = self.run("ss", "--unix", "--listening", "--no-header").stdout.split()  # the folder is mounted twice
        return bool(fnmatch.filter(words, f"*/{os.path.basename(pattern)}"))

    def groups(self):
        tree = self.machine.tree(self.resctrl, without=["mon_data", "mon_groups", "info", "last_cmd_status"])
        found = {}
        for path, text in tree.items():
            if path.endswith("schemata"):
                folder = path.removesuffix("schemata")
                group = found[folder.strip("/") or "COS0"] = {"cpus": tree[folder + "cpus_list"].strip(), "tasks": tree[folder + "tasks"].split()}
                for line in text.splitlines():
                    resource, _, values = line.strip().partition(":")
                    group[resource] = {cache: mask.lstrip("0") for cache, mask in (each.split("=") for each in values.split(";"))}
        return found

    def processes_of(self, cgroup):
        try:
            return {int(pid) for pid in self.read(f"/sys/fs/cgroup{cgroup}/cgroup.procs").split()}
        except OSError:  # the container has ended
            return set()

    def prepare_kubelet(self):
        pass

    def end(self, _runtime):
        self.machine.stop()
        subprocess.run(["ip", "link", "del", TAP], check=False)
