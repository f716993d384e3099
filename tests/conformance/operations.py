"""operations.py KIND: the operations of one kind of mount, on this machine's /sys/fs/resctrl. See session.py.

KIND is plain, cdp or mbps, as the tree was mounted. Two caches and eight CPUs, four for each, are expected.
"""

import sys

import sections_cpus
import sections_groups
import sections_masks
import sections_mounts
from session import Session

KINDS = {
    "plain": [*sections_groups.ALL, *sections_masks.ALL, *sections_cpus.ALL],
    "cdp": sections_mounts.CDP,
    "mbps": sections_mounts.MBPS,
}


def main(kind):
    session = Session(sys.stdout)
    for section in KINDS[kind]:
        session.begin(f"{kind}/{section.__name__}")
        section(session)


if __name__ == "__main__":
    main(*sys.argv[1:])
