"""nrdctl support-bundle: the archive that is sent with a request for help."""

import json
import os
import subprocess
import tarfile

from harness import Node
from nrdctl import run_nrdctl


def bundle(socket, file):
    return run_nrdctl("--socket", socket, "support-bundle", str(file))


def test_the_bundle_has_the_api_answers_and_any_tar_reads_it(tmp_path):
    with Node() as node:
        id = node.create("4-7", 2, 2)["id"]
        node.call("PUT", "/v1/onload/profiles/mine", {"text": "onload_set EF_NAME a-secret-name\n"})
        file = tmp_path / "bundle.tar"
        done = bundle(node.socket, file)
        assert done.returncode == 0, done.stderr
        assert os.stat(file).st_mode & 0o777 == 0o600
        with tarfile.open(file) as tar:
            texts = {member.name: tar.extractfile(member).read() for member in tar}
        assert subprocess.run(["tar", "-tf", file], capture_output=True, text=True).stdout.split() == list(texts)
        # A refusal is stored as such: no policies for this CPU model.
        assert [name for name in texts if name.endswith(".refused")] == ["nrd-support/policy.json.refused"]
        assert texts.pop("nrd-support/policy.json.refused").startswith(b"404\n")
        assert b"\nnrd_build_info{" in texts.pop("nrd-support/metrics.txt")
        read = {name: json.loads(text) for name, text in texts.items()}
        assert [workload["id"] for workload in read["nrd-support/workloads.json"]] == [id]
        assert read["nrd-support/node.json"] == node.call("GET", "/v1/node")
        assert read["nrd-support/cpus.json"] == node.call("GET", "/v1/cpus")
        assert read["nrd-support/config.json"] == node.call("GET", "/v1/config")
        assert read["nrd-support/onload/generations.json"] == [] and read["nrd-support/onload/profiles.json"][0]["id"] == "mine"
        assert b"a-secret-name" not in b"".join(texts.values())


def test_nothing_is_overwritten_and_nothing_half_is_left(tmp_path):
    with Node() as node:
        there = tmp_path / "there"
        there.write_text("mine")
        os.symlink("nowhere", tmp_path / "link")
        for name in ("there", "link"):
            done = bundle(node.socket, tmp_path / name)
            assert done.returncode == 1 and "File exists" in done.stderr
        assert there.read_text() == "mine" and not (tmp_path / "nowhere").exists()
        node.terminate()
        assert bundle(node.socket, tmp_path / "new").returncode == 3
        assert not (tmp_path / "new").exists()
