"""At which of many calls a fault strikes: at each with NRD_LONG=1 (tests/long), else at some that are always the same.

These are the first and the last call of each kind, and every EVERY-th of all. Cases that differ in the fault only take
turns: of each kind one has the first call, the next one the last, and each begins to count elsewhere.

    struck(["write nrd.db-wal", "write nrd.db-wal", "write nrd.db-wal", "sync nrd.db-wal"])    1, 3, 4
"""

import os
import re

LONG = bool(os.environ.get("NRD_LONG"))
EVERY = 12
BEYOND = 20  # calls more than without a fault; a scenario that needs more never ends


def struck(kinds, turn=None):
    """Positions, counted from 1, among the calls of a run without a fault, of which `kinds` says what each was."""
    if LONG:
        return list(range(1, len(kinds) + 1))
    last = {kind: nth for nth, kind in enumerate(kinds, 1)}
    first = {kind: kinds.index(kind) + 1 for kind in last}
    ends = {None: [*first.values(), *last.values()], 0: first.values(), 1: last.values()}[turn and turn % 2]
    return sorted({*ends, *range(1 + 5 * (turn or 0) % EVERY, len(kinds) + 1, EVERY)})


def struck_until_past(kinds, turn=None):
    """The same, followed by positions past the last call, for loops that end at the first one that strikes nothing."""
    yield from struck(kinds, turn)
    yield from range(len(kinds) + 1, len(kinds) + BEYOND)
    raise AssertionError(f"each of {len(kinds) + BEYOND} calls was struck, where {len(kinds)} were known")


def kinds_of_writes(node):
    """Of all writes to the simulated hardware so far: "write COS/schemata", whichever class or CPU and whatever value."""
    return [re.sub(r"(COS|policy)\d+", r"\1", " ".join(line.split()[:2])) for line in node.sim.log()]
