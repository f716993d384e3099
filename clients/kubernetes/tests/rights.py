"""Taking away rights that deploy/ gives to a service account, one at a time."""

import contextlib

from processes import wait_for

BASE = "/apis/rbac.authorization.k8s.io/v1/"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
GROUPS = {"nodes": "", "events": "events.k8s.io", "daemonsets": "apps", "leases": "coordination.k8s.io", "mutatingwebhookconfigurations": "admissionregistration.k8s.io"}


def may(cluster, account, rule, verb):
    """Whether the account has the right of this rule of one of its roles."""
    resource, _, sub = rule["resource"].partition("/")
    attributes = {"group": GROUPS.get(resource, "intel.com"), "resource": resource, "subresource": sub, "verb": verb,
                  "namespace": rule["namespace"] or "", "name": rule["name"]}
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": f"system:serviceaccount:nrd-system:{account}", "resourceAttributes": attributes}}
    return cluster.api.request("POST", REVIEWS, asked)["status"]["allowed"]


@contextlib.contextmanager
def without(cluster, account, namespace, resource, verb):
    """The account's role in the namespace, or its cluster role without one, has not this verb of the resource."""
    path = BASE + (f"namespaces/{namespace}/roles/" if namespace else "clusterroles/") + account
    rules = cluster.api.request("GET", path)["rules"]
    taken = next(rule for rule in rules if resource in rule["resources"] and verb in rule["verbs"])
    less = [{**rule, "verbs": [each for each in rule["verbs"] if each != verb]} if rule is taken else rule for rule in rules]
    right = {"resource": resource, "namespace": namespace or "default", "name": taken.get("resourceNames", [""])[0]}
    cluster.api.request("PATCH", path, {"rules": [rule for rule in less if rule["verbs"]]}, "application/merge-patch+json")
    try:
        wait_for(lambda: not may(cluster, account, right, verb), "the right to be gone")
        yield
    finally:
        cluster.api.request("PATCH", path, {"rules": rules}, "application/merge-patch+json")
        wait_for(lambda: may(cluster, account, right, verb), "the right to be back")


def await_lack(process, known, resource, verb):
    """The process says, after `known` characters of its log, which right it lacks."""
    part = f'cannot {verb} resource "{resource}"'
    wait_for(lambda: part in process.text()[known:].replace('\\"', '"'), f"it to lack {verb} of {resource}")
