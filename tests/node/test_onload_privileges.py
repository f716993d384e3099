"""Who may decide what root runs: neither an administrator of the API nor a server that only says it is nrd."""

import contextlib
import json
import os
import shutil
import tempfile

import pytest

from harness import refusal
from nrdctl import CLEAN, run_nrdctl
from servers import Handler, UnixServer, serving

pytest_plugins = "profile_folders"
NOBODY = 65534


class Front(Handler):
    """nrd's own answers, but for allocations, which a node without Onload does not give."""

    methods = ("GET", "POST", "DELETE")

    def answer(self):
        if (self.command, self.path) == ("POST", "/v1/onload/allocations"):
            env = {"LD_PRELOAD": self.server.library} if self.server.library else {}
            self.reply(201, json.dumps({"id": 1, "version": "9", "env": env, "devices": [], "mounts": []}))
        else:
            self.reply(*self.forward())


class World:
    """A daemon with a trusted folder of profiles, and a folder of the user `nobody`."""

    def __init__(self, node, folder, theirs):
        self.node, self.folder, self.theirs = node, folder, theirs
        self.made = os.path.join(folder, "made")
        self.library = ""

    def stored(self, name, text):
        """Came over the API of an nrd that took anything."""
        folder = os.path.join(self.node.state, "profiles")
        os.makedirs(folder, mode=0o755, exist_ok=True)
        write(os.path.join(folder, name), text)

    def nrdctl(self, *words, endpoint=None, env=CLEAN):
        socket = os.path.join(self.node.folder, "front.sock")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)
        with serving(UnixServer(socket, Front), node=self.node, library=self.library):
            return run_nrdctl(*(endpoint or ["--socket", socket]), *words, env={**env, "HOME": "/nonexistent"})

    def run(self, profiles, *more):
        return self.nrdctl("run", f"--onload={profiles}", *more, "--", "/usr/bin/env")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@pytest.fixture
def world(profiled):
    theirs = tempfile.mkdtemp(prefix="nrd-theirs-")
    os.chown(theirs, NOBODY, NOBODY)
    yield World(profiled, profiled.profiles, theirs)
    shutil.rmtree(theirs)


def refused_profile(node, text, name="latency"):
    return refusal(node.call, "PUT", f"/v1/onload/profiles/{name}", {"text": text})


# What came over the API is data

@pytest.mark.parametrize("text, status, says", [
    ("touch /tmp/made\n", 422, "latency.opf:1: `touch` needs a shell"),
    ("onload_set EF_A 1\nfor i in 1; do id; done\n", 422, "latency.opf:2"),
    ("onload_set EF_A \"$(id)\"\n", 422, "latency.opf:1"),
    ("onload_import /home/mallory/x.opf\n", 400, "import only by name"),
    ("onload_import ../x\n", 400, "import only by name"),
    ("onload_import $EF_X\n", 400, "import only by name"),
    ("onload_import shell\n", 422, "needs a shell"),
    ("onload_import between\n", 422, "needs a shell"),
    *[(f"onload_set {name} 1\n", 400, name) for name in (
        "LD_AUDIT", "PATH", "OMP_TOOL_LIBRARIES", "GIT_SSH_COMMAND", "PAGER", "EDITOR", "CUDA_INJECTION64_PATH", "WORKERS",
        "EF_LD_PRELOAD", "EF_LOG_FILE", "EF_VI_CLUSTER_SOCKET")],
])
def test_a_profile_over_the_api_is_static_sets_onload_alone_and_imports_by_name(world, text, status, says):
    write(os.path.join(world.folder, "shell.opf"), f"touch {world.made}\n")
    write(os.path.join(world.folder, "between.opf"), "onload_import shell\n")
    refused = refused_profile(world.node, text)
    assert refused.status == status and says in refused.text, refused
    if "onload_import" not in text:
        assert refused_profile(world.node, text, "latency.opf-fragment").status == status
    assert [(p["id"], p["own"]) for p in world.node.call("GET", "/v1/onload/profiles")] == [("between", False), ("shell", False)]
    assert not os.path.exists(world.made)


def test_values_over_the_api_are_no_paths(world):
    world.node.call("PUT", "/v1/onload/profiles/latency", {"text": 'onload_set EF_NEW "$EF_OF_CALLER"\n'})
    done = world.run("latency", "-e", "EF_OF_CALLER=/etc/passwd")
    assert done.returncode == 1 and "contains a slash" in done.stderr and done.stdout == ""
    assert "EF_NEW=5" in world.run("latency", "-e", "EF_OF_CALLER=5").stdout.splitlines()


