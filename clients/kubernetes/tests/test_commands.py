"""nrd-kube check and nrd-kube image."""

import re
import subprocess

from settings import NRD_KUBE, RELEASED
from test_ways import WAYS


def check(worker, *options):
    words = ["--nrd-socket", worker.socket_of_client, "--nri-socket", f"{worker.folder}/nri/nri.sock", *options]
    return subprocess.run([NRD_KUBE, "check", *words], capture_output=True, text=True, check=False)


def test_check_finds_nothing_missing_on_a_node_that_has_all(worker):
    worker.await_devices()
    found = check(worker, "--resources", "ways")
    assert found.returncode == 0, found.stdout + found.stderr
    assert all(line.startswith("ok ") for line in found.stdout.splitlines()), found.stdout
    assert f"version {worker.call('GET', '/v1/health')['version']} answers on" in found.stdout
    assert [line.split()[-1] for line in found.stdout.splitlines() if WAYS in line] == ["5"]


def test_check_finds_kubelet_with_a_root_directory_of_its_own(worker, tmp_path):
    worker.await_devices()
    (tmp_path / "pod-resources").symlink_to("/var/lib/kubelet/pod-resources")
    found = check(worker, "--resources", "ways", "--kubelet-dir", tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def test_check_names_what_is_missing_with_the_remedy(worker):
    found = check(worker, "--resources", "ways,onload,pools", "--nri-socket", "/nowhere")
    assert found.returncode == 1
    for part in ("missing NRI", 'disable = false in [plugins."io.containerd.nri.v1.nri"]', "missing amd.com/onload", "[[cpu.pools]]"):
        assert part in found.stdout, found.stdout
    assert found.stderr == "nrd-kube: 3 of what the node role needs is missing\n"


def test_the_program_tells_its_commit():
    """Which "go build" notes where it finds git."""
    output = subprocess.run([NRD_KUBE, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch("nrd-kube ([0-9a-f]{12}|of an unknown commit)\n", output), output


def test_the_image_has_the_program_alone_and_is_the_same_each_time(worker, tmp_path):
    for name in ("first.tar", "second.tar"):
        subprocess.run([RELEASED, "image", tmp_path / name], check=True, capture_output=True)
    assert (tmp_path / "first.tar").read_bytes() == (tmp_path / "second.tar").read_bytes()
    loaded = worker.ctr("images", "import", "--local", str(tmp_path / "first.tar"))
    assert loaded.returncode == 0 and "nrd.internal/nrd-kube:1" in worker.ctr("images", "list", "-q").stdout, loaded.stderr
