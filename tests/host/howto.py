"""Reads a page as it stands: its commands, which run on a simulated node, and the output that the page shows of them.

    page = Page("docs/howto/isolate-a-cache.md")
    for step in page.steps: ...

README.md has the syntax of pages.
"""

import dataclasses
import difflib
import os
import re
import shlex

import yaml
from answers import differences, example

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Names of what the simulated node does not have. A block that needs one of these is not run there.
NEEDS = ("build", "hardware", "kubernetes", "network", "onload", "rmd", "systemd")
FENCE = re.compile(r"^```([\w-]*)\n(.*?)^```$", re.M | re.S)
DIRECTIVE = re.compile(r"<!-- (node|run|file|shows|shape|needs|status|tested-by):? ?(.*?) -->")
TYPED = re.compile(r"^(?:[$#] )?(?:sudo )?(?:nrd|nrdctl|curl|systemctl|openssl|kubectl|cmake) ", re.M)
LOADERS = {"json": example, "text": str, "yaml": yaml.safe_load}
CHECKED = "/etc/nrd/nrd.toml.d/page.toml"  # a part of a configuration, beside that of the page so far


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
    output: list  # None: any
    status: int
    needs: str
    line: int
    form: str = "console"  # the language of its block

    def difference(self, real):
        """Between the output of the page and the real one; empty if there is none."""
        if self.output is None:
            return ""
        if self.form in ("json", "shape"):
            shown, found = (example("\n".join(lines)) for lines in (self.output, real))
            return "\n".join(differences(shown, found, has_values=self.form == "json"))
        return "" if matches(self.output, real) else difference(self.output, real)


class Page:
    def __init__(self, path):
        self.path = path
        with open(path) as file:
            text = file.read()
        try:
            self.steps = steps_of(text)
        except PageError as error:
            raise PageError(f"{path}: {error}") from error

    def commands(self, needs=None):
        return [step for step in self.steps if isinstance(step, Command) and step.needs == needs]


def steps_of(text):
    """Directives and blocks in their order. A directive belongs to the block that follows it, except for `node` and `run`."""
    marks = sorted([*DIRECTIVE.finditer(text), *FENCE.finditer(text)], key=lambda match: match.start())
    steps, pending = [], {}
    for mark in marks:
        line = text.count("\n", 0, mark.start()) + 1
        if mark.re is FENCE:
            steps += steps_of_block(mark[1], mark[2], line, pending)
            pending = {}
        elif mark[1] == "node":
            steps.append(Node(options_of(shlex.split(mark[2])), line))
        elif mark[1] == "run":
            steps.append(Command(mark[2], None, 0, None, line))
        else:
            pending[mark[1]] = mark[2]
    if pending:
        raise PageError(f"no block follows: {pending}")
    if len(re.findall(r"^ *```", text, re.M)) != 2 * sum(mark.re is FENCE for mark in marks):
        raise PageError("a block begins with more than ``` and a language, or has no end")
    return steps


def steps_of_block(language, block, line, pending):
    """What shows that the block is true: each is run, or loaded, or names the test that does it, or is a drawing."""
    needs, status = pending.get("needs"), int(pending.get("status", 0))
    if needs not in (None, *NEEDS):
        raise PageError(f"line {line}: needs: {needs}; known: {', '.join(NEEDS)}")
    if "tested-by" in pending:
        if not os.path.exists(os.path.join(ROOT, pending["tested-by"])):
            raise PageError(f"line {line}: there is no {pending['tested-by']}")
        return []
    if "file" in pending:
        return [File(pending["file"], block, line)]
    if language == "console":
        return commands_of(block, line + 1, needs, status)
    if language == "sh" and not status:
        return commands_without_prompt(block, line + 1, needs)
    for form in ("shows", "shape"):
        if form in pending:
            return [Command(pending[form], block.splitlines(), status, needs, line, form if form == "shape" else language)]
    if needs or status:
        raise PageError(f"line {line}: only blocks of commands and their output have needs and status")
    if language == "toml":
        return [File(CHECKED, block, line), Command(f"nrd --check-config && rm {CHECKED}", None, 0, None, line)]
    if language not in LOADERS or (language == "text" and TYPED.search(block)):
        raise PageError(f"line {line}: write the language, or how the block is tested (tests/host/README.md)")
    try:
        LOADERS[language](block)
    except (ValueError, yaml.YAMLError) as error:
        raise PageError(f"line {line}: {error}") from error
    return []


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


def commands_without_prompt(block, first, needs):
    """Each ends where its line does, unless a quote is open or `\\` or `|` is the last character. Processes cannot run on
    simulated CPUs, so `nrdctl run` makes a workload for none."""
    commands, text = [], ""
    if not needs:
        block = re.sub(r"^nrdctl run (.*?) -- .*", r"nrdctl workload create \1", block, flags=re.M)
    for number, line in enumerate(block.splitlines(), first):
        text = f"{text}\n{line}" if text else line
        try:
            shlex.split(text, comments=True)
        except ValueError:
            continue
        if line.strip() and not line.endswith(("\\", "|")):
            commands.append(Command(text, None, 0, needs, number, "sh"))
            text = ""
    if text.strip():
        raise PageError(f"line {first}: the last command has no end: {text}")
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
