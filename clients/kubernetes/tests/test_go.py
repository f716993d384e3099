"""The tests in Go of what talks to the API server or to nrd, with the real ones."""

import os
import subprocess

import pytest

from settings import NRD_KUBE

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


@pytest.mark.usefixtures("kinds")
def test_what_talks_to_servers(cluster):
    """Go remembers the results of the others, which the same command has run before."""
    is_race = NRD_KUBE.endswith("-race")
    done = subprocess.run(["go", "test", *(["-race"] if is_race else []), "./..."], cwd=SOURCES, capture_output=True, text=True, check=False,
                          env={**os.environ, "CGO_ENABLED": str(int(is_race)), "NRD_KUBE_TEST_KUBECONFIG": cluster.kubeconfig})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(cached)" not in next(line for line in done.stdout.splitlines() if "operator/election" in line), done.stdout
