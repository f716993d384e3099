"""pages.py --list | --update [NAME]...: what pages need beyond a simulated node; pages with the real output of their commands."""

import os
import sys

from howto import Command, File, Node, Page, matches
from reader import Reader
from test_howtos import pages


def show_needs(path):
    for step in Page(path).steps:
        if isinstance(step, Command) and step.needs:
            print(f"{os.path.relpath(path)}:{step.line}: {step.needs}: {step.text}")


def real_outputs(page):
    """(command, real output) of those that differ from the page."""
    reader, changed = None, []
    try:
        for step in page.steps:
            if isinstance(step, Node):
                if reader:
                    reader.end()
                reader = Reader(step.options)
            elif isinstance(step, File):
                reader.write(step.path, step.text)
            elif not step.needs:
                status, output = reader.run(step.text)
                if status != step.status:
                    print(f"{page.path}:{step.line}: exit status {status}, not {step.status}")
                if not matches(step.output, output):
                    changed.append((step, output))
    finally:
        if reader:
            reader.end()
    return changed


def update(path):
    page = Page(path)
    with open(path) as file:
        lines = file.read().split("\n")
    for command, output in reversed(real_outputs(page)):
        first = command.line + command.text.count("\n")  # the line after the command, counted from 0
        lines[first:first + len(command.output)] = output
        print(f"{os.path.relpath(path)}:{command.line}: updated: {command.text}")
    with open(path, "w") as file:
        file.write("\n".join(lines))


def main(verb, *names):
    for path in pages():
        if not names or any(name in os.path.basename(path) for name in names):
            {"--list": show_needs, "--update": update}[verb](path)


main(*sys.argv[1:])
