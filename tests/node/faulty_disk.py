"""Faults of the disk below the daemon, which preloads tests/disk/faulty_disk.c."""

import mmap
import struct


class Disk:
    """The control page of the preloaded library."""

    KILL, FAIL_ONCE, FAIL_ON = 1, 2, 3
    NUMBERS, NAME, NAMES = 40, 32, 1000  # bytes, bytes, names

    def __init__(self, path):
        size = self.NUMBERS + self.NAME * self.NAMES
        with open(path, "wb") as file:
            file.write(bytes(size))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), size)

    def set(self, at=0, kind=0, errno=0, only_sync=False):
        self.page[:self.NUMBERS] = struct.pack("5q", 0, at, kind, errno, int(only_sync))

    def calls(self):
        return struct.unpack("5q", self.page[:self.NUMBERS])[0]

    def kinds(self):
        """What each call so far was: "write nrd.db-wal", "sync nrd.db"."""
        assert self.calls() <= self.NAMES
        starts = [self.NUMBERS + self.NAME * nth for nth in range(self.calls())]
        return [self.page[start:start + self.NAME].split(b"\0")[0].decode() for start in starts]
