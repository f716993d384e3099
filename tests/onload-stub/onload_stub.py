"""The stub's releases in a virtual machine (tests/vm), for its own tests and for those of nrd.

    stub = OnloadStub(vm)
    stub.load("9.0.1.86", cplane_server_params="-K")      # all four modules, and the release's server
    stub.arm("onload", "9.1.0", "fail_init=12")           # the next load of this release
    stub.control("create 1 4242 1000")                    # a stack
    stub.unload()

$NRD_ONLOAD_STUB is the folder of the trees.
"""

import os

import pytest

# Each change of Onload takes an emulated machine some ten seconds, so ./test runs what is typical and tests/vm/run all.
LONG = pytest.mark.skipif(not os.environ.get("NRD_VM_LONG"), reason="takes long: tests/vm/run runs it")

MODULES = ("sfc", "sfc_resource", "sfc_char", "onload")  # in the order of loading
RELEASES = ("8.1.2.26", "9.0.1.86", "9.1.0")
UNKNOWN_SYMBOL, OTHER_KERNEL = "9.1.0-unknown-symbol", "9.1.0-other-kernel"  # do not load


class OnloadStub:
    def __init__(self, vm, trees=None):
        self.vm = vm
        self.trees = os.path.abspath(trees or os.environ["NRD_ONLOAD_STUB"])

    def tree(self, release):
        return os.path.join(self.trees, release)

    def file(self, module, release):
        return f"{self.tree(release)}/lib/modules/{self.vm.release}/extra/{module}.ko"

    def server(self, release):
        return f"{self.tree(release)}/sbin/onload_cp_server"

    def library(self, release):
        return f"{self.tree(release)}/usr/lib/x86_64-linux-gnu/libonload.so"

    def insert(self, module, release, **parameters):
        """Raises the OSError of the kernel."""
        words = " ".join(f'{name}="{value}"' for name, value in parameters.items())
        self.vm.insert(self.file(module, release), words)

    def insert_cards(self):
        """Hardware for `sfc`: functions 0001:00:00.0 and .1, for as long as the machine runs."""
        if not self.is_loaded("cards"):
            self.vm.insert(f"{self.tree(RELEASES[0])}.cards.ko", "")

    def load(self, release, **parameters):
        """All four modules. The parameters are onload's."""
        for module in MODULES[:-1]:
            self.insert(module, release)
        self.insert("onload", release, **{"cplane_server_path": self.server(release), **parameters})

    def unload(self):
        """Whatever of it is loaded; its servers are killed."""
        if self.is_loaded("onload"):
            self.write_parameter("cplane_spawn_server", "N")
            self.vm.run(["pkill", "-KILL", "-x", "onload_cp_serve"], check=False)
        for module in reversed(MODULES):
            if self.is_loaded(module):
                self.vm.wait_until(lambda: self._try_remove(module), what=f"the end of all users of {module}")

    def arm(self, module, release, words):
        """Faults for the next time this module of this release starts: see modules/faults.h."""
        self.vm.run(["mkdir", "-p", "/run/onload-stub"])
        self.vm.write(f"/run/onload-stub/{module}-{release}", words + "\n")

    def disarm(self):
        self.vm.run(["rm", "-rf", "/run/onload-stub"])

    def control(self, command):
        self.vm.write("/sys/kernel/debug/onload_stub/ctl", command + "\n")

    def proc(self, name):
        return self.vm.read(f"/proc/driver/onload/{name}")

    def servers(self):
        """The pids of the control plane's servers that serve."""
        return [int(pid) for pid in self.proc("cp_server_pids").split()]

    def await_server(self):
        return self.vm.wait_until(self.servers, what="a server of the control plane")[0]

    def parameter(self, name, module="onload"):
        return self.vm.read(f"/sys/module/{module}/parameters/{name}").rstrip("\n")

    def write_parameter(self, name, value, module="onload"):
        self.vm.write(f"/sys/module/{module}/parameters/{name}", value)

    def is_loaded(self, module):
        return any(line.split()[0] == module for line in self.vm.read("/proc/modules").splitlines())

    def references(self, module):
        """Of /proc/modules: the count, and the names of the modules among those who hold it."""
        words = next(line.split() for line in self.vm.read("/proc/modules").splitlines() if line.split()[0] == module)
        return int(words[2]), sorted(name for name in words[3].split(",") if name not in ("", "-"))

    def kernel_log(self):
        return self.vm.run(["dmesg", "-t"]).stdout

    def _try_remove(self, module):
        try:
            self.vm.remove(module)
        except BlockingIOError:
            return False
        return True
