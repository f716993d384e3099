"""A disk of the machine whose writes are recorded, so that what a power cut leaves can be put together for any moment.

    disk = RecordedDisk(folder, megabytes=32)
    with Machine(share, disk=disk) as vm:
        vm.run("mkfs.ext4 -q /dev/vda && mount /dev/vda /mnt && echo a > /mnt/a && sync")
        disk.after_power_cut(disk.moment(), dice, "/tmp/image")

What was flushed is on the image. Of what was written after the last flush any part may be missing, whatever the order:
disks write blocks of 4 KiB as they like until they are asked to flush.
"""

import os
import struct

BLOCK = 4096
SECTOR = 512
# The format of drivers/md/dm-log-writes.c, in which qemu's driver blklogwrites records: a header, and for each write a
# sector with its first sector, its number of sectors, flags and the length of a mark, followed by its data.
ENTRY = struct.Struct("<4Q")
FLUSH, DISCARD = 1, 4


class RecordedDisk:
    def __init__(self, folder, megabytes):
        self.size = megabytes << 20
        self._image, self._record = os.path.join(folder, "disk"), os.path.join(folder, "disk.record")
        for path, size in (self._image, self.size), (self._record, 0):
            with open(path, "wb") as file:
                file.truncate(size)

    def arguments(self):
        """Of qemu. Merged requests of 1,024 pages, and the head of the record, would be too many parts for one write(2): qemu
        would leave a hole in the record."""
        return ["-blockdev", f"driver=file,filename={self._image},node-name=image",
                "-blockdev", f"driver=file,filename={self._record},node-name=record",
                "-blockdev", "driver=blklogwrites,node-name=disk,file=image,log=record",
                "-device", "virtio-blk-pci,drive=disk,write-cache=on,discard=off,write-zeroes=off,request-merging=off"]

    def moment(self):
        """What the machine knows to be written or flushed is recorded before it, what it has yet to ask for, after it."""
        return os.path.getsize(self._record)

    def _recorded(self, moment):
        """Flags, place and data of each write and flush."""
        with open(self._record, "rb") as file:
            file.seek(SECTOR)
            while file.tell() < moment:
                first, count, flags, _ = ENTRY.unpack_from(file.read(SECTOR))
                assert (count or flags & FLUSH) and not flags & DISCARD
                yield flags, first * SECTOR, file.read(count * SECTOR)

    def after_power_cut(self, moment, dice, path):
        recorded = list(self._recorded(moment))
        flushed = max((index for index, (flags, _, _) in enumerate(recorded) if flags & FLUSH), default=0)
        kept = dice.choice([0, 0.5, 1])  # none and all of the rest are among what may be left
        with open(path, "wb") as image:
            image.truncate(self.size)
            for index, (_, at, data) in enumerate(recorded):
                for begin in range(0, len(data), BLOCK):
                    if index < flushed or dice.random() < kept:
                        image.seek(at + begin)
                        image.write(data[begin:begin + BLOCK])
