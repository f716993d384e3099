"""What the CPU of a machine is to be like: vendor, topology, and what of RDT and of frequencies it has.

    Machine(share, cpu=Shape(vendor="AMD", sockets=1, dies=2, l3=12, mba=0))

It takes the qemu that rdt/build-qemu makes, which is $NRD_VM_QEMU. Nothing is divided and nothing runs faster; the
registers, which Machine.msr reads, show what the kernel wrote to the hardware.
"""

import os
from dataclasses import dataclass

# qemu's -cpu. Ice Lake has HWP; intel_pstate drives Skylake without it, too. The leaves up to 0x1f tell dies, those up to
# 0x80000020 AMD's memory bandwidth. Without ERMS the kernel clears and copies pages by words: emulated, "rep movsb" is a
# loop over bytes, which takes twice as long.
INTEL = "max,erms=off,vendor=GenuineIntel,family=6,model={model},level=0x1f,l3-cache=on"
INTEL_WITH_HWP, INTEL_WITHOUT = 106, 85
AMD = "max,erms=off,vendor=AuthenticAMD,family=25,model=1,level=0x1f,xlevel=0x80000021,l3-cache=on"  # Milan


@dataclass(frozen=True)
class Shape:
    vendor: str = "Intel"  # or AMD
    sockets: int = 2
    dies: int = 1  # of a socket; each has an L3 cache
    cores: int = 2  # of a die
    threads: int = 2
    # As in rdt/rdt.c.
    l3: int = 11
    clos: int = 16
    l2: int = 0
    l2clos: int = 8
    mba: int = 8
    rmid: int = 32
    cdp: bool = False
    sparse: bool = False
    shared: int = 0
    hwp: bool = True
    numa: bool = False  # each socket has memory of its own

    @property
    def cpus(self):
        return self.sockets * self.dies * self.cores * self.threads

    @property
    def caches(self):
        """The CPUs of each L3 cache."""
        size = self.cores * self.threads
        return [range(first, first + size) for first in range(0, self.cpus, size)]

    def program(self):
        return os.environ["NRD_VM_QEMU"]

    def _memory(self, megabytes):
        """In as many NUMA nodes as there are sockets."""
        arguments, size = [], self.cpus // self.sockets
        for node in range(self.sockets if self.numa else 0):
            arguments += ["-object", f"memory-backend-ram,id=memory{node},size={megabytes // self.sockets}M",
                          "-numa", f"node,nodeid={node},cpus={node * size}-{(node + 1) * size - 1},memdev=memory{node}"]
        return arguments

    def arguments(self, megabytes):
        cpu = AMD if self.vendor == "AMD" else INTEL.format(model=INTEL_WITH_HWP if self.hwp else INTEL_WITHOUT)
        return ["-cpu", cpu, "-smp", f"{self.cpus},sockets={self.sockets},dies={self.dies},cores={self.cores},threads={self.threads}", *self._memory(megabytes)]

    def environment(self):
        keys = ("l3", "clos", "l2", "l2clos", "mba", "rmid", "cdp", "sparse", "shared", "hwp")
        return {"RDT": ",".join(f"{key}={int(getattr(self, key))}" for key in keys)}
