"""One session on a kernel's files: every operation prints one line with its outcome.

    masks 4 write a/schemata 'L3:0=5\\n' -> EINVAL status 'The mask 5 has non-consecutive 1-bits\\n'

Paths are below /sys/fs/resctrl, or whole. Ids of processes, which no two kernels give alike, are printed as P1, P2, ...
"""

import errno
import os
import stat
import subprocess

RESCTRL = "/sys/fs/resctrl"
STATUS = f"{RESCTRL}/info/last_cmd_status"


class Session:
    def __init__(self, out):
        self.out = out
        self.section = ""
        self.number = 0
        self.clears = True  # the status before each operation, so that it tells of this one alone
        self.processes = []

    def begin(self, section):
        self.section, self.number = section, 0

    # Operations

    def mkdir(self, path):
        return self._act(f"mkdir {path}", lambda: os.mkdir(_whole(path)))

    def rmdir(self, path):
        return self._act(f"rmdir {path}", lambda: os.rmdir(_whole(path)))

    def write(self, path, text, flags=0, shown=None):
        """One write(2)."""
        def act():
            descriptor = os.open(_whole(path), os.O_WRONLY | flags)
            try:
                written = os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
            if written != len(text):
                return f"{written} bytes"
        return self._act(f"write {path} {shown or repr(self._anonymous(text))}", act)

    def read(self, path):
        return self._act(f"read {path}", lambda: repr(_read(path)))

    def list(self, path):
        """Names, with what they are and who may do what; kernfs has an order of its own."""
        def act():
            folder = _whole(path)
            modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in os.listdir(folder)}
            return " ".join(f"{name}{'/' if stat.S_ISDIR(mode) else ''}:{stat.S_IMODE(mode):o}" for name, mode in sorted(modes.items()))
        return self._act(f"list {path}", act)

    def tasks(self, path):
        """Those of our processes that a tasks file names."""
        def act():
            listed = set(_read(path).split())
            return " ".join(f"P{number}" for number, pid in enumerate(self.processes, 1) if str(pid) in listed) or "none"
        return self._act(f"tasks {path}", act)

    def call(self, what, act):
        return self._act(what, act)

    # Processes

    def spawn(self):
        """A shell that does what its standard input says. The output has its number among our processes, not its pid."""
        process = subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process.pid)
        return process

    def shell_spawns(self, shell):
        """Another process, by the shell."""
        shell.stdin.write("sleep 1000 <&- >&- & echo $!\n")
        shell.stdin.flush()
        self.processes.append(int(shell.stdout.readline()))

    def end(self, shell):
        for pid in self.processes:
            if pid != shell.pid:
                os.kill(pid, 9)
        shell.stdin.close()
        shell.wait()

    # How

    def _anonymous(self, text):
        for number, pid in enumerate(self.processes, 1):
            text = text.replace(str(pid), f"P{number}")
        return text

    def _act(self, what, act):
        if self.clears:
            # To the mode that it has already: nothing changes, but the status is that of this write.
            with open(_whole("mode"), "w") as file:
                file.write("shareable\n")
        return self._tell(what, _outcome(act))

    def _tell(self, what, outcome):
        self.number += 1
        status = _outcome(lambda: repr(_read(STATUS)))
        status = "" if status == repr("ok\n") else f" status {self._anonymous(status)}"
        print(f"{self.section} {self.number} {what} -> {outcome}{status}", file=self.out, flush=True)
        return outcome == "ok"


def _whole(path):
    return path if path.startswith("/") else os.path.join(RESCTRL, path)


def _read(path):
    with open(_whole(path), "rb", buffering=0) as file:
        return file.read(1 << 20).decode()


def _outcome(act):
    try:
        return act() or "ok"
    except OSError as failure:
        return errno.errorcode[failure.errno]
