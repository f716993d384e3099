"""The journal's catalog, made from docs/journal-messages.md."""

import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def message_id(code):
    return hashlib.sha256(b"nrd:" + code.encode()).hexdigest()[:32]


def test_every_message_is_explained_by_journalctl(tmp_path):
    catalog = tmp_path / "usr/lib/systemd/catalog/nrd.catalog"
    catalog.parent.mkdir(parents=True)
    subprocess.run(["cmake", "-D", f"CATALOG={catalog}", "-D", f"TABLE={tmp_path}/ids.cc", "-P", ROOT / "cmake/messages.cmake"],
                   check=True, timeout=60)
    codes = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/journal-messages.md").read_text(), re.M)
    expected = {(message_id(code), f"nrd: {code}") for code in codes}
    assert len(expected) == len(codes) > 50

    def journalctl(*arguments):
        return subprocess.run(["journalctl", f"--root={tmp_path}", *arguments], check=True, capture_output=True, text=True,
                              timeout=60).stdout
    journalctl("--update-catalog")
    listed = {tuple(line.split(" ", 2)[::2]) for line in journalctl("--list-catalog").splitlines()}
    assert listed == expected
    ready = journalctl("--dump-catalog", message_id("READY"))
    assert "the hardware matches the stored state" in ready and "Remedy: nothing" in ready
    assert not re.search(r"`|\]\(", journalctl("--dump-catalog")), "Markdown"
    table = (tmp_path / "ids.cc").read_text()
    assert all(f'{{"{code}", "{message_id(code)}"}}' in table for code in codes)
