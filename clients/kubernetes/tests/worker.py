"""One node of a cluster: nrd on simulated hardware, nrd-kube, containerd and kubelet."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import time

import image
from processes import Process, wait_for
from settings import ADDRESS, IMAGE, NRD, NRD_KUBE, PAUSE, PROGRAMS, WAIT, program, write
from simnode import SimNode  # tests/simnode, by PYTHONPATH


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("nrd", timeout=30)
        self.unix = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.unix)


def amount(text):
    """Of a resource, as the API server writes a whole number: "500", "1k"."""
    return int(text.replace("k", "000"))


class Worker:
    """One node: nrd on its simulated hardware, nrd-kube, and unless kubelet=False containerd and kubelet."""

    CONFIG = """
[tasks]
interval_seconds = 1
[reserve.kubernetes]
ways = 5
[[server.sockets]]
path = "{folder}/nrd.sock"
admin = ["root"]
[[server.sockets]]
path = "{folder}/kubernetes.sock"
origin = "kubernetes"
allow = ["workloads", "node", "onload.read", "onload.allocations"]
"""

    def __init__(self, cluster, name, kubelet=True, config="", client=True, **shape):
        self.cluster, self.name, self.has_kubelet, self.has_client = cluster, name, kubelet, client
        self.folder = f"{cluster.folder}/{name}"
        self.shape = {"sockets": 2, "cpus": 16, "ways": 11, "closids": 16, "min_cbm_bits": 1, "sparse_masks": False, **shape}
        self.config = config
        self.kubeconfig = cluster.kubeconfig  # of nrd-kube
        self.socket = f"{self.folder}/nrd.sock"
        self.runtime = f"{self.folder}/containerd.sock"
        self.sim = SimNode()
        self.nrd = self.containerd = self.kubelet = self.client = None
        for sub in ("", "/kubelet", "/containerd", "/run", "/cni", "/nri"):
            os.mkdir(self.folder + sub)

    def start(self):
        self.sim.start(["sleep", "infinity"], **self.shape)
        self.make_nrd()
        self.nrd.start()
        self.await_nrd()
        if self.has_kubelet:
            self.prepare_mounts()
            self.make_containerd()
            self.start_containerd()
            self.load_images()
            self.make_kubelet()
            self.kubelet.start()
        self.make_client()
        if self.has_client:
            self.client.start()
        if self.has_kubelet:
            self.await_ready()

    def inside(self, *words):
        return self.sim.inside(list(words))

    # nrd

    def make_nrd(self):
        write(f"{self.folder}/nrd.toml", self.CONFIG.format(folder=self.folder) + self.config)
        self.nrd = Process(f"{self.folder}/nrd.log", self.inside(NRD, "--config", f"{self.folder}/nrd.toml", "--state-dir", f"{self.folder}/state"))

    def await_nrd(self):
        self.nrd.await_start(lambda: self.call("GET", "/v1/health"), "nrd")

    def call(self, method, path, body=None):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", "Accept": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text}"
        return json.loads(text) if text else True

    def workloads(self):
        return self.call("GET", "/v1/workloads")

    def workload_of(self, pod, container="main"):
        """nrd's workload of a container, by its labels; None without."""
        found = [w for w in self.workloads() if (w.get("labels", {}).get("pod"), w.get("labels", {}).get("container")) == (pod, container)]
        assert len(found) < 2, found
        return found[0] if found else None

    def groups(self):
        """The classes of the simulated kernel: masks and tasks."""
        return self.sim.dump()

    # containerd

    def prepare_mounts(self):
        """Kubelet uses /var/lib/kubelet for sockets whatever its root is; the test's mount namespace has this one there.

        Only nrd is inside the simulated node: kubelet needs more of /sys than that has.
        """
        script = f"mkdir -p /var/lib/kubelet && mount --make-rslave / && mount --bind {self.folder}/kubelet /var/lib/kubelet && mount --make-rshared /"
        subprocess.run(["sh", "-c", script], check=True)
        self.cgroups = f"/nrd-kube-{os.path.basename(self.cluster.folder)}-{self.name}"
        for hierarchy in self.hierarchies():
            os.makedirs(hierarchy + self.cgroups, exist_ok=True)
            if hierarchy.endswith("/cpuset"):  # empty in a new cgroup, and then no process may enter
                for file in ("cpuset.cpus", "cpuset.mems"):
                    with open(f"{hierarchy}/{file}") as parent:
                        write(f"{hierarchy}{self.cgroups}/{file}", parent.read())

    @staticmethod
    def hierarchies():
        if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            return ["/sys/fs/cgroup"]
        return [f"/sys/fs/cgroup/{name}" for name in os.listdir("/sys/fs/cgroup") if os.path.isdir(f"/sys/fs/cgroup/{name}")]

    def make_containerd(self, nri=True):
        write(f"{self.folder}/cni/10-loopback.conflist", json.dumps({"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}))
        write(f"{self.folder}/containerd.toml", f"""version = 3
root = "{self.folder}/containerd"
state = "{self.folder}/run"
[grpc]
  address = "{self.runtime}"
[ttrpc]
  address = "{self.runtime}.ttrpc"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true  # where root may not lower it
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "{self.folder}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "{program("runc")}"
        SystemdCgroup = false
[plugins."io.containerd.nri.v1.nri"]
  disable = {str(not nri).lower()}
  socket_path = "{self.folder}/nri/nri.sock"
  plugin_path = "{self.folder}/nri/plugins"
  plugin_config_path = "{self.folder}/nri/conf.d"
  plugin_registration_timeout = "5s"
  plugin_request_timeout = "2s"
""")
        self.containerd = Process(f"{self.folder}/containerd.log", [program("containerd"), "--config", f"{self.folder}/containerd.toml"],
                                  env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})

    def start_containerd(self):
        self.containerd.start()
        self.containerd.await_start(lambda: self.ctr("version").returncode == 0, "containerd")

    def ctr(self, *words):
        return subprocess.run([program("ctr"), "-a", self.runtime, "-n", "k8s.io", *words], capture_output=True, text=True, check=False)

    def load_images(self):
        busybox = shutil.which("busybox")
        for name, config in ((IMAGE, {"Cmd": ["sh"]}), (PAUSE, {"Entrypoint": ["/bin/busybox", "sh", "-c", WAIT.replace("sleep", "/bin/busybox sleep")]})):
            archive = f"{self.folder}/image.tar"
            image.write_busybox(archive, name, busybox, **config)
            loaded = self.ctr("images", "import", "--local", archive)
            assert loaded.returncode == 0, loaded.stderr
            os.unlink(archive)

    # kubelet

    def make_kubelet(self):
        keys = self.cluster.keys
        keys.sign(f"node-{self.name}", f"/O=system:nodes/CN=system:node:{self.name}")
        keys.sign(f"serve-{self.name}", f"/CN={self.name}", f"subjectAltName=DNS:{self.name},IP:{ADDRESS}\nextendedKeyUsage=serverAuth")
        keys.kubeconfig(f"{self.folder}/kubelet.kubeconfig", f"node-{self.name}")
        nothing_evicted = {name: "0%" for name in ("memory.available", "nodefs.available", "imagefs.available", "nodefs.inodesFree", "imagefs.inodesFree")}
        write(f"{self.folder}/kubelet.json", json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": f"{keys.folder}/ca.crt"}},
            "authorization": {"mode": "AlwaysAllow"},
            "tlsCertFile": f"{keys.folder}/serve-{self.name}.crt", "tlsPrivateKeyFile": f"{keys.folder}/serve-{self.name}.key",
            "address": ADDRESS, "containerRuntimeEndpoint": f"unix://{self.runtime}", "imageServiceEndpoint": f"unix://{self.runtime}",
            "cgroupDriver": "cgroupfs", "cgroupRoot": self.cgroups, "failCgroupV1": False, "failSwapOn": False, "healthzPort": 0,
            "evictionHard": nothing_evicted, "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            "nodeStatusUpdateFrequency": "2s", "syncFrequency": "10s", "volumeStatsAggPeriod": "0s", "staticPodPath": f"{self.folder}/static"}))
        os.makedirs(f"{self.folder}/static", exist_ok=True)
        self.kubelet = Process(f"{self.folder}/kubelet.log", [
            program("kubelet"), "--config", f"{self.folder}/kubelet.json", "--kubeconfig", f"{self.folder}/kubelet.kubeconfig",
            "--hostname-override", self.name, "--node-ip", ADDRESS], nice=5)

    def await_ready(self):
        def ready():
            conditions = self.cluster.api.get("Node", self.name)["status"].get("conditions", [])
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        self.kubelet.await_start(ready, f"node {self.name}", 120)

    def allocatable(self, resource):
        return amount(self.cluster.api.get("Node", self.name)["status"]["allocatable"].get(resource, "0"))

    def capacity(self, resource):
        return amount(self.cluster.api.get("Node", self.name)["status"]["capacity"].get(resource, "0"))

    def serves(self, slug="l3_cache_ways"):
        """Whether kubelet has the plugin now. What the API server says may be from before a restart."""
        with socket.socket(socket.AF_UNIX) as plugin:
            plugin.connect(f"{self.folder}/kubelet/device-plugins/nrd-{slug}.sock")
        lines = [line for line in self.client.text().splitlines() if "kubelet" in line and slug in line]
        return lines and "registered with kubelet" in lines[-1]

    def await_devices(self, resource="intel.com/l3_cache_ways", count=5):
        wait_for(self.serves, f"the plugin on {self.name}")
        self.await_allocatable(resource, count)

    def await_allocatable(self, resource, count):
        wait_for(lambda: self.allocatable(resource) == count, f"{count} {resource} on {self.name}")

    # nrd-kube

    def make_client(self, *options):
        command = [NRD_KUBE, "node", "--node", self.name, "--kubeconfig", self.kubeconfig, "--nrd-socket", f"{self.folder}/kubernetes.sock",
                   "--nri-socket", f"{self.folder}/nri/nri.sock", "--health", "", *options]
        if not self.has_kubelet:  # not that of another worker
            command += ["--kubelet-dir", f"{self.folder}/kubelet"]
        self.client = Process(f"{self.folder}/nrd-kube.log", command)

    # End

    def end(self):
        for process in (self.client, self.kubelet, self.containerd, self.nrd):
            if process:
                process.kill9()
        if self.has_kubelet:
            self.end_containers()
        self.sim.stop()

    def end_containers(self):
        """Containers outlive their runtime: each shim has this node's socket in its command line."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as file:
                    is_ours = self.runtime in file.read() and int(pid) != os.getpid()
                with open(f"/proc/{pid}/task/{pid}/children") as file:
                    children = file.read().split()
            except OSError:
                continue
            for process in [*children, pid] if is_ours else []:
                subprocess.run(["kill", "-9", process], stderr=subprocess.DEVNULL, check=False)
        end = time.monotonic() + 5
        for hierarchy in self.hierarchies() if getattr(self, "cgroups", None) else []:
            while os.path.isdir(hierarchy + self.cgroups) and time.monotonic() < end:
                subprocess.run(["find", hierarchy + self.cgroups, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], stderr=subprocess.DEVNULL, check=False)
                time.sleep(0.05)
