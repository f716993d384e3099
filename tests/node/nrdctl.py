"""nrdctl as users call it.

    assert "feed" in nrdctl(node, "workload", "list")
    assert "did you mean list?" in nrdctl(node, "workload", "lst", exit=2)
"""

import contextlib
import os
import subprocess

from harness import NRDCTL

# Without what would send nrdctl elsewhere or reach its commands.
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("NRD_", "EF_")) and "proxy" not in key.lower()}


def run_nrdctl(*words, **more):
    """The ended process, with its output."""
    return subprocess.run([os.path.abspath(NRDCTL), *words], **{"capture_output": True, "text": True, "timeout": 60, "env": CLEAN, **more})


def nrdctl(node, *words, text=None, exit=0, timeout=60, **environment):
    """What it prints, over the Unix socket; of a failure also to standard error. `text` is its standard input."""
    done = run_nrdctl("--socket", node.socket, *words, input=text, timeout=timeout, env={**CLEAN, **environment})
    assert done.returncode == exit, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout if exit == 0 else done.stdout + done.stderr


def run(node, *arguments, **more):
    """`nrdctl run`, ended."""
    return run_nrdctl("--socket", node.socket, "run", *arguments, **more)


def comm_of(pid):
    """nrdctl, until it has become the command."""
    with open(f"/proc/{pid}/comm") as file:
        return file.read().rstrip()


@contextlib.contextmanager
def start_run(node, *arguments, **more):
    """`nrdctl run`, started. It is killed at the end of the block, which would wait for it when a test fails."""
    with subprocess.Popen([NRDCTL, "--socket", node.socket, "run", *arguments], env=CLEAN, **more) as process:
        try:
            yield process
        finally:
            process.kill()
