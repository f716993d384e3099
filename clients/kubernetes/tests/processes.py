"""Processes that a test starts, with a log each, and waiting."""

import contextlib
import os
import signal
import subprocess
import time

# Seconds; the components of a cluster on a busy machine, or on an emulated one.
IS_EMULATED = bool(os.environ.get("NRD_KUBE_VM"))
DEADLINE = 300 if IS_EMULATED else 60
PAUSE = 0.5 if IS_EMULATED else 0.05  # each look takes processor time from what it waits for


def wait_for(condition, what, deadline=DEADLINE, pause=PAUSE):
    """The first true value of condition(); whatever it raises counts as not yet."""
    end = time.monotonic() + deadline
    failure = None
    while True:
        try:
            if value := condition():
                return value
            failure = None
        except Exception as error:  # noqa: BLE001  a server that is starting fails in any way
            failure = error
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline} s in vain for {what}" + (f": {failure}" if failure else ""))
        time.sleep(pause)


class Process:
    """One program that a test starts, kills and starts again. Its output goes to one log."""

    def __init__(self, log, command, env=None, nice=0):
        self.log, self.env = log, env
        self.command = ["nice", "-n", str(nice), *command] if nice else list(command)
        self.process = None
        self.earlier_length = 0  # characters of the log from before the last start

    def start(self):
        assert not self.runs(), f"{self.command[0]} runs already"
        self.earlier_length = len(self.text())
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        return self

    @property
    def pid(self):
        return self.process.pid

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def kill9(self):
        if self.runs():
            self.process.kill()
        if self.process:
            self.process.wait(DEADLINE)

    def terminate(self):
        if not self.runs():
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill9()

    def stop(self):
        """Stops it from running, as a host that is too busy: it answers nothing until proceed()."""
        self.process.send_signal(signal.SIGSTOP)

    def proceed(self):
        self.process.send_signal(signal.SIGCONT)

    def text(self):
        with contextlib.suppress(FileNotFoundError), open(self.log, errors="replace") as log:
            return log.read()
        return ""

    def text_since_start(self):
        return self.text()[self.earlier_length:]

    def tail(self):
        return "\n".join(self.text().splitlines()[-15:])

    def await_start(self, condition, what, deadline=DEADLINE):
        """Waits for condition, and fails at once with the log if the process ends."""
        try:
            wait_for(lambda: not self.runs() or condition(), what, deadline)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{os.path.basename(self.log)}:\n{self.tail()}") from None
        assert self.runs(), f"{what}: it ended\n{os.path.basename(self.log)}:\n{self.tail()}"
        return self
