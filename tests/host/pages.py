"""What tests/host/run does besides testing.

    pages.py --list [NAME]...        what the pages need beyond a simulated node
    pages.py --systemd [NAME]...     a shell script with the files and commands of blocks that need systemd
    pages.py --update [NAME]...      writes the real output of the commands into the pages
"""

import os
import shlex
import sys

from howto import Command, File, Node, Page
from reader import Reader
from test_howtos import pages


def show_needs(path):
    for step in Page(path).steps:
        if isinstance(step, Command) and step.needs:
            print(f"{os.path.relpath(path)}:{step.line}: {step.needs}: {step.text}")


def show_script(path):
    """For a booted Debian. It ends at the first command whose exit status differs from the page, or that lacks a line of it."""
    page = Page(path)
    commands = page.commands("systemd")
    if not commands:
        return
    print(f"set -u\n# {os.path.relpath(path)}")
    for step in page.steps:
        if isinstance(step, File):
            print(f"mkdir -p {shlex.quote(os.path.dirname(step.path))}; cat > {shlex.quote(step.path)} <<'END_OF_FILE'\n{step.text}END_OF_FILE")
        elif isinstance(step, Command) and step.needs == "systemd":
            print(f"echo {shlex.quote('# ' + step.text)}\nsaid=$({step.text} 2>&1); status=$?; printf '%s\\n' \"$said\"")
            print(f"[ $status = {step.status} ] || {{ echo 'line {step.line}: exit status' $status; exit 1; }}")
            for line in step.output or []:
                for fact in filter(None, (part.strip() for part in line.split("…"))):
                    print(f"grep -qF -- {shlex.quote(fact)} <<< \"$said\" || {{ echo 'line {step.line}: no' {shlex.quote(fact)}; exit 1; }}")


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
                status, output = reader.run(step.text, step.form == "sh")
                if status != step.status:
                    print(f"{page.path}:{step.line}: exit status {status}, not {step.status}")
                difference = step.difference(output)
                if difference and step.form == "console":
                    changed.append((step, output))
                elif difference:
                    print(f"{page.path}:{step.line}: {step.text}\n{difference}")
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
            {"--list": show_needs, "--systemd": show_script, "--update": update}[verb](path)


main(*sys.argv[1:])
