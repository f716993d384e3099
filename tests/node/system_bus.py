"""A system bus with one service on it, whose methods are those of a Python object.

    with SystemBus(folder, answer) as address:      # for DBUS_SYSTEM_BUS_ADDRESS
        ...

`answer(message)` returns the signature and values of the reply, raises DBusError, or returns None: it does not reply.
"""

import os
import socket
import threading

from jeepney import HeaderFields, Message, Parser, new_error, new_method_return

BUS = "org.freedesktop.DBus"


class DBusError(Exception):
    """Its name and text."""


class SystemBus:
    def __init__(self, folder, answer):
        self.path, self.answer = os.path.join(str(folder), "bus.sock"), answer
        self.listener, self.connections, self.lock = None, set(), threading.Lock()
        self.is_deaf = False  # accepts connections, and says nothing on them

    def __enter__(self):
        self.appear()
        return f"unix:path={self.path}"

    def __exit__(self, *_):
        self.disappear()

    def appear(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, args=[self.listener], daemon=True).start()

    def disappear(self):
        """All connections end, and there is no bus to connect to."""
        if self.listener is None:
            return
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = None
        self.disconnect()

    def disconnect(self):
        with self.lock:
            for connection in self.connections:
                connection.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            with self.lock:
                self.connections.add(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            with connection, connection.makefile("rwb") as stream:
                if self.is_deaf:
                    connection.recv(1 << 16, socket.MSG_PEEK)
                    while stream.read1(1 << 16):
                        pass
                    return
                self.authenticate(stream)
                self.converse(stream)
        except OSError:
            pass
        finally:
            with self.lock:
                self.connections.discard(connection)

    @staticmethod
    def authenticate(stream):
        stream.read(1)
        answers = {b"AUTH": b"DATA\r\n", b"DATA": b"OK 0123456789abcdef0123456789abcdef\r\n", b"NEGOTIATE_UNIX_FD": b"ERROR\r\n"}
        for line in iter(stream.readline, b"BEGIN\r\n"):
            if not line:
                raise ConnectionError
            stream.write(answers[line.split()[0]])
            stream.flush()

    def converse(self, stream):
        parser, serial = Parser(), 0
        while received := stream.read1(1 << 16):
            for message in parser.feed(received):
                serial += 1
                self.reply(stream, message, serial)

    def reply(self, stream, message, serial):
        fields = message.header.fields
        if fields.get(HeaderFields.destination) == BUS:
            answer = ("s", (":1.1",)) if fields[HeaderFields.member] == "Hello" else ("", ())
        else:
            try:
                answer = self.answer(message)
            except DBusError as error:
                answer = error
        if answer is None:
            return
        if isinstance(answer, DBusError):
            made = new_error(message, answer.args[0], "s", (answer.args[1],))
        else:
            made = new_method_return(message, answer[0] or None, answer[1])
        sender = BUS if fields.get(HeaderFields.destination) == BUS else "org.freedesktop.systemd1"
        made.header.fields[HeaderFields.sender] = sender
        stream.write(Message(made.header, made.body).serialise(serial))
        stream.flush()
