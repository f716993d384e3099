"""A shell on a simulated node where nrd is installed: the place of a page's reader."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", name) for name in ("simnode", "node")]
from harness import BUGS  # noqa: E402
from simnode import SimNode  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The same node on every host: without these, masks and bandwidth are those of the host's vendor.
SHAPE = {"sockets": 2, "cpus": 16, "ways": 11, "closids": 16, "vendor": "intel", "mb_unit": "percent"}
DEADLINE = 60  # seconds, of one command; a sanitized daemon on a busy machine


class Reader:
    """Its folders /etc, /opt, /run/nrd, /var/lib and its home are its own; `nrd` and `nrdctl` are in its PATH."""

    def __init__(self, options):
        self.folder = tempfile.mkdtemp(prefix="nrd-howto-")
        self.programs = os.path.join(self.folder, "bin")
        os.mkdir(self.programs)
        for name, binary in (("nrd", os.environ["NRD"]), ("nrdctl", os.environ["NRDCTL"])):
            os.symlink(os.path.abspath(binary), os.path.join(self.programs, name))
        os.symlink(os.path.join(HERE, "systemctl"), os.path.join(self.programs, "systemctl"))
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)
        self.env = {"PATH": f"{self.programs}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.home, "LC_ALL": "C.UTF-8",
                    "COLUMNS": "130", "NRD_HOWTO": self.folder}
        self.sim = SimNode()
        self.shell = None
        with open(os.path.join(self.folder, ".curlrc"), "w") as file:
            file.write("fail-with-body\nsilent\n")
        self.process = subprocess.Popen(["sleep", "infinity"])  # 4711 in a page
        try:
            shape = {} if "machine" in options else SHAPE
            self.sim.start(["unshare", "--net", os.path.join(HERE, "installed"), ROOT], env={**os.environ, **self.env}, **{**shape, **options})
            self.wait_until_installed()
            shell = self.sim.inside(["nsenter", "-t", str(self.sim.pid), "-n", "bash", "--norc", "--noprofile"])
            self.shell = subprocess.Popen(shell, env=self.env, cwd=self.home,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          start_new_session=True)
            status, output = self.run("cd; systemctl start nrd")
            assert status == 0, "\n".join(output)
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        journal = self.end()
        if failed:
            print(journal)
        else:
            assert not BUGS.search(journal), journal

    def wait_until_installed(self):
        end = time.monotonic() + DEADLINE
        while not os.path.exists(os.path.join(self.folder, "installed")):
            assert self.sim.process.poll() is None and time.monotonic() < end, self.sim.stderr()
            time.sleep(0.005)

    def run(self, command, strict=False):
        """(exit status, lines of output) of a command in the reader's shell. `strict`: curl fails for a refusal."""
        end = f"-- end {time.monotonic_ns()}"
        config = f"export CURL_HOME={self.folder}" if strict else "unset CURL_HOME"
        command = command.replace("4711", str(self.process.pid))
        self.shell.stdin.write(f"{config}\n{command}\nprintf '\\n%s %s\\n' '{end}' $?\n".encode())
        self.shell.stdin.flush()
        lines = []
        while True:
            line = self.shell.stdout.readline().decode()
            assert line, "the shell has ended after:\n" + "".join(lines)
            if line.startswith(end):
                break
            lines.append(re.sub(rf"\b{self.process.pid}\b", "4711", line.rstrip("\n")))
        while lines and not lines[-1]:
            lines.pop()
        return int(line.split()[-1]), lines

    def write(self, path, text):
        """A file of the reader; its folder is created."""
        real = self.sim.path(path)
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open(real, "w") as file:
            file.write(text)

    def journal(self):
        try:
            with open(os.path.join(self.folder, "journal")) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def end(self):
        """The journal of nrd, which is all that is left."""
        if self.shell:
            try:
                self.run("systemctl stop nrd")
            except (AssertionError, OSError):
                pass
            os.killpg(self.shell.pid, signal.SIGKILL)  # with what the page left in the background
            self.shell.wait()
        self.process.kill()
        self.process.wait()
        self.sim.stop()
        journal = self.journal()
        shutil.rmtree(self.folder, ignore_errors=True)
        return journal
