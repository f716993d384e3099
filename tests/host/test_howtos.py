"""The documents do what they say: each command runs on a simulated node, and its output is that of the page."""

import contextlib
import glob
import os
import re
import shlex
import subprocess

import pytest
from answers import differences, example
from howto import ROOT, Command, File, Node, Page, PageError, difference, matches, steps_of
from reader import Reader

DOCS = os.path.join(ROOT, "docs")
FIRST = "first-steps.md"
ALL = [os.path.join(ROOT, "README.md"), *(path for folder in (".", "howto", "explain") for path in sorted(glob.glob(f"{DOCS}/{folder}/*.md")))]


def pages():
    """Those with commands. ./test runs some of them (NRD_HOST_PAGES), tests/host/run all."""
    found = [path for path in ALL if any(isinstance(step, (Node, Command)) for step in Page(path).steps)]
    chosen = os.environ.get("NRD_HOST_PAGES", "").split(":")
    return [path for path in found if any(name in path for name in chosen)]


def run(reader, command):
    status, output = reader.run(command.text, command.form == "sh")
    said = "\n".join(output)
    where = f"line {command.line}: {command.text}"
    assert status == command.status, f"{where}\nexit status {status}, not {command.status}:\n{said}"
    difference = command.difference(output)
    assert not difference, f"{where}\n{difference}"


def follow(page):
    """All steps of a page, as a reader without the things that NEEDS lists. The number of commands that ran."""
    count = 0
    with contextlib.ExitStack() as nodes:
        reader = None
        for step in page.steps:
            if isinstance(step, Node):
                nodes.close()
                reader = nodes.enter_context(Reader(step.options))
            elif isinstance(step, File):
                reader.write(step.path, step.text)
            elif not step.needs:
                assert reader, f"line {step.line}: no node; add <!-- node -->"
                run(reader, step)
                count += 1
    return count


@pytest.mark.parametrize("path", pages(), ids=os.path.basename)
def test_the_page_is_true(path):
    page = Page(path)
    assert follow(page) == len(page.commands())


def test_the_first_workload_takes_at_most_six_commands():
    page = Page(os.path.join(DOCS, FIRST))
    typed = [step.text for step in page.steps if isinstance(step, Command)]
    created = next(number for number, text in enumerate(typed, 1) if "workload create" in text)
    assert created <= 6 and not any(" && " in text or ";" in text for text in typed[:created]), typed


def test_each_how_to_runs_commands_and_undoes_them():
    for path in glob.glob(f"{DOCS}/howto/*.md"):
        with open(path) as file:
            text = file.read()
        assert "\n## Undo" in text, path
        assert Page(path).commands(), f"{path}: no command runs on a simulated node"


def test_commands_that_no_simulated_node_can_run_have_known_options():
    commands = [(path, step) for path in ALL for step in Page(path).steps if isinstance(step, Command) and step.needs]
    words = [(path, step.line, part) for path, step in commands for part in re.findall(r"\bnrdctl .*?(?= [>#|&]|\)|$)", step.text, re.M)]
    assert len(words) > 20
    for path, line, text in words:
        ended = subprocess.run([os.environ["NRDCTL"], *shlex.split(text)[1:]], env={"NRD_SOCKET": "/none"}, capture_output=True, text=True)
        assert ended.returncode != 2, f"{path}:{line}: {text}: {ended}"  # wrong usage


# The runner itself

def test_columns_may_be_wider_and_an_ellipsis_is_any_text():
    assert matches(["ID  POOL …", "1  guarantee …"], ["ID    POOL        CLASS", "1     guarantee   COS2"])
    assert not matches(["ID  POOL …", "2  guarantee …"], ["ID    POOL        CLASS", "1     guarantee   COS2"])


def test_an_ellipsis_alone_is_any_number_of_lines():
    assert matches(["a", "…", "b"], ["a", "b"]) and matches(["a", "…", "b"], ["a", "x", "y", "b"])
    assert not matches(["a", "…", "b"], ["a", "x"])


def test_missing_and_additional_output_differ_from_the_page():
    assert not matches(["a"], []) and not matches([], ["a"]) and matches([], [])
    assert "-a\n+b" in difference(["a"], ["b"])


def test_a_command_has_continuation_lines_and_output():
    step, = steps_of("<!-- status: 1 -->\n```console\n$ cat <<EOF\n> text\n> EOF\ntext\n```\n")
    assert (step.text, step.output, step.status, step.line) == ("cat <<EOF\ntext\nEOF", ["text"], 1, 3)


def test_a_block_that_needs_more_than_the_node_is_not_run():
    step, = steps_of("<!-- needs: systemd -->\n```console\n# systemctl status nrd\n```\n")
    assert step.needs == "systemd"


def test_each_line_without_prompt_is_a_command_unless_it_goes_on():
    text = "```sh\na b   # more\nc 'd\ne'\nf |\n g\nnrdctl run --cpus 1 -- ./feed\n```\n"
    assert [(step.text, step.line) for step in steps_of(text)] == [
        ("a b   # more", 2), ("c 'd\ne'", 4), ("f |\n g", 6), ("nrdctl workload create --cpus 1", 7)]


def test_json_differs_from_the_page_in_members_and_values():
    shown = example('{"a": 1, "b": {"c": "2026-01-01T00:00:00Z", …}, "d": [1, …], "e": …}')
    assert not [*differences(shown, {"a": 1, "b": {"c": "2026-02-03T04:05:06Z", "x": 2}, "d": [1, 2, 3], "e": None})]
    assert [*differences(shown, {"a": 2, "b": {}, "d": [], "e": 0, "f": 0})] == [
        "/a: 1 in the page, 2 in the real output", "/b/c: only in the page",
        "/d: 1 items in the page, 0 in the real output", "/f: only in the real output"]
    assert [*differences(example('{"a": 1, "b": "x"}'), {"a": None, "b": 2}, has_values=False)] == [
        "/b: 'x' in the page, 2 in the real output"]


@pytest.mark.parametrize("text", ["<!-- needs: luck -->\n```console\n$ a\n```\n", "```console\nno command\n```\n", "<!-- status: 1 -->\n",
                                  "```\nnrdctl status\n```\n", "```text\nnrdctl status\n```\n", "```json\n{\n```\n",
                                  "<!-- tested-by: tests/none.py -->\n```sh\na\n```\n", "```sh\necho 'a\n```\n",
                                  "<!-- status: 1 -->\n```sh\na\n```\n", "```json {x}\n{}\n```\n", " ```sh\na\n ```\n"])
def test_a_page_with_a_wrong_directive_is_refused(text):
    with pytest.raises(PageError):
        steps_of(text)


def test_options_of_a_node_are_those_of_nrd_simnode():
    step, = steps_of("<!-- node: --cpus 8 --no-mb --cdp -->\n")
    assert step.options == {"cpus": "8", "mb": False, "cdp": True}


def test_wrong_output_and_wrong_status_fail_on_a_node():
    with Reader({}) as reader:
        run(reader, Command("echo a", ["a"], 0, None, 1))
        with pytest.raises(AssertionError, match=r"-b\s+\+a"):
            run(reader, Command("echo a", ["b"], 0, None, 1))
        with pytest.raises(AssertionError, match="exit status 1, not 0"):
            run(reader, Command("false", [], 0, None, 1))
