"""The simulated node is held to the kernel: the same operations on both, and what comes of each is the same.

What differs and may is in differences.txt with its reason; an entry that differs no longer fails as well.
"""

import os
import subprocess
import sys
import tempfile

import pytest
from machine import Machine
from shape import Shape

# So many that none is in limbo when a group needs one: how long they stay there is the hardware's affair.
RMIDS = 200
FOLDER = os.path.dirname(os.path.abspath(__file__))
SIMNODE = os.environ["NRD_SIMNODE"]
RESCTRL = "/sys/fs/resctrl"
MOUNTS = {"plain": "defaults", "cdp": "cdp", "mbps": "mba_MBps"}
LONG = [("AMD", "6.1"), ("Intel", "6.12"), ("AMD", "6.12")] if os.environ.get("NRD_VM_LONG") else []
IN_THE_MACHINE = f"""
for kind in {{kinds}}; do
  case $kind in {' '.join(f'{kind}) option={option} ;;' for kind, option in MOUNTS.items())} esac
  mount -t resctrl -o $option resctrl {RESCTRL}
  /usr/bin/python3 -B {FOLDER}/operations.py $kind > /share/$kind
  umount {RESCTRL}
done
"""


def kinds_of(vendor):
    return ["plain", "cdp"] + (["mbps"] if vendor == "Intel" else [])


def on_the_kernel(vendor, kernel, share):
    """Lines of each kind of mount."""
    with Machine(share, cpu=Shape(vendor=vendor, cdp=True, rmid=RMIDS), kernel=kernel) as vm:
        vm.run(IN_THE_MACHINE.format(kinds=" ".join(kinds_of(vendor))), timeout=900)
    return {kind: lines_of(os.path.join(share, kind)) for kind in kinds_of(vendor)}


def lines_of(path):
    with open(path) as file:
        return file.read().splitlines()


def on_the_simulated_node(vendor, kernel, kind):
    """The machine of tests/vm/shape.py. Its CPU has half as many classes while code and data are apart."""
    shape = {"vendor": vendor.lower(), "kernel": kernel, "sockets": 2, "cpus": 8, "threads": 2, "ways": 11, "l3-kib": 16384,
             "closids": 8 if kind == "cdp" else 16, "mb-closids": 8, "rmids": RMIDS}
    if kind == "mbps":
        shape["mb-unit"] = "mbps"
    if vendor == "Intel":
        shape.update({"cpufreq": "intel_pstate", "min-over-max": "clamp", "cpufreq-offline": "busy"})
    argv = [SIMNODE, *(f"--{name}={value}" for name, value in shape.items()), *(["--cdp"] if kind == "cdp" else []), "--"]
    with tempfile.TemporaryFile("w+") as out:
        subprocess.run(argv + [sys.executable, "-B", os.path.join(FOLDER, "operations.py"), kind], stdout=out, check=True, timeout=120)
        out.seek(0)
        return out.read().splitlines()


def allowed(vendor, kernel):
    """Operations that may differ, as "plain/masks write a/schemata ''"."""
    operations = set()
    for line in lines_of(os.path.join(FOLDER, "differences.txt")):
        if line and not line.startswith("#"):
            only, _, operation = line.partition(" | ")
            if only in ("all", vendor, kernel):
                operations.add(operation)
    return operations


def operation_of(line):
    section, _, rest = line.partition(" ")
    return f"{section} {rest.partition(' ')[2].partition(' -> ')[0]}"


def different(kernel, simulated):
    """Pairs of lines; operations are the same on both as far as each session goes."""
    longest = max(len(kernel), len(simulated))
    pairs = zip(kernel + ["ended"] * (longest - len(kernel)), simulated + ["ended"] * (longest - len(simulated)))
    return [pair for pair in pairs if pair[0] != pair[1]]


@pytest.mark.parametrize("vendor,kernel", [("Intel", "6.1"), *LONG])
def test_the_simulated_node_does_as_the_kernel_does(vendor, kernel, tmp_path):
    found = on_the_kernel(vendor, kernel, str(tmp_path))
    assert sum(len(lines) for lines in found.values()) > 400
    pairs = [pair for kind, lines in found.items() for pair in different(lines, on_the_simulated_node(vendor, kernel, kind))]
    may = allowed(vendor, kernel)
    wrong = [pair for pair in pairs if operation_of(pair[0]) not in may]
    assert not wrong, "\n".join(f"kernel:    {real}\nsimulated: {simulated}" for real, simulated in wrong)
    stale = may - {operation_of(real) for real, _ in pairs}
    assert not stale, f"in differences.txt, but the same on both: {stale}"
