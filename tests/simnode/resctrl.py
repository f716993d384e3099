"""The resctrl tree of a simulated node, for the tests of this folder, and how an access to it fails."""

import os
import re

import pytest

from simnode import RESCTRL


def at(node, path):
    return node.path(f"{RESCTRL}/{path}")


def read(node, file):
    return node.read(f"{RESCTRL}/{file}")


def write(node, file, text):
    node.write(f"{RESCTRL}/{file}", text)


def mkdir(node, group):
    os.mkdir(at(node, group))


def rmdir(node, group):
    os.rmdir(at(node, group))


def ways(node, group):
    return node.dump()[group]["L3"]


def last_status(node):
    return read(node, "info/last_cmd_status")


def flags(node):
    """Of the CPU."""
    return re.search(r"^flags\s*: (.*)$", node.read("/proc/cpuinfo"), re.M).group(1).split()


def refused(act, *arguments, **named):
    """The errno that it fails with."""
    with pytest.raises(OSError) as failure:
        act(*arguments, **named)
    return failure.value.errno
