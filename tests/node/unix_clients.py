"""Clients of a Unix socket of nrd: a connection of this process, and a process of another user.

    with Client(node.socket, user=1, groups=[60]) as client:
        status, workload = client.request("POST", "/v1/workloads", {...})
"""

import http.client
import json
import socket
import subprocess

from harness import DEADLINE

# Answers a line with a line.
PROGRAM = """
import http.client, json, socket, sys
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
for line in sys.stdin:
    method, path, body = json.loads(line)
    connection = Unix("localhost")
    headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body else {})}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    print(json.dumps([answer.status, json.loads(text) if text else None]), flush=True)
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=DEADLINE):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    """A process that sends requests. Its folder must be one that the user may enter."""

    def __init__(self, path, user=2, group=2, groups=()):
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM, path], user=user, group=group, extra_groups=list(groups),
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.process.stdout.close()

    def send(self, method, path, body=None):
        self.process.stdin.write(json.dumps([method, path, body]) + "\n")
        self.process.stdin.flush()

    def answer(self):
        """Status and what the body says."""
        return json.loads(self.process.stdout.readline())

    def request(self, method, path, body=None):
        self.send(method, path, body)
        return self.answer()
