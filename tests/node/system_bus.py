"""A system bus on which systemd answers for the main processes of some services (D-Bus specification, little endian)."""

import os
import socket
import struct
import threading


def padded(data, to):
    return data + bytes(-len(data) % to)


def string(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def reply(serial, signature, body):
    fields = b"\x05\x01u\0" + struct.pack("<I", serial)  # REPLY_SERIAL
    fields += b"\x08\x01g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
    fields = padded(fields, 8) + b"\x07\x01s\0" + string("org.freedesktop.systemd1")  # SENDER
    header = b"l\x02\x01\x01" + struct.pack("<III", len(body), serial + 1000, len(fields)) + fields
    return padded(header, 8) + body


class SystemBus:
    """`services`: {"feed.service": 4711}. `with` gives the address for DBUS_SYSTEM_BUS_ADDRESS."""

    def __init__(self, folder, services):
        self.path, self.services = os.path.join(str(folder), "bus.sock"), services

    def __enter__(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return f"unix:path={self.path}"

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                self.answer(stream)

    def answer(self, stream):
        stream.read(1)
        answers = {b"AUTH": b"DATA\r\n", b"DATA": b"OK 0123456789abcdef0123456789abcdef\r\n", b"NEGOTIATE_UNIX_FD": b"AGREE_UNIX_FD\r\n"}
        for line in iter(stream.readline, b"BEGIN\r\n"):
            stream.write(answers[line.split()[0]])
            stream.flush()
        while head := stream.read(16):
            length, serial, fields_length = struct.unpack("<III", head[4:])
            fields = stream.read(fields_length + -fields_length % 8)
            stream.read(length)
            if b"Hello" in fields:
                stream.write(reply(serial, "s", string(":1.1")))
            else:
                stream.write(reply(serial, "v", b"\x01u\0\0" + struct.pack("<I", self.main_process(fields))))
            stream.flush()

    def main_process(self, fields):
        def encoded(name):
            return "".join(c if c.isalnum() else f"_{ord(c):02x}" for c in name)

        return next((pid for name, pid in self.services.items() if encoded(name).encode() + b"\0" in fields), 0)
