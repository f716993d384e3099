"""One node of a cluster: nrd, nrd-kube, containerd and kubelet."""

import json
import os
import shutil

import image
from places import Here
from processes import wait_for
from settings import IMAGE, NRD, NRD_KUBE, PAUSE, PROGRAMS, WAIT, program


def amount(text):
    """Of a resource, as the API server writes a whole number: "500", "1k"."""
    return int(text.replace("k", "000"))


class Worker:
    """One node: nrd, nrd-kube, and unless kubelet=False containerd and kubelet, all of them at `place`."""

    CONFIG = """
[tasks]
interval_seconds = 1
[reserve.kubernetes]
ways = 5
[[server.sockets]]
path = "{folder}/nrd.sock"
admin = ["root"]
[[server.sockets]]
path = "{folder}/kube/nrd.sock"
origin = "kubernetes"
allow = ["workloads", "node", "onload.read", "onload.allocations"]
"""

    def __init__(self, cluster, name, kubelet=True, config="", client=True, place=None, **shape):
        self.cluster, self.name, self.has_kubelet, self.has_client = cluster, name, kubelet, client
        self.place = place or Here(cluster, name, **shape)
        self.folder = self.place.folder
        self.config = config
        self.kubeconfig = f"{cluster.folder}/{name}.kubeconfig"  # of nrd-kube
        self.socket = f"{self.folder}/nrd.sock"
        self.socket_of_client = f"{self.folder}/kube/nrd.sock"
        self.runtime = f"{self.folder}/containerd.sock"
        self.nrd = self.containerd = self.kubelet = self.client = None

    @property
    def sim(self):
        return self.place.sim

    def start(self):
        self.place.start()
        for sub in ("", "/kubelet", "/containerd", "/run", "/cni", "/nri", "/static"):
            self.place.make_folder(self.folder + sub)
        self.cluster.keys.kubeconfig(self.kubeconfig, "admin", self.place.server)
        self.make_nrd()
        self.nrd.start()
        self.await_nrd()
        if self.has_kubelet:
            self.place.prepare_kubelet()
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

    # nrd

    def write_config(self):
        self.place.write(f"{self.folder}/nrd.toml", self.CONFIG.format(folder=self.folder) + self.config)

    def make_nrd(self):
        self.write_config()
        command = self.place.of_nrd(NRD, "--config", f"{self.folder}/nrd.toml", "--state-dir", f"{self.folder}/state")
        # AddressSanitizer keeps up to 256 MB of freed memory, which would hide growth, or look like it.
        self.nrd = self.place.process("nrd", command, env={"ASAN_OPTIONS": "quarantine_size_mb=4"})

    def reconfigure(self, config):
        """Starts nrd again with this in addition to what every worker has."""
        self.nrd.kill9()
        self.config = config
        self.make_nrd()
        self.nrd.start()
        self.await_nrd()

    def reload(self, config):
        """Makes nrd that runs take this in addition to what every worker has."""
        self.config = config
        self.write_config()
        self.call("POST", "/v1/config/reload")

    def await_nrd(self):
        self.nrd.await_start(lambda: self.call("GET", "/v1/health"), "nrd")

    def call(self, method, path, body=None):
        status, text = self.place.request(self.socket, method, path, None if body is None else json.dumps(body))
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text) if text else True

    def workloads(self):
        return self.call("GET", "/v1/workloads")

    def workload_of(self, pod, container="main"):
        """nrd's workload of a container, by its labels; None without."""
        found = [w for w in self.workloads() if (w.get("labels", {}).get("pod"), w.get("labels", {}).get("container")) == (pod, container)]
        assert len(found) < 2, found
        return found[0] if found else None

    def groups(self):
        """The classes of the kernel: masks and tasks."""
        return self.place.groups()

    def processes_of(self, workload):
        """Processes of the workload's cgroup."""
        return self.place.processes_of(workload["cgroup"])

    def waiting_processes_of(self, workload):
        """Of a container that waits: its shell, and the sleep that the shell has started soon."""
        def found():
            pids = self.processes_of(workload)
            return len(pids) == 2 and pids
        return wait_for(found, "the shell and its sleep")

    @staticmethod
    def container_of(workload):
        """The runtime's id, from the name of the cgroup."""
        return workload["cgroup"].rsplit("/", 1)[1].removeprefix("cri-containerd-").removesuffix(".scope")

    def tasks_of(self, workload):
        """Of the class of the workload."""
        return {int(task) for task in self.groups()[workload["cos_name"]]["tasks"]}

    # containerd

    def make_containerd(self, nri=True):
        self.place.write(f"{self.folder}/cni/10-loopback.conflist", json.dumps({"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}))
        self.place.write(f"{self.folder}/containerd.toml", f"""version = 3
root = "{self.folder}/containerd"
state = "{self.folder}/run"
[grpc]
  address = "{self.runtime}"
[ttrpc]
  address = "{self.runtime}.ttrpc"
[timeouts]  # of a restart, after which it kills the containers: an emulated machine needs longer than 5 s and 2 s
  "io.containerd.timeout.shim.load" = "60s"
  "io.containerd.timeout.task.state" = "60s"
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
        SystemdCgroup = {str(self.place.driver == "systemd").lower()}
[plugins."io.containerd.nri.v1.nri"]
  disable = {str(not nri).lower()}
  socket_path = "{self.folder}/nri/nri.sock"
  plugin_path = "{self.folder}/nri/plugins"
  plugin_config_path = "{self.folder}/nri/conf.d"
  plugin_registration_timeout = "5s"
  plugin_request_timeout = "2s"
""")
        self.containerd = self.place.process("containerd", [program("containerd"), "--config", f"{self.folder}/containerd.toml"],
                                             env={"PATH": f"{PROGRAMS}:{os.environ['PATH']}"})

    def start_containerd(self):
        self.containerd.start()
        self.containerd.await_start(lambda: self.ctr("version").returncode == 0, "containerd")

    def ctr(self, *words):
        return self.place.run(program("ctr"), "-a", self.runtime, "-n", "k8s.io", *words)

    def load_images(self):
        busybox = shutil.which("busybox")
        for name, config in ((IMAGE, {"Cmd": ["sh"]}), (PAUSE, {"Entrypoint": ["/bin/busybox", "sh", "-c", WAIT.replace("sleep", "/bin/busybox sleep")]})):
            archive = f"{self.cluster.folder}/{name.rpartition('/')[2]}.tar"
            image.write_busybox(archive, name, busybox, **config)
            loaded = self.ctr("images", "import", "--local", archive)
            assert loaded.returncode == 0, loaded.stderr
            os.unlink(archive)

    # kubelet

    def make_kubelet(self):
        keys = self.cluster.keys
        keys.sign(f"node-{self.name}", f"/O=system:nodes/CN=system:node:{self.name}")
        keys.sign(f"serve-{self.name}", f"/CN={self.name}", f"subjectAltName=DNS:{self.name},IP:{self.place.address}\nextendedKeyUsage=serverAuth")
        keys.kubeconfig(f"{keys.folder}/kubelet-{self.name}.kubeconfig", f"node-{self.name}", self.place.server)
        nothing_evicted = {name: "0%" for name in ("memory.available", "nodefs.available", "imagefs.available", "nodefs.inodesFree", "imagefs.inodesFree")}
        self.place.write(f"{self.folder}/kubelet.json", json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": f"{keys.folder}/ca.crt"}},
            "authorization": {"mode": "AlwaysAllow"},
            "tlsCertFile": f"{keys.folder}/serve-{self.name}.crt", "tlsPrivateKeyFile": f"{keys.folder}/serve-{self.name}.key",
            "address": self.place.address, "containerRuntimeEndpoint": f"unix://{self.runtime}", "imageServiceEndpoint": f"unix://{self.runtime}",
            "cgroupDriver": self.place.driver, "cgroupRoot": self.place.cgroups, "failCgroupV1": False, "failSwapOn": False, "healthzPort": 0,
            "evictionHard": nothing_evicted, "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            "nodeStatusUpdateFrequency": "2s", "syncFrequency": "10s", "volumeStatsAggPeriod": "0s", "staticPodPath": f"{self.folder}/static",
            **self.place.kubelet}))
        self.kubelet = self.place.process("kubelet", [
            program("kubelet"), "--config", f"{self.folder}/kubelet.json", "--kubeconfig", f"{keys.folder}/kubelet-{self.name}.kubeconfig",
            "--hostname-override", self.name, "--node-ip", self.place.address], nice=5)

    def await_ready(self):
        def ready():
            conditions = self.cluster.api.get("Node", self.name)["status"].get("conditions", [])
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        self.kubelet.await_start(ready, f"node {self.name}")

    def allocatable(self, resource):
        return amount(self.cluster.api.get("Node", self.name)["status"]["allocatable"].get(resource, "0"))

    def capacity(self, resource):
        return amount(self.cluster.api.get("Node", self.name)["status"]["capacity"].get(resource, "0"))

    def serves(self):
        """Whether kubelet has the plugin of ways now. What the API server says may be from before a restart."""
        if not self.place.listens(f"{self.folder}/kubelet/device-plugins/nrd-l3_cache_ways.*.sock"):
            return False
        lines = [line for line in self.client.text_since_start().splitlines() if "kubelet" in line and "l3_cache_ways" in line]
        return lines and "registered with kubelet" in lines[-1]

    def await_devices(self):
        wait_for(self.serves, f"the plugin on {self.name}")
        self.await_allocatable("intel.com/l3_cache_ways", 5)

    def await_allocatable(self, resource, count):
        wait_for(lambda: self.allocatable(resource) == count, f"{count} {resource} on {self.name}")

    # nrd-kube

    def make_client(self, *options, program=NRD_KUBE):
        command = [program, "node", "--node", self.name, "--kubeconfig", self.kubeconfig, "--nrd-socket", self.socket_of_client,
                   "--nri-socket", f"{self.folder}/nri/nri.sock", "--health", "", *options]
        if not self.has_kubelet:  # not that of another worker
            command += ["--kubelet-dir", f"{self.folder}/kubelet", "--device-plugins", f"{self.folder}/kubelet/device-plugins"]
        self.client = self.place.process("nrd-kube", command)

    # End

    def end(self):
        for process in (self.client, self.kubelet, self.containerd, self.nrd):
            if process:
                process.kill9()
        self.place.end(self.runtime)
