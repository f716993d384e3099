"""A real Kubernetes of one machine, with nrd on simulated nodes beside it.

    with Cluster() as cluster:
        worker = cluster.add_worker("node-a")       # nrd, containerd, kubelet, nrd-kube
        cluster.run_pod("feed", limits={"intel.com/l3_cache_ways": 2})

clients/kubernetes/test starts it in a network, mount and process namespace of its own: kubelets use fixed paths, and all
processes end with the test, whatever happens.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from glob import glob

from api import Api
from processes import DEADLINE, Process, wait_for
from settings import DEPLOY, IMAGE, PORT, SERVER, SERVER_ADDRESS, WAIT, program, write
from worker import Worker


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

    def kubeconfig(self, path, name, server=SERVER):
        user = {"client-certificate": f"{self.folder}/{name}.crt", "client-key": f"{self.folder}/{name}.key"}
        write_kubeconfig(path, self.folder, user, server)


def write_kubeconfig(path, pki, user, server=SERVER):
    write(path, json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": f"{pki}/ca.crt"}}],
        "users": [{"name": "user", "user": user}], "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}]}))


class Cluster:
    def __init__(self):
        self.began = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="nrd-kube-")
        self.pki = f"{self.folder}/pki"
        self.audit = f"{self.folder}/audit.log"  # one JSON object a line, for each request of our roles
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
        found = self.races()
        self.end()
        assert not found, "\n".join(found)

    def start(self):
        self.keys = Keys(self.pki)
        self.keys.sign("server", "/CN=kube-apiserver", f"subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1,IP:{SERVER_ADDRESS}\nextendedKeyUsage=serverAuth")
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
        counted = {"level": "Metadata", "users": [f"system:serviceaccount:nrd-system:{account}" for account in ("nrd-node", "nrd-operator")]}
        write(f"{self.folder}/audit.json", json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                                                       "rules": [counted, {"level": "None"}]}))
        return ["--etcd-servers", f"unix://{self.folder}/etcd.sock", "--bind-address", "0.0.0.0", "--advertise-address", "127.0.0.1",
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
                "--audit-policy-file", f"{self.folder}/audit.json", "--audit-log-path", self.audit, "--shutdown-delay-duration", "0s"]

    def await_apiserver(self):
        # An HTTP client, not kubectl: starting that program takes longer than the server's answer.
        self.processes["kube-apiserver"].await_start(lambda: self.api.request("GET", "/readyz") == "ok", "the API server", 180)

    def spawn(self, name, *words):
        self.processes[name] = Process(f"{self.folder}/{name}.log", [program(name), *words], nice=5).start()

    def requests(self):
        """Of our roles, to the API server, in order. A watch is there once it has begun, and again when it ends."""
        with open(self.audit) as file:
            return [json.loads(line) for line in file]

    def kubectl(self, *words):
        return subprocess.run([program("kubectl"), "--kubeconfig", self.kubeconfig, *words], capture_output=True, text=True, check=True)

    def deploy(self, *kept):
        """Applies deploy/, without those of daemonset, deployment and webhook that a test does not need or runs itself."""
        self.kubectl("apply", "-k", DEPLOY)
        self.undeploy(*({"daemonset", "deployment", "webhook"} - set(kept)))

    def undeploy(self, *parts):
        for kind, name in (("daemonset", "nrd-node"), ("deployment", "nrd-operator")):
            if kind in parts:
                self.kubectl("delete", "-n", "nrd-system", kind, name, "--ignore-not-found")
        if "webhook" in parts:  # else the pods of other tests that ask are refused
            self.api.delete("MutatingWebhookConfiguration", "nrd-operator")

    def token(self, account, bound=None):
        """Of a service account of deploy/, as kubelet gets it for a pod; bound to a Node, for node clients."""
        spec = {"expirationSeconds": 3600}
        if bound:
            spec["boundObjectRef"] = {"kind": "Node", "apiVersion": "v1", "name": bound}
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return self.api.request("POST", self.api.path("ServiceAccount", "nrd-system", account, "token"), asked)["status"]["token"]

    def add_worker(self, name, **options):
        worker = Worker(self, name, **options)
        self.workers.append(worker)
        worker.start()
        return worker

    def races(self):
        """Reports of the race detector, from the first on: the program goes on after one."""
        found = []
        for log in (*glob(f"{self.folder}/*/nrd-kube.log"), *glob(f"{self.folder}/operator-*/log")):
            with open(log, errors="replace") as file:
                _, report, rest = file.read().partition("WARNING: DATA RACE")
            found += [f"{log}: {report}{rest[:5000]}"] if report else []
        return found

    def end(self):
        for worker in self.workers:
            worker.end()
        for process in reversed(self.processes.values()):
            process.kill9()
        if not os.environ.get("NRD_KUBE_KEEP"):
            self.unmount()
            shutil.rmtree(self.folder, ignore_errors=True)

    def unmount(self):
        """What containers and kubelets had mounted when they were killed; a mount point cannot be removed."""
        with open("/proc/self/mounts") as mounts:
            points = [line.split()[1] for line in mounts]
        for point in reversed(points):
            if point.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", point], check=False)

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
        """Kubelet fails a pod for good that was placed before it noticed that a plugin is away; its controller makes another."""
        namespace = more.get("namespace", "default")

        def create_again(status):
            if status.get("reason") == "UnexpectedAdmissionError":
                self.delete_pod(name, namespace, grace=0)
                self.create_pod(name, **more)
        self.create_pod(name, **more)
        return self.await_running(name, namespace, create_again)

    def await_running(self, name, namespace="default", seen=lambda status: None):
        """seen gets each status on the way."""
        def runs():
            status = self.api.get("Pod", name, namespace)["status"]
            containers = status.get("containerStatuses", [])
            seen(status)
            return status["phase"] == "Running" and containers and all("running" in each["state"] for each in containers)
        try:
            wait_for(runs, f"pod {name} to run")
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
