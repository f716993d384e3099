"""RMD's way of asking, and what else the cases of docs/rmd-compatibility.md share. The nodes they ask are rmd_nodes.py."""

import os

from harness import NRD

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
INVALID = "Failed to validate workload. Reason: "
CONFLICT = INVALID + "Workload validation in database failed. Details: "


def kept(folder, **files):
    """A configuration's section about policies, whose files are put into the folder."""
    lines = ["[policy]"]
    for key, (name, text) in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
        lines.append(f'{key} = "{os.path.join(folder, name)}"')
    return "\n".join(lines) + "\n"


def rmd_body(cores, ways=None, **more):
    """A body as clients of RMD 0.3 send it: what is the service's own is there, and empty."""
    cache = {"max": ways[0], "min": ways[1]} if ways else {}
    return {"core_ids": cores, "status": "", "cos_name": "", "rdt": {"cache": cache, "mba": {}}, "origin": "", **more}


def created(node, cores, ways=None, **more):
    return node.call("POST", "/v1/workloads/", rmd_body(cores, ways, **more))


def refusal(node, method, path, body=None, headers=None):
    """Status and text of a request that is refused, of which nothing stays."""
    before = node.plain(), node.stored()
    status, text, _ = node.request(method, path, body, headers)
    assert 400 <= status < 600 and text, (status, text)
    assert (node.plain(), node.stored()) == before
    return status, text


def not_created(node, cores, ways=None, **more):
    return refusal(node, "POST", "/v1/workloads", rmd_body(cores, ways, **more))


def masks(workload):
    return {cache: granted["mask"] for cache, granted in workload["granted_ways"].items()}


def counts(node):
    """What a request that changes nothing leaves as it is."""
    return node.sim.writes(), node.health()["revision"]


def daemon(node, *flags):
    """The daemon, started to say something and end: exit code and all that it said."""
    ended = node.sim.run_inside([NRD, *flags], check=False, timeout=60)
    return ended.returncode, ended.stdout + ended.stderr


def came_from_elsewhere(node, number):
    """The workload of that number is OpenStack's, as an import would leave it."""
    assert node.terminate() == 0
    node.change_store("UPDATE workload SET origin = 'OPENSTACK' WHERE id = ?", (number,))
    node.start()


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()
