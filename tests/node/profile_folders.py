"""A node without Onload whose configured folder of profiles is root's alone. Modules that say pytest_plugins =
"profile_folders" may have it as fixture `profiled`; the folder is its attribute `profiles`."""

import os
import shutil
import tempfile

import pytest
from harness import Node


@pytest.fixture(scope="module")
def profiled_node():
    folder = tempfile.mkdtemp(dir="/run", prefix="nrd-profiles-")
    os.chmod(folder, 0o755)
    try:
        with Node(f'[onload]\nprofiles = ["{folder}"]\n') as node:
            node.profiles = folder
            yield node
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def profiled(profiled_node):
    """One node for all tests of a module. After each there is no profile, and the folder is as it was."""
    yield profiled_node
    os.chown(profiled_node.profiles, 0, 0)
    os.chmod(profiled_node.profiles, 0o755)
    for entry in os.scandir(profiled_node.profiles):
        shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)
    shutil.rmtree(os.path.join(profiled_node.state, "profiles"), ignore_errors=True)
