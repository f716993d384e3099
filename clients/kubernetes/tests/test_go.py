"""The tests in Go of what talks to the API server or to nrd, with the real ones."""

import os
import subprocess

import pytest

from settings import NRD_KUBE

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


@pytest.mark.usefixtures("kinds")
def test_what_talks_to_servers(cluster):
    """One package at a time: nrd has to answer within a second. Go remembers the results of those without servers."""
    is_race = NRD_KUBE.endswith("-race")
    done = subprocess.run(["go", "test", "-p", "1", *(["-race"] if is_race else []), "./..."], cwd=SOURCES, capture_output=True, text=True, check=False,
                          env={**os.environ, "CGO_ENABLED": str(int(is_race)), "NRD_KUBE_TEST_KUBECONFIG": cluster.kubeconfig})
    assert done.returncode == 0, done.stdout + done.stderr
