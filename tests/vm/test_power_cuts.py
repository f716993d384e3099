"""A power cut at any moment loses nothing that was acknowledged, and leaves no half of anything else.

The daemon's state is on an ext4 of its own, whose disk is recorded while clients change workloads, a profile and a version
of Onload, and while the daemon is started, stopped and killed. Then, for one moment after the other, the disk is put together as a power cut
might leave it, with what was not flushed missing in part; the daemon starts on it, on a node whose registers were reset.

NRD_POWER_CUTS (12; 200 by tests/vm/run) moments; NRD_POWER_CUT_SEED repeats the choices.
"""

import os
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from onload_stub import OnloadStub
from rdt_node import RESCTRL, RdtNode, started
from recorded_disk import RecordedDisk
from shape import Shape

RELEASE, VERSIONS, IMPORTS = "8.1.2.26", "/disk/onload", "/run/import"
CONFIG = f'[onload]\nversions = "{VERSIONS}"\nimports = "{IMPORTS}"\n'
CHANGES = 6  # of a client between two starts
ATTEMPTS = 5
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Client:
    """Changes one thing of its own to random values; None: it is not there. Remembers when each was asked for, and answered."""

    values = [1, 2]

    def __init__(self, node, dice):
        self.node, self.dice = node, random.Random(dice.random())
        self.history = [(0, 0, None)]  # asked, answered, value

    def change_often(self):
        for _ in range(CHANGES):
            before = self.history[-1][2]
            value = self.dice.choice(self.values if before is None else [*self.values, None])
            asked = self.node.vm.disk.moment()
            self.change(before, value)
            self.history.append((asked, self.node.vm.disk.moment(), value))

    def act(self, *request):
        """What a busy machine has withdrawn, without any effect, is asked for again."""
        for _ in range(ATTEMPTS):
            status, answer = self.node.request(*request)
            if status != 503 or answer["code"] != "Busy":
                break
        assert status in (200, 201, 204), (status, answer)
        return answer

    def allowed_at(self, moment):
        """What was acknowledged last, and what was asked for and not answered."""
        last = max(index for index, (_, answered, _) in enumerate(self.history) if answered <= moment)
        return {value for index, (asked, _, value) in enumerate(self.history) if index == last or (index > last and asked < moment)}


class WorkloadClient(Client):
    """Of a workload on a CPU that no other client has: how many ways it is granted."""

    def __init__(self, node, dice, cpu):
        super().__init__(node, dice)
        self.cpu, self.id = str(cpu), None

    def change(self, before, ways):
        cache = {"max": ways, "min": ways}
        if before is None:
            self.id = self.act("POST", "/v1/workloads", {"core_ids": [self.cpu], "cache": cache})["id"]
        elif ways is None:
            self.act("DELETE", f"/v1/workloads/{self.id}")
        else:
            self.act("PATCH", f"/v1/workloads/{self.id}", {"cache": cache})

    def found(self):
        """Its ways on the node as it is now."""
        found = [w["cache"]["max"] for w in self.node.get("/v1/workloads") if w["core_ids"] == [self.cpu]]
        assert len(found) <= 1
        return found[0] if found else None


class ProfileClient(Client):
    """Of a profile of Onload, which is a file: the value that it sets."""

    PATH = "/v1/onload/profiles/mine"

    def change(self, _, value):
        request = ["DELETE", self.PATH] if value is None else ["PUT", self.PATH, {"text": self.text(value)}]
        self.act(*request)

    def found(self):
        status, answer = self.node.request("GET", self.PATH)
        return None if status == 404 else next(value for value in (1, 2) if answer["text"] == self.text(value))

    @staticmethod
    def text(value):
        return f"onload_set EF_POLL_USEC {value}\n"


class ImportClient(Client):
    """Of a version of Onload, a tree of files: whether it is there."""

    values = [1]

    def change(self, before, value):
        if value is None:
            self.act("DELETE", f"/v1/onload/versions/{RELEASE}")
        elif before is None:
            self.act("POST", "/v1/onload/versions", {"name": RELEASE, "source": f"{IMPORTS}/{RELEASE}"})

    def found(self):
        names = [version["name"] for version in self.node.get("/v1/onload/versions")]
        there = self.node.vm.run(["ls", "-A", f"{VERSIONS}/versions"], check=False)  # the first import makes the folder
        assert there.stdout.split() == names
        if names:
            self.node.vm.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=f"{VERSIONS}/versions/{RELEASE}")
        return 1 if names == [RELEASE] else None


class RecordedNode(RdtNode):
    state = "/disk/state"

    def __init__(self, vm, config):
        super().__init__(vm, config)
        vm.run("modprobe -a virtio_blk ext4 loop && mkdir /disk && mkfs.ext4 -q /dev/vda && mount /dev/vda /disk && sync")
        vm.run(f"mkdir -p {IMPORTS} && cp -r {OnloadStub(vm).tree(RELEASE)} {IMPORTS}")
        assert vm.read("/sys/block/vda/queue/write_cache") == "write back\n"  # else nothing is ever missing

    def work(self, dice):
        """The clients, and the moments between starts, changes and ends of the daemon."""
        # Two workloads a cache, whose pool of 5 ways has room for both.
        clients = [ProfileClient(self, dice), ImportClient(self, dice), *(WorkloadClient(self, dice, cpu) for cpu in range(0, self.vm.cpu.cpus, 2))]
        moments = [self.vm.disk.moment()]

        def done(act):
            act()
            moments.append(self.vm.disk.moment())

        def change():
            with ThreadPoolExecutor(len(clients)) as pool:
                list(pool.map(lambda client: client.change_often(), clients))

        for end in self.terminate, self.kill9:
            done(self.start)
            done(change)
            done(end)
        self.vm.run(["umount", "/disk"])  # nothing is on its way to the disk any more
        return clients, moments

    def boot_with(self, image, boot_id):
        """As after a power cut that left this image."""
        self.vm.run(f"""umount {RESCTRL}
                        mv {image} /run/image
                        mount -o loop /run/image /disk
                        echo {boot_id} > /run/boot_id
                        mountpoint -q {BOOT_ID} || mount --bind /run/boot_id {BOOT_ID}""")
        self.mount()
        self.start()


def test_a_power_cut_at_any_moment(tmp_path_factory):
    cuts = int(os.environ.get("NRD_POWER_CUTS", "200" if os.environ.get("NRD_VM_LONG") else "12"))
    seed = int(os.environ.get("NRD_POWER_CUT_SEED", time.time_ns() % 1_000_000))
    print(f"NRD_POWER_CUT_SEED={seed}")
    dice = random.Random(seed)
    disk = RecordedDisk(tmp_path_factory.mktemp("disk"), megabytes=32)
    with started(RecordedNode, tmp_path_factory, CONFIG, cpu=Shape(), disk=disk, start=False) as node:
        clients, moments = node.work(dice)
        for turn in range(cuts):
            phase = turn % (len(moments) - 1)
            moment = dice.randint(moments[phase], moments[phase + 1])
            image = f"image-{turn}"  # not of the same name: the machine may have cached the last one
            disk.after_power_cut(moment, dice, f"{node.vm.share}/{image}")
            node.boot_with(f"/share/{image}", uuid.UUID(int=turn + 1))
            node.assert_agree()
            for client in clients:
                assert client.found() in client.allowed_at(moment), (moment, client.history)
            node.terminate()
            node.vm.run(["umount", "/disk"])
