"""The main example of README.md: its drawings are what nrdctl draws on that node."""

import os
import re
import shlex

from cpu_pools import put
from harness import Node
from nrdctl import nrdctl

README = os.path.join(os.path.dirname(__file__), "..", "..", "README.md")
CONFIG = """
[os]
cpus = "0-1"
[[cpu.pools]]
name = "fast"
cpus = "2-7,10-15"
kind = "exclusive"
"""


def blocks():
    with open(README) as file:
        return re.findall(r"^```\w*\n(.*?)^```$", file.read(), re.M | re.S)


def test_the_drawings_of_the_main_example_are_real():
    command = next(block for block in blocks() if block.startswith("nrdctl run "))
    drawing = next(block for block in blocks() if block.startswith("package 0"))
    options = shlex.split(command)[2:]
    with Node(CONFIG, start=False, sockets=2, cpus=16, ways=11) as node:
        # The network interface of the example. The command itself would need these CPUs to exist.
        node.sim.run_inside(["mount", "-t", "tmpfs", "simulated", "/sys/class/net"])
        put(node, "/sys/class/net/eth1/local_cpulist", "0-7\n")
        node.start()
        nrdctl(node, "workload", "create", *options[:options.index("--")])
        assert nrdctl(node, "cpus") + "\n" + nrdctl(node, "ways") == drawing
