"""The real daemon with the stub's releases on a machine of its own, seen through its API and from outside.

    node = OnloadNode(vm); node.start(); node.install("8.1.2.26")
    operation = node.load("8.1.2.26")          # waits for its end
    node.kill9(); node.start()
    node.back_up(); vm.power_cut(); node.restore(); node.start()     # the state survives anyhow
"""

import time

import onload_stub
from daemon_node import STATE, DaemonNode
from onload_stub import LONG, OnloadStub

OLD, NEW, NEWEST = "8.1.2.26", "9.0.1.86", "9.1.0"

# The versions need a file system that can do more than the share's 9p.
VERSIONS, IMPORTS, BACKUP = "/opt/nrd/onload", "/opt/nrd/import", "/share/versions"
CONFIG = f"""[onload]
versions = "{VERSIONS}"
imports = "{IMPORTS}"
users_policy = "kill"
look_interval_seconds = 1
parameters = ["onload.stub_server_params", "onload.stub_wrong_version", "onload.cplane_server_uid=1", "onload.cplane_server_gid=1"]
"""
OURS = ("onload", "sfc_char", "sfc_resource")


class OnloadNode(DaemonNode):
    def __init__(self, vm, config=CONFIG):
        super().__init__(vm, config)
        self.stub = OnloadStub(vm)

    # The daemon

    def forget(self):
        """Everything that it knows, and the modules."""
        if self.daemon is not None:
            self.kill9()
        self.vm.run(["rm", "-rf", STATE, VERSIONS, IMPORTS, BACKUP])
        self.stub.disarm()
        self.stub.unload()

    def back_up(self):
        self.vm.run(["cp", "-a", VERSIONS, BACKUP])

    def restore(self):
        """After the power came back: the versions as they were backed up."""
        self.vm.run(f"mkdir -p /opt/nrd && cp -a {BACKUP} {VERSIONS}")

    # Requests

    def install(self, *releases):
        self.vm.run(["mkdir", "-p", IMPORTS])
        for release in releases:
            self.vm.run(["cp", "-r", self.stub.tree(release), f"{IMPORTS}/{release}"])
            status, answer = self.request("POST", "/v1/onload/versions", {"name": release, "source": f"{IMPORTS}/{release}"})
            assert status == 201, answer

    def want(self, spec, status=202):
        got, answer = self.request("PUT", "/v1/onload", spec)
        assert got == status, answer
        return answer

    def finished(self, operation, timeout=120):
        deadline = time.monotonic() + timeout
        found = self.get(f"/v1/onload/operations/{operation}")
        while found["outcome"] == "running":
            assert time.monotonic() < deadline, found
            found = self.get(f"/v1/onload/operations/{operation}?since={found['revision']}&wait=20")
        return found

    def run(self, spec):
        return self.finished(self.want(spec)["operation"])

    def load(self, release, **more):
        operation = self.run({"state": "loaded", "version": release, **more})
        assert operation["outcome"] == "succeeded", operation
        return operation

    # What is there

    def onload(self):
        return self.get("/v1/onload")

    def condition(self, kind):
        return next(c["status"] == "True" for c in self.onload()["conditions"] if c["type"] == kind)

    def assert_loaded(self, release):
        """As the kernel, the files and the daemon say."""
        assert [m for m in OURS if self.stub.is_loaded(m)] == list(OURS)
        assert self.vm.read("/sys/module/onload/version").strip() == release.split("-")[0]
        links = [f"{VERSIONS}/current", f"/proc/{self.stub.await_server()}/exe"]
        assert self.vm.run(["readlink", *links]).stdout.splitlines() == [
            f"versions/{release}", f"{VERSIONS}/versions/{release}/sbin/onload_cp_server"]
        devices = ("onload", "onload_epoll", "sfc_char")
        numbers = [self.vm.read(f"/sys/class/{device}/{device}/dev").strip() for device in devices]
        assert self.vm.run(["stat", "-c", "%Hr:%Lr %a", *(f"/dev/{device}" for device in devices)]).stdout.splitlines() == [
            f"{number} 666" for number in numbers]
        assert self.stub.parameter("cplane_spawn_server") == "Y"
        self.vm.wait_until(lambda: self.condition("DeviceAccessOpen"), what="device access")
        assert not self.condition("Drifted")
        assert self.onload()["version"] == release.split("-")[0]

    def assert_unloaded(self):
        assert not any(self.stub.is_loaded(module) for module in OURS)
        assert not any(self.vm.run(["test", "-e", f"/dev/{d}"], check=False).returncode == 0 for d in ("onload", "sfc_char"))
        assert not self.condition("DeviceAccessOpen")

    def acts(self, operation):
        return [(step["act"], step["subject"]) for step in operation["steps"]]


__all__ = ["LONG", "NEW", "NEWEST", "OLD", "OnloadNode", "onload_stub"]
