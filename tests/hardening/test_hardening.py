"""What the release preset builds is hardened: the flags of every product file, and a program made with them."""

import glob
import json
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CHECK = os.path.join(os.path.dirname(__file__), "check")
PRODUCT = ["api", "base", "cli", "daemon", "engine", "hw", "store"]
WANTED = ["-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection", "-D_GLIBCXX_ASSERTIONS"]


@pytest.fixture(scope="module")
def release():
    """Configured as by the preset, in a folder that is kept between runs."""
    folder = os.path.join(ROOT, "build", "hardening")
    done = subprocess.run(["cmake", "--preset", "release", "-B", folder], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def sources_in(path):
    """A source, or those that are compiled as one."""
    if "/Unity/" not in path:
        return [path]
    with open(path) as file:
        return re.findall(r'#include "(.+)"', file.read())


def test_every_file_of_the_product_is_compiled_hardened(release):
    with open(os.path.join(release, "compile_commands.json")) as file:
        commands = [entry for entry in json.load(file) if "/tests/" not in entry["file"] and "/bench/" not in entry["file"]]
    compiled = {source for entry in commands for source in sources_in(entry["file"])}
    product = {path for folder in PRODUCT for path in glob.glob(f"{ROOT}/{folder}/**/*.cc", recursive=True)}
    assert {path for path in product - compiled if not path.endswith("/absent.cc")} == set()  # of a build without Onload
    assert len(product) > 100
    for entry in commands:
        words = entry["command"].split()
        assert not [flag for flag in WANTED if flag not in words], entry
        assert [word for word in words if word.startswith("-fPI")], entry
        assert re.search(r"-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=[23]\b", entry["command"]), entry
        assert {"-Os", "-O2"} & set(words), entry  # without an optimizer, fortified functions are not checked


def test_every_binary_of_the_product_is_hardened(release):
    subprocess.run(["cmake", "--build", release, "--target", "nrd-pam"], check=True, capture_output=True)
    done = subprocess.run([CHECK, os.path.join(release, "api", "nrd-pam")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_unhardened_file_is_reported(tmp_path):
    """The check itself can fail."""
    bare = tmp_path / "bare"
    flags = ["-no-pie", "-fno-stack-protector", "-fcf-protection=none", "-Wl,-z,norelro,-z,lazy,-z,execstack", "-Wl,-rpath,/tmp"]
    source = b"int main() { return 0; }\n"
    subprocess.run([shutil.which("c++"), "-x", "c++", *flags, "-o", bare, "-"], input=source, check=True)
    done = subprocess.run([CHECK, bare], capture_output=True, text=True)
    # The start-up code before main() comes marked from the distribution's libraries.
    assert done.returncode == 1 and len(done.stderr.splitlines()) >= 8, done.stderr


# The unit and its drop-ins: the exposure that docs/security.md states for each.

@pytest.mark.parametrize("drop_in, stated", [
    (None, r"`systemd-analyze security nrd`: \*\*([0-9.]+)"), ("msr.conf", r"`msr\.conf`.*exposure is then ([0-9.]+)"),
    ("onload.conf", r"`onload\.conf`.*exposure is then ([0-9.]+)")])
def test_the_exposure_of_the_unit_is_as_documented(tmp_path, drop_in, stated):
    units = tmp_path / "etc/systemd/system"
    (units / "nrd.service.d").mkdir(parents=True)
    shutil.copy(os.path.join(ROOT, "systemd/nrd.service"), units)
    if drop_in:
        shutil.copy(os.path.join(ROOT, "systemd", drop_in), units / "nrd.service.d")
    seen = subprocess.run(["systemd-analyze", "--no-pager", "security", "--offline=true", f"--root={tmp_path}", "nrd.service"],
                          capture_output=True, text=True)
    exposure = re.search(r"Overall exposure level for nrd\.service: ([0-9.]+)", seen.stdout)
    with open(os.path.join(ROOT, "docs/security.md")) as file:
        assert exposure and re.search(stated, file.read(), re.IGNORECASE)[1] == exposure[1], seen
