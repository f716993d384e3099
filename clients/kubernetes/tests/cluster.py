"""A real Kubernetes of one machine, with nrd on simulated nodes beside it.

    with Cluster() as cluster:
        worker = cluster.add_worker("node-a")       # nrd, containerd, kubelet, nrd-kube
        cluster.run_pod("feed", limits={"intel.com/l3_cache_ways": 2})

clients/kubernetes/test starts it in a network, mount and process namespace of its own: kubelets use fixed paths, and all
processes end with the test, whatever happens.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

import image
from api import Api
from processes import DEADLINE, Process, wait_for
from simnode import SimNode  # tests/simnode, by PYTHONPATH

PROGRAMS = os.environ.get("NRD_KUBE_PROGRAMS", "")
NRD_KUBE = os.environ.get("NRD_KUBE", "")
NRD = os.environ.get("NRD", "")
ADDRESS = "192.0.2.10"  # of the nodes; kubelets refuse loopback addresses
PORT = 6443
DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "deploy")
IMAGE = "registry.test/busybox:1"
PAUSE = "registry.test/pause:1"
WAIT = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"


def program(name):
    return os.path.join(PROGRAMS, name)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class Keys:
    """A certificate authority, and what it signs."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "30",
                     "-subj", "/CN=test-ca", "-keyout", "ca.key", "-out", "ca.crt")
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "sa.key")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def sign(self, name, subject, extensions="extendedKeyUsage=clientAuth"):
        write(f"{self.folder}/{name}.ext", extensions)
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", subject,
                     "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                     "-days", "30", "-out", f"{name}.crt", "-extfile", f"{name}.ext")

    def kubeconfig(self, path, name):
        user = {"client-certificate": f"{self.folder}/{name}.crt", "client-key": f"{self.folder}/{name}.key"}
        write_kubeconfig(path, self.folder, user)


