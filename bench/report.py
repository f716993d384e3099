"""What the commands of bench have in common: the release build, progress, and the table."""

import statistics
import subprocess
import sys


class CannotMeasure(Exception):
    pass


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def build(root, preset, targets):
    """The preset's folder, with these targets made."""
    progress(f"building ({preset})")
    for step in ["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset, "--target", *targets]:
        done = subprocess.run(step, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{' '.join(step)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return root / "build" / preset


def medians(rounds):
    """Of each figure of the rounds."""
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


# Rows of name, value, target, met or missed; the last two are empty where nothing is asked for.


def at_most(name, value, limit, shape):
    return name, shape.format(value), "≤ " + shape.format(limit), "met" if value <= limit else "missed"


def at_least(name, value, limit, shape):
    return name, shape.format(value), "≥ " + shape.format(limit), "met" if value >= limit else "missed"


def shown(name, value, shape):
    return name, shape.format(value), "", ""


def print_table(rows):
    rows = [("row", "value", "target", "")] + rows
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for name, value, target, verdict in rows:
        print(f"{name:<{widths[0]}}  {value:>{widths[1]}}  {target:>{widths[2]}}  {verdict}".rstrip())
