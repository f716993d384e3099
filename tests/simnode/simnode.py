"""Starts programs on a simulated node, for tests.

    with SimNode().start(["sleep", "infinity"], sockets=2, cpus=16, min_cbm_bits=2) as node:
        node.run_inside(["pqos", "-I", "-s"])
        node.control("fault write 1 errno EIO")
        assert node.dump()["/"]["L3"] == {"0": "7ff", "1": "7ff"}

Options are those of nrd-simnode, with _ for -; True and False are flags (mb=False is --no-mb, rdt=False is --no-rdt).
The binary is $NRD_SIMNODE. When start() returns, the command runs and everything is mounted.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile

RESCTRL = "/sys/fs/resctrl"
START_DEADLINE = 20  # seconds


class SimNodeError(Exception):
    pass


class SimNode:
    def __init__(self):
        self.process = None
        self.pid = None  # of the command
        self._folder = None
        self._stderr = None
        self._stream = None

    def start(self, command, stdout=None, env=None, **options):
        self._folder = tempfile.mkdtemp(prefix="simnode-")
        self._stderr = open(os.path.join(self._folder, "stderr"), "w+")
        argv = [os.environ["NRD_SIMNODE"], "--control", self.socket_path] + _flags(options) + ["--"] + list(command)
        self.process = subprocess.Popen(argv, stdout=stdout, stderr=self._stderr, env=env)
        try:
            self._connect()
            self.pid = int(self.control("pid").split("=")[1])
        except (OSError, SimNodeError):
            status = self._end(timeout=2)
            said = self.stderr()
            self._forget()
            raise SimNodeError(f"nrd-simnode ended with {status}: {said}") from None
        return self

    @property
    def socket_path(self):
        return os.path.join(self._folder, "control")

    def stderr(self):
        """What the command and nrd-simnode have written to standard error so far."""
        with open(self._stderr.name) as text:
            return text.read()

    def control(self, line):
        """The answer to one control request, without its leading "ok". Raises when it is an error."""
        self._stream.write(line + "\n")
        self._stream.flush()
        answer = self._stream.readline().rstrip("\n")
        if answer == "ok" or answer.startswith("ok "):
            return answer[3:]
        raise SimNodeError(f"{line}: {answer or 'no answer'}")

    def dump(self):
        return json.loads(self.control("dump"))

    def freq(self):
        """What holds on each CPU: {"0": {"min": 800000, "max": 3500000, "governor": "powersave"}}, or "msr" and more."""
        return json.loads(self.control("freq"))

    def use(self, group, cache, counter, value):
        """What mon_data of a group says from now: a number, "+N", "Unavailable" or "Error"."""
        self.control(f"use {group} {cache} {counter} {value}")

    def log(self):
        return json.loads(self.control("log"))

    def writes(self):
        return int(self.control("count").split("=")[1])

    def inside(self, argv):
        """The argv that runs argv inside the node."""
        return ["nsenter", "-t", str(self.pid), "-m", "--"] + list(argv)

    def run_inside(self, argv, **options):
        """subprocess.run inside the node, with text output captured; check=True by default."""
        options = {"check": True, "capture_output": True, "text": True, **options}
        return subprocess.run(self.inside(argv), **options)

    def path(self, absolute):
        """A path of the node as this process can open it."""
        return f"/proc/{self.pid}/root{absolute}"

    def read(self, absolute):
        with open(self.path(absolute)) as file:
            return file.read()

    def write(self, absolute, text):
        """One write(2) of the text, by this process."""
        descriptor = os.open(self.path(absolute), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def wait(self, timeout=None):
        """The command's exit status, once it has ended."""
        return self.process.wait(timeout)

    def stop(self, timeout=20):
        """Ends the command with SIGTERM, with SIGKILL after the timeout. The exit status, or None if never started."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        status = self._end(timeout)
        self._forget()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _connect(self):
        """The socket is there before the command runs, and answers once it does."""
        watch = socket.socket(socket.AF_UNIX)
        watch.settimeout(START_DEADLINE)
        while True:
            try:
                watch.connect(self.socket_path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                try:
                    self.process.wait(0.005)
                except subprocess.TimeoutExpired:
                    continue
                raise
        self._stream = watch.makefile("rw")
        watch.close()  # the stream keeps the connection

    def _end(self, timeout):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _forget(self):
        if self._stream is not None:
            self._stream.close()
        self._stderr.close()
        shutil.rmtree(self._folder)
        self.process = self._stream = None


def _flags(options):
    flags = []
    for name, value in options.items():
        name = name.replace("_", "-")
        if value is False:
            flags.append(f"--no-{name}")
        elif value is True:
            flags += [] if name == "rdt" else [f"--{name}"]
        else:
            flags += [f"--{name}", ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]
    return flags