def test_profiles_stored_by_an_older_nrd_are_never_run_and_set_onload_only(world):
    theirs = os.path.join(world.theirs, "x.opf")
    write(theirs, f"touch {world.made}\n")
    os.chown(theirs, NOBODY, NOBODY)
    for text in (f"touch {world.made}\n", f"onload_import {theirs}\n", "onload_set OMP_TOOL_LIBRARIES x.so\n"):
        world.stored("latency.opf", text)
        assert [(p["kind"], p["own"]) for p in world.node.call("GET", "/v1/onload/profiles")] == [("wrong", True)]
        done = world.run("latency")
        assert (done.returncode, done.stdout) == (1, "") and "over the API" in done.stderr, done.stderr
        assert refusal(world.node.call, "POST", "/v1/onload/render", {"profiles": ["latency"]})
    assert not os.path.exists(world.made)


def test_values_from_the_api_never_reach_the_shell_of_roots_profiles(world):
    write(os.path.join(world.folder, "roots.opf"), "for i in 1; do onload_set EF_ROOT $i; done\nonload_import latency\n")
    for text in ("onload_set EF_A 1\n", f"touch {world.made}\n"):
        world.stored("latency.opf", text)
        done = world.run("roots")
        assert (done.returncode, done.stdout) == (1, "") and "latency: profiles stored over the API" in done.stderr
        assert world.run("latency,roots").returncode == 1
    assert not os.path.exists(world.made)


def test_roots_own_profiles_stay_programs(world):
    other = os.path.join(world.folder, "by-path")
    write(other, "onload_set EF_PATH 1\n")
    write(os.path.join(world.folder, "roots.opf"), f"onload_set EF_N $(echo 7)\nonload_set WORKERS 2\nonload_import {other}\n")
    assert {"EF_N=7", "WORKERS=2", "EF_PATH=1"} <= set(world.run("roots").stdout.splitlines())


# What a server says is to be preloaded

def place(folder, name, owner=0, mode=0o644):
    path = os.path.join(folder, name)
    shutil.copy("/lib/x86_64-linux-gnu/libm.so.6", path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def untrusted_libraries(world):
    theirs = place(world.theirs, "libonload.so", NOBODY)
    link = os.path.join(world.folder, "link")
    os.symlink(world.theirs, link)
    good = place(world.folder, "libonload.so")
    writable = os.path.join(world.folder, "writable")
    os.mkdir(writable)
    os.chmod(writable, 0o777)
    return [theirs, f"{link}/libonload.so", place(writable, "libonload.so"), f"{good}:{theirs}", f"{good} {theirs}",
            place(world.folder, "other.so"), "libonload.so", "./libonload.so", f"{world.folder}/../..{theirs}", f"{world.folder}/absent/libonload.so"]


def test_only_a_library_that_root_alone_can_write_is_preloaded(world):
    for library in untrusted_libraries(world):
        world.library = library
        done = world.run("")
        assert (done.returncode, done.stdout) == (1, "") and "preload" in done.stderr, (library, done)
        for kind in ("systemd", "docker", "cdi"):
            done = world.nrdctl("export", kind)
            assert (done.returncode, done.stdout) == (1, ""), (library, kind)
    world.library = os.path.join(world.folder, "libonload.so")
    assert f"LD_PRELOAD={world.library}" in world.run("").stdout.splitlines()
    assert world.library in world.nrdctl("export", "docker").stdout


def test_root_runs_profiles_received_over_the_socket_or_https_only(world):
    plain = ["--url", f"http://127.0.0.1:{world.node.port}"]
    theirs = os.path.join(world.theirs, "nrd.sock")
    with UnixServer(theirs, Front) as server:
        server.library = ""
        os.chown(theirs, NOBODY, NOBODY)
        for endpoint in (plain, ["--socket", theirs]):
            for words in (["run", "--", "/usr/bin/env"], ["run", "--onload", "--", "/usr/bin/env"], ["export", "docker"]):
                done = world.nrdctl(*words, endpoint=endpoint)
                assert (done.returncode, done.stdout) == (2, ""), (endpoint, words, done)
