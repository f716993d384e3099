"""Replicas of the operator role outside of pods, with the rights of deploy/ and no others."""

import base64
import http.client
import ssl
import subprocess

from cluster import write_kubeconfig
from processes import Process, wait_for
from settings import NRD_KUBE

NAME = "nrd-operator"  # of its objects


class Operator:
    """One replica. The test cluster has no network of services, so that the API server calls it by URL."""

    def __init__(self, cluster, port, *options):
        self.cluster, self.port, self.health = cluster, port, port + 1000
        folder = f"{cluster.folder}/operator-{port}"
        subprocess.run(["mkdir", "-p", folder], check=True)
        write_kubeconfig(f"{folder}/kubeconfig", cluster.pki, {"token": cluster.token(NAME)})
        self.process = Process(f"{folder}/log", [
            NRD_KUBE, "operator", "--kubeconfig", f"{folder}/kubeconfig", "--webhook", f"127.0.0.1:{port}",
            "--health", f"127.0.0.1:{self.health}", *options])

    def start(self):
        self.process.start()
        self.process.await_start(lambda: self.get("/readyz") == "ok\n", "the operator to be ready")
        return self

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return text if answer.status == 200 else f"{answer.status}: {text}"

    def is_trusted(self, authorities=None):
        """Whether a client that trusts these alone, or the configuration's caBundle, accepts its certificate."""
        context = ssl.create_default_context(cadata=authorities or bundle(self.cluster))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == 404
        except ssl.SSLError:
            return False
        finally:
            connection.close()


def bundle(cluster):
    client = cluster.api.get("MutatingWebhookConfiguration", NAME)["webhooks"][0]["clientConfig"]
    return base64.b64decode(client.get("caBundle", "")).decode()


def call(cluster, port):
    """Makes the API server call the replica on this port."""
    patch = [{"op": "add", "path": "/webhooks/0/clientConfig/url", "value": f"https://127.0.0.1:{port}/mutating-pods"}]
    if "service" in cluster.api.get("MutatingWebhookConfiguration", NAME)["webhooks"][0]["clientConfig"]:
        patch.append({"op": "remove", "path": "/webhooks/0/clientConfig/service"})
    path = cluster.api.path("MutatingWebhookConfiguration", name=NAME)
    cluster.api.request("PATCH", path, patch, "application/json-patch+json")


def await_called(cluster, probe):
    """The API server learns of a changed configuration a moment later."""
    wait_for(probe, "the API server to call the webhook", 20)
