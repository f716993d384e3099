"""Nodes whose resctrl is mounted and unmounted as by the host's mount unit."""

from harness import DRIFT, Node, wait_for

TREE = "/sys/fs/resctrl"
KEPT = "/run/lock/tree"  # where the simulated kernel's tree is while it is "not mounted"


class HostNode(Node):
    """A node as it boots: resctrl is there and not mounted. mount() is what the mount unit does."""

    def __init__(self, config=DRIFT, mounts=True, **more):
        super().__init__(config, mounts=mounts, start=False, **{"mb_unit": "percent", **more})
        self.sim.run_inside(["mount", "--make-shared", "/sys/fs"])
        self.sim.run_inside(["mkdir", KEPT])
        self.sim.run_inside(["mount", "--bind", TREE, KEPT])
        self.unmount()

    def mount(self):
        self.sim.run_inside(["mount", "--bind", KEPT, TREE])

    def unmount(self):
        """EBUSY while nrd has a file of it open."""
        wait_for(lambda: self.sim.run_inside(["umount", TREE], check=False).returncode == 0, "the tree to be unmounted")


class ServiceNode(HostNode):
    """nrd in a namespace that receives the host's mounts and sends none."""

    def command(self, *flags):
        argv = super().command(*flags)
        program = argv.index("--") + 1
        return argv[:program] + ["unshare", "--mount", "--propagation", "slave", "--", *argv[program:]]