def write_kubeconfig(path, pki, user):
    write(path, json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{PORT}", "certificate-authority": f"{pki}/ca.crt"}}],
        "users": [{"name": "user", "user": user}], "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}]}))


class Cluster:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="nrd-kube-")
        self.pki = f"{self.folder}/pki"
        self.workers = []
        self.processes = {}
        try:
            self.start()
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        self.keys = Keys(self.pki)
        self.keys.sign("server", "/CN=kube-apiserver", "subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1\nextendedKeyUsage=serverAuth")
        self.keys.sign("admin", "/O=system:masters/CN=admin")
        self.keys.sign("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client")
        self.keys.sign("front-proxy", "/CN=front-proxy")
        self.kubeconfig = f"{self.folder}/admin.kubeconfig"
        self.keys.kubeconfig(self.kubeconfig, "admin")
        self.api = Api(PORT, self.pki)
        self.spawn("etcd", *self.etcd())
        self.spawn("kube-apiserver", *self.apiserver())
        self.await_apiserver()
        self.spawn("kube-controller-manager", "--kubeconfig", self.kubeconfig, "--service-account-private-key-file", f"{self.pki}/sa.key",
                   "--root-ca-file", f"{self.pki}/ca.crt", "--use-service-account-credentials", "--leader-elect=false", "--secure-port", "0")
        self.spawn("kube-scheduler", "--kubeconfig", self.kubeconfig, "--leader-elect=false", "--secure-port", "0")
        wait_for(lambda: self.api.find("ServiceAccount", "default"), "the default service account")

    def etcd(self):
        peer = f"http://127.0.0.1:{PORT + 1000}"
        client = f"unix://{self.folder}/etcd.sock"
        os.mkdir(f"{self.folder}/etcd", 0o700)
        return ["--name", "t", "--data-dir", f"{self.folder}/etcd", "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"t={peer}",
                "--unsafe-no-fsync", "--log-level", "warn"]

    def apiserver(self):
        pki = self.pki
        return ["--etcd-servers", f"unix://{self.folder}/etcd.sock", "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
                "--secure-port", str(PORT), "--tls-cert-file", f"{pki}/server.crt", "--tls-private-key-file", f"{pki}/server.key",
                "--client-ca-file", f"{pki}/ca.crt", "--kubelet-preferred-address-types", "InternalIP",
                "--kubelet-client-certificate", f"{pki}/kubelet-client.crt", "--kubelet-client-key", f"{pki}/kubelet-client.key",
                "--kubelet-certificate-authority", f"{pki}/ca.crt",
                "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", f"{pki}/sa.key",
                "--service-account-signing-key-file", f"{pki}/sa.key",
                # Mandatory because both authorities are one.
                "--requestheader-client-ca-file", f"{pki}/ca.crt", "--requestheader-allowed-names", "front-proxy",
                "--proxy-client-cert-file", f"{pki}/front-proxy.crt", "--proxy-client-key-file", f"{pki}/front-proxy.key",
                "--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
                "--service-cluster-ip-range", "10.96.0.0/16", "--allow-privileged", "--endpoint-reconciler-type", "none",
                "--shutdown-delay-duration", "0s"]

    def await_apiserver(self):
        # An HTTP client, not kubectl: starting that program takes longer than the server's answer.
        self.processes["kube-apiserver"].await_start(lambda: self.api.request("GET", "/readyz") == "ok", "the API server", 180)

    def spawn(self, name, *words):
        self.processes[name] = Process(f"{self.folder}/{name}.log", [program(name), *words], nice=5).start()

    def kubectl(self, *words, check=True):
        return subprocess.run([program("kubectl"), "--kubeconfig", self.kubeconfig, *words], capture_output=True, text=True, check=check)

    def add_worker(self, name, **options):
        worker = Worker(self, name, **options)
        self.workers.append(worker)
        worker.start()
        return worker

    def end(self):
        for worker in self.workers:
            worker.end()
        for process in reversed(self.processes.values()):
            process.kill9()
        if not os.environ.get("NRD_KUBE_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    # Pods

    @staticmethod
    def pod(name, *containers, namespace="default", annotations=None, **spec):
        """A pod with one container that waits, or with the given ones."""
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
                "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, "containers": list(containers), **spec}}

    @staticmethod
    def container(name="main", script=WAIT, limits=None, **more):
        return {"name": name, "image": IMAGE, "imagePullPolicy": "Never", "command": ["sh", "-c", script],
                "resources": {"limits": {key: str(value) for key, value in (limits or {}).items()}}, **more}

    def create_pod(self, name, limits=None, script=WAIT, **more):
        return self.api.create(self.pod(name, self.container(limits=limits, script=script), **more))

    def run_pod(self, name, **more):
        self.create_pod(name, **more)
        return self.await_running(name, more.get("namespace", "default"))

    def await_running(self, name, namespace="default", deadline=DEADLINE):
        def runs():
            status = self.api.get("Pod", name, namespace)["status"]
            containers = status.get("containerStatuses", [])
            return status["phase"] == "Running" and containers and all("running" in each["state"] for each in containers)
        try:
            wait_for(runs, f"pod {name} to run", deadline)
        except AssertionError as error:
            raise AssertionError(f"{error}; its events: {self.api.events(name, namespace)}") from None
        return self.api.get("Pod", name, namespace)

    def await_gone(self, name, namespace="default"):
        wait_for(lambda: self.api.find("Pod", name, namespace) is None, f"pod {name} to be gone")

    def delete_pod(self, name, namespace="default", grace=None):
        self.api.delete("Pod", name, namespace, grace)
        self.await_gone(name, namespace)

    def await_event(self, name, part, namespace="default", deadline=DEADLINE):
        try:
            wait_for(lambda: any(part in message for message in self.api.events(name, namespace)), f"an event of {name}: {part}", deadline)
        except AssertionError as error:
            raise AssertionError(f"{error}; there are {self.api.events(name, namespace)}") from None


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("nrd", timeout=30)
        self.unix = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.unix)


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
        return int(self.cluster.api.get("Node", self.name)["status"]["allocatable"].get(resource, "0"))

    def capacity(self, resource):
        return int(self.cluster.api.get("Node", self.name)["status"]["capacity"].get(resource, "0"))

    def await_allocatable(self, resource, count):
        wait_for(lambda: self.allocatable(resource) == count, f"{count} {resource} on {self.name}")

    # nrd-kube

    def make_client(self, *options):
        command = [NRD_KUBE, "node", "--node", self.name, "--kubeconfig", self.kubeconfig, "--nrd-socket", f"{self.folder}/kubernetes.sock",
                   "--nri-socket", f"{self.folder}/nri/nri.sock", "--health", "", *options]
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
