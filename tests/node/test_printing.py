"""nrdctl prints no terminal control sequences, whatever their source."""

import json
import os

import pytest

from harness import Node
from nrdctl import run_nrdctl
from servers import Handler, UnixServer, serving

EVIL = "\x1b[2J\u009b31m\x7f\r\x07\u202e"
COMMANDS = [["node"], ["ways"], ["workload", "list"], ["workload", "show", "1"], ["workload", "delete", "1"],
            ["workload", "create", "--cpus", "1", "--ways", "1"], ["workload", "create", "--cpus", "1", "--ways", "1", "--dry-run"],
            ["top", "--once"], ["onload"], ["onload", "versions"], ["onload", "users"], ["onload", "interfaces"],
            ["onload", "controlplane"], ["onload", "preflight"], ["export", "docker"], ["onload", "thaw"],
            ["onload", "cancel", "1"], ["run", "--cpus", "1", "--ways", "1", "--", "true"], ["run", "--onload=x", "--", "true"],
            ["reset", "--yes", "--foreign", "*"]]


def spoiled(value):
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, list):
        return [spoiled(item) for item in value]
    if isinstance(value, dict):
        return {key + EVIL if key in ("guarantee", "shared", "os") else key: spoiled(item) for key, item in value.items()}
    return value


class Spoiler(Handler):
    """nrd's answers with control characters in each text, or a refusal that has them."""

    methods = ("GET", "POST", "PUT", "PATCH", "DELETE")

    def answer(self):
        status, text = self.forward()
        if self.server.refuses:
            status, text = 409, "no " + EVIL + "\x9b"
        elif text.startswith(("{", "[")):
            text = json.dumps(spoiled(json.loads(text)), ensure_ascii=False)
        self.reply(status, (text if status < 300 else text + EVIL).encode("utf-8", "surrogateescape") + b"\x9b" * (status >= 300))


@pytest.fixture(scope="module")
def server():
    with Node() as node:
        node.create("4-5", 2, 2)
        path = os.path.join(node.folder, "spoiler.sock")
        with serving(UnixServer(path, Spoiler), node=node, path=path) as server:
            yield server


def obeyed(output):
    """What of it a terminal would take for an order, in seven bits, in eight or in UTF-8."""
    text = output.decode("utf-8", "surrogateescape")
    return [c for c in text if (ord(c) < 0x20 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or c == "\u202e" or 0xdc80 <= ord(c) < 0xdd00]


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("json_too", [False, True])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_control_character_gets_through(server, command, json_too, refuses):
    server.refuses = refuses
    done = run_nrdctl("--socket", server.path, *(["--json"] if json_too else []), *command, text=False)
    assert obeyed(done.stdout) == [] and obeyed(done.stderr) == [], done
    assert done.stdout + done.stderr != b"" or command[0] == "run", done
    if json_too and not refuses and done.returncode == 0 and done.stdout.startswith((b"{", b"[")):
        json.loads(done.stdout)
