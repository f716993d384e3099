"""A client of the API server for tests, with the rights of an administrator unless it is given a token."""

import http.client
import json
import ssl

PATHS = {  # kind: path of its group and version, plural
    "Pod": ("/api/v1", "pods"),
    "Node": ("/api/v1", "nodes"),
    "Event": ("/api/v1", "events"),
    "Namespace": ("/api/v1", "namespaces"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Job": ("/apis/batch/v1", "jobs"),
    "RmdWorkload": ("/apis/intel.com/v1alpha1", "rmdworkloads"),
    "RmdNodeState": ("/apis/intel.com/v1alpha1", "rmdnodestates"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases"),
    "MutatingWebhookConfiguration": ("/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    "RmdConfig": ("/apis/intel.com/v1alpha1", "rmdconfigs"),
}
WITHOUT_NAMESPACE = {"Node", "Namespace", "MutatingWebhookConfiguration"}


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status, self.text = status, text


class Api:
    def __init__(self, port, pki, token=None):
        self.port, self.token = port, token
        self.tls = ssl.create_default_context(cafile=f"{pki}/ca.crt")
        if not token:
            self.tls.load_cert_chain(f"{pki}/admin.crt", f"{pki}/admin.key")

    def request(self, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=30)
        try:
            headers = {"Content-Type": kind}
            if self.token:
                headers["Authorization"] = "Bearer " + self.token
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= 300:
            try:
                text = json.loads(text)["message"]
            except ValueError:
                pass
            raise Refused(answer.status, text)
        return json.loads(text) if text.startswith("{") else text

    @staticmethod
    def path(kind, namespace="default", name=None, sub=None):
        base, plural = PATHS[kind]
        parts = [base] if kind in WITHOUT_NAMESPACE else [base, "namespaces", namespace]
        return "/".join([*parts, plural, *filter(None, [name, sub])])

    def create(self, body, namespace="default"):
        return self.request("POST", self.path(body["kind"], body["metadata"].get("namespace", namespace)), body)

    def get(self, kind, name, namespace="default"):
        return self.request("GET", self.path(kind, namespace, name))

    def find(self, kind, name, namespace="default"):
        """None if there is none."""
        try:
            return self.get(kind, name, namespace)
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def list(self, kind, namespace="default", query=""):
        return self.request("GET", self.path(kind, namespace) + query)["items"]

    def merge(self, kind, name, change, namespace="default", sub=None):
        return self.request("PATCH", self.path(kind, namespace, name, sub), change, "application/merge-patch+json")

    def delete(self, kind, name, namespace="default", grace=None):
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        try:
            self.request("DELETE", self.path(kind, namespace, name) + query)
        except Refused as refused:
            if refused.status != 404:
                raise

    def events(self, name, namespace="default"):
        """Messages of the events of an object."""
        found = self.list("Event", namespace, f"?fieldSelector=involvedObject.name%3D{name}")
        return [event.get("message", "") for event in found]
