"""Paths and names that all of a test cluster uses."""

import os

PROGRAMS = os.environ.get("NRD_KUBE_PROGRAMS", "")
NRD_KUBE = os.environ.get("NRD_KUBE", "")
RELEASED = NRD_KUBE.removesuffix("-race")  # what users get, which needs no libc; without the race detector several times faster
NRD = os.environ.get("NRD", "")
NRDCTL = os.environ.get("NRDCTL", "")
ADDRESS = "192.0.2.10"  # of the nodes; kubelets refuse loopback addresses
PORT = 6443
SERVER = f"https://127.0.0.1:{PORT}"
SERVER_ADDRESS, MACHINE_ADDRESS, TAP = "198.51.100.1", "198.51.100.2", "tap0"  # between the API server and a virtual machine
DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "deploy")
IMAGE = "registry.test/busybox:1"
PAUSE = "registry.test/pause:1"
WAIT = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"


def program(name):
    return os.path.join(PROGRAMS, name)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
