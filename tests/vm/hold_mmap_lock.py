"""As the user `nobody`: a process whose mappings the kernel cannot read, until the server, this process, has ended.

mmap(2) of a FUSE file with direct I/O waits, with the mmap lock, for a page of it that the server never sends. Prints the
pid of that process just before.
"""

import ctypes
import mmap
import os
import struct
import tempfile
import threading

LOOKUP, GETATTR, OPEN, READ, INIT = 1, 3, 14, 15, 26
DIRECT_IO, KEEP_CACHE = 1, 2
NOBODY = 65534

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def attributes(inode):
    mode = 0o40755 if inode == 1 else 0o100644
    return struct.pack("<6Q10I", inode, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, NOBODY, NOBODY, 0, 4096, 0)


def answer(opcode, inode, flags):
    """None: no such request."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
    if opcode == LOOKUP:
        return struct.pack("<4Q2I", 2, 0, 1000, 1000, 0, 0) + attributes(2)
    if opcode == GETATTR:
        return struct.pack("<Q2I", 1000, 0, 0) + attributes(inode)
    if opcode == OPEN:
        return struct.pack("<Q2I", 1, flags, 0)
    return None


def serve(fuse, is_reading):
    flags = 0
    while True:
        _, opcode, unique, inode = struct.unpack_from("<2I2Q", os.read(fuse, 1 << 17))
        if opcode == READ:
            flags = DIRECT_IO | KEEP_CACHE
            os.write(is_reading, b"x")
            continue
        body = answer(opcode, inode, flags)
        os.write(fuse, struct.pack("<IiQ", 16 + len(body or b""), 0 if body else -38, unique) + (body or b""))


def hold(file, is_reading):
    libc.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG
    held = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(held))
    threading.Thread(target=os.read, args=[os.open(file, os.O_RDONLY), 1], daemon=True).start()
    os.read(is_reading, 1)
    direct = os.open(file, os.O_RDONLY)
    print(os.getpid(), flush=True)
    # MAP_FIXED: the kernel locks the old mapping, too.
    libc.mmap(address, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE | 0x10, direct, 0)


fuse = os.open("/dev/fuse", os.O_RDWR)
folder = tempfile.mkdtemp()
options = f"fd={fuse},rootmode=40000,user_id={NOBODY},group_id={NOBODY}"
assert libc.mount(b"hung", folder.encode(), b"fuse", 0, options.encode()) == 0, os.strerror(ctypes.get_errno())
os.setgroups([])
os.setgid(NOBODY)
os.setuid(NOBODY)
reader, writer = os.pipe()
if os.fork() == 0:
    os.close(fuse)
    hold(f"{folder}/file", reader)
else:
    serve(fuse, writer)
