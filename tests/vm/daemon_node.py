"""The real daemon on a machine of its own, seen through its API."""

import contextlib
import json
import os
import signal

from harness import BUGS

NRD = os.environ.get("NRD")
STATE, SOCKET = "/share/state", "/run/nrd.sock"  # what is on the share outlives the machine


class DaemonNode:
    request_timeout = 60  # seconds
    state = STATE

    def __init__(self, vm, config=""):
        self.vm, self.config = vm, config
        self.daemon = None
        self.environment = {}  # of the daemon

    def start(self):
        self.vm.write("/run/nrd.toml", self.config)
        self.daemon = self.vm.spawn([NRD, "--config", "/run/nrd.toml", "--state-dir", self.state, "--unix-socket", SOCKET],
                                    env=self.environment)
        self.vm.await_listener(SOCKET, self.daemon)
        self.vm.wait_until(lambda: self.daemon.poll() is not None or self.request("GET", "/v1/health")[0] == 200, timeout=60,
                           what="the daemon's first answer")
        assert self.daemon.poll() is None, self.daemon.output()

    def kill9(self):
        if self.daemon.poll() is None:
            self.daemon.kill(signal.SIGKILL)
            self.daemon.wait()
        self.look_for_bugs()

    def terminate(self):
        self.daemon.kill(signal.SIGTERM)
        assert self.daemon.wait(60) == 0, self.daemon.output()
        self.look_for_bugs()

    def look_for_bugs(self):
        """The daemon has ended. What it has said is there for the reader of a failure."""
        said = self.daemon.output()
        print(said)
        assert not BUGS.search(said), said

    def request(self, method, path, body=None, headers=()):
        """Status and answer; 0 if the daemon is not there or dies before it has answered."""
        text = "" if body is None else json.dumps(body)
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: application/json", "Connection: close", *headers]
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(text)}"]
        said = ""
        with contextlib.suppress(FileNotFoundError, ConnectionError):
            said = self.vm.exchange(SOCKET, "\r\n".join([*head, "", text]), self.request_timeout)
        head, _, text = said.partition("\r\n\r\n")
        return int(head.split()[1]) if head else 0, json.loads(text) if text else None

    def get(self, path):
        status, answer = self.request("GET", path)
        assert status == 200, (path, answer)
        return answer
