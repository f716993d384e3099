"""At which of many calls a fault strikes: at each with NRD_LONG=1 (tests/long), else at some that are always the same.

These are the first and the last call of each kind, and every EVERY-th of all. Cases that differ in the fault only take
turns, so that what one leaves out another may try:

    struck(["write nrd.db-wal", "write nrd.db-wal", "write nrd.db-wal", "sync nrd.db-wal"])    1, 3, 4
"""

import os
import re

LONG = bool(os.environ.get("NRD_LONG"))
EVERY = 12
BEYOND = 20  # calls more than without a fault; whoever needs more does not end


def struck(kinds, turn=0):
    """Positions, counted from 1, among the calls of a run without a fault, of which `kinds` says what each was."""
    if LONG:
        return list(range(1, len(kinds) + 1))
    last = {kind: nth for nth, kind in enumerate(kinds, 1)}
    first = {kind: kinds.index(kind) + 1 for kind in last}
    return sorted({*first.values(), *last.values(), *range(1 + 5 * turn % EVERY, len(kinds) + 1, EVERY)})


def struck_until_past(kinds, turn=0):
    """The same, and then on for whoever stops at the first that strikes nothing any more."""
    return struck(kinds, turn) + list(range(len(kinds) + 1, len(kinds) + BEYOND))


def kinds_of_writes(node):
    """Of all writes to the simulated hardware so far: "write COS/schemata", whichever the class and whatever the value."""
    return [re.sub(r"COS\d+", "COS", " ".join(line.split()[:2])) for line in node.sim.log()]
