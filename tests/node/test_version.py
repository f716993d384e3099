"""The version: the same wherever it is seen, and made from git by cmake/version.cmake."""

import pathlib
import re
import shutil
import subprocess

import pytest
from harness import NRD, NRDCTL, Node

ROOT = pathlib.Path(__file__).parents[2]
PROJECT = re.search(r"^project\(nrd VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def printed(*command, folder=None):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_every_program_and_the_metric_show_the_same_version():
    version = printed(NRD, "--version").removeprefix("nrd ")
    assert re.fullmatch(rf"{re.escape(PROJECT)}([~+]git\d+\.[0-9a-f]+(\.dirty)?)?", version)
    assert printed(NRDCTL, "--version") == f"nrdctl {version}"
    with Node() as node:
        assert node.health()["version"] == version
        assert f'nrd_build_info{{version="{version}"}} 1' in node.request("GET", "/metrics")[1]


class Tree:
    """A repository with nothing but what the version needs."""

    def __init__(self, folder, project):
        self.folder = folder
        (folder / "cmake").mkdir()
        shutil.copy(ROOT / "cmake/version.cmake", folder / "cmake")
        self.declare(project)
        self.git("init", "-q")

    def declare(self, project):
        (self.folder / "CMakeLists.txt").write_text(f"project(nrd VERSION {project} LANGUAGES CXX C)\n")

    def git(self, *arguments):
        return printed("git", "-c", "user.name=n", "-c", "user.email=n@example", *arguments, folder=self.folder)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "--short=7", "HEAD")

    def version(self):
        return printed("cmake", "-P", "cmake/version.cmake", folder=self.folder)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path, "1.3.0")


def is_older(one, other):
    return subprocess.run(["dpkg", "--compare-versions", one, "lt", other]).returncode == 0


def test_builds_between_releases_sort_by_their_number_of_commits(tree):
    first = tree.commit()
    assert tree.version() == f"1.3.0~git1.{first}"
    for _ in range(9):
        tree.commit()
    tenth = tree.version()
    assert tenth.startswith("1.3.0~git10.")
    assert is_older(f"1.3.0~git9.{first}", tenth) and is_older(tenth, "1.3.0") and is_older("1.2.9", tenth)


def test_a_tag_is_the_version(tree):
    tree.commit()
    tree.git("tag", "v1.3.0")
    assert tree.version() == "1.3.0"
    after = tree.commit()  # the project's version was not raised yet
    assert tree.version() == f"1.3.0+git1.{after}" and is_older("1.3.0", tree.version())
    tree.declare("1.4.0")
    later = tree.commit()
    assert tree.version() == f"1.4.0~git2.{later}"


def test_changed_files_are_visible_in_the_version(tree):
    commit = tree.commit()
    tree.git("tag", "v1.3.0")
    tree.declare("1.4.0")
    assert tree.version() == f"1.4.0~git0.{commit}.dirty"


def test_without_git_it_is_the_version_of_the_project(tree):
    tree.commit()
    shutil.rmtree(tree.folder / ".git")
    assert tree.version() == "1.3.0"


def test_a_refresh_leaves_an_equal_source_alone(tree, tmp_path):
    def refresh():
        printed("cmake", "-D", f"OUTPUT={tmp_path}/version.cc", "-P", "cmake/version.cmake", folder=tree.folder)
        return (tmp_path / "version.cc").stat().st_mtime_ns
    tree.commit()
    written = refresh()
    assert refresh() == written
    commit = tree.commit()
    assert refresh() > written and commit in (tmp_path / "version.cc").read_text()
