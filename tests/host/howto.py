"""Reads a how-to and runs it as it stands: its commands on a simulated node, their output compared with the page.

    page = Page("docs/howto/isolate-a-cache.md")
    for step in page.steps: ...

README.md has the syntax of pages.
"""

import dataclasses
import difflib
import re
import shlex

# Names of what the simulated node does not have. A block that needs one of these is not run there.
NEEDS = ("hardware", "network", "onload", "systemd")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
DIRECTIVE = re.compile(r"<!-- (node|file|needs|status):? ?(.*?) -->")


class PageError(Exception):
    pass


@dataclasses.dataclass
class Node:
    """A new simulated node, with these options of nrd-simnode."""

    options: dict
    line: int


@dataclasses.dataclass
class File:
    path: str
    text: str
    line: int


@dataclasses.dataclass
class Command:
    text: str
    output: list
    status: int
    needs: str
    line: int


class Page:
    def __init__(self, path):
        self.path = path
        with open(path) as file:
            self.steps = steps_of(file.read())

    def commands(self, needs=None):
        return [step for step in self.steps if isinstance(step, Command) and step.needs == needs]


def steps_of(text):
    """Directives and blocks in their order. A directive belongs to the block that follows it, except for `node`."""
    marks = sorted([*DIRECTIVE.finditer(text), *FENCE.finditer(text)], key=lambda match: match.start())
    steps, pending = [], {}
    for mark in marks:
        line = text.count("\n", 0, mark.start()) + 1
        if mark.re is DIRECTIVE:
            if mark[1] == "node":
                steps.append(Node(options_of(shlex.split(mark[2])), line))
            else:
                pending[mark[1]] = mark[2]
            continue
        needs, status = pending.pop("needs", None), int(pending.pop("status", 0))
        if needs not in (None, *NEEDS):
            raise PageError(f"line {line}: needs: {needs}; known: {', '.join(NEEDS)}")
        if "file" in pending:
            steps.append(File(pending.pop("file"), mark[2], line))
        elif mark[1] == "console":
            steps += commands_of(mark[2], line + 1, needs, status)
        elif needs or status:
            raise PageError(f"line {line}: only blocks of console have needs and status")
    if pending:
        raise PageError(f"no block follows: {pending}")
    return steps


def options_of(words):
    """`--cpus 8 --no-mb --msr hwp` as SimNode.start() takes it: {"cpus": "8", "mb": False, "msr": "hwp"}."""
    options, name = {}, None
    for word in words:
        if word.startswith("--"):
            name = word[2:].removeprefix("no-")
            options[name] = not word.startswith("--no-")
        else:
            options[name] = word
    return {name.replace("-", "_"): value for name, value in options.items()}


def commands_of(block, first, needs, status):
    """Those after `$ ` or `# `, continued by `> `; all other lines are output. `status` is that of the last one."""
    commands = []
    for number, line in enumerate(block.splitlines(), first):
        if line.startswith(("$ ", "# ")):
            commands.append(Command(line[2:], [], 0, needs, number))
        elif not commands:
            raise PageError(f"line {number}: output before the first command: {line}")
        elif line.startswith("> ") and not commands[-1].output:
            commands[-1].text += "\n" + line[2:]
        else:
            commands[-1].output.append(line)
    if commands:
        commands[-1].status = status
    return commands


def pattern_of(line):
    """`…` is any text, a run of blanks any run of blanks: columns may have other widths."""
    parts = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in line.strip().split("…")]
    return re.compile(r"\s*" + ".*".join(parts) + r"\s*")


def matches(expected, real):
    """Whether the lines are those of the page; a line of `…` alone is any number of lines."""
    if not expected:
        return not real
    if expected[0].strip() == "…":
        return any(matches(expected[1:], real[skip:]) for skip in range(len(real) + 1))
    return bool(real) and bool(pattern_of(expected[0]).fullmatch(real[0])) and matches(expected[1:], real[1:])


def difference(expected, real):
    return "\n".join(difflib.unified_diff(expected, real, "the page", "the real output", lineterm=""))
