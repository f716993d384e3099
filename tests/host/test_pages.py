"""What pages quote: the errors in docs/explain/troubleshooting.md are real, and unit files in how-tos are valid."""

import glob
import os
import re
import subprocess

import pytest
from howto import File, Page
from reader import Reader

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs")
TROUBLESHOOTING = os.path.join(DOCS, "explain", "troubleshooting.md")

pytestmark = pytest.mark.skipif("NRD_HOST_PAGES" in os.environ, reason="tests/host/run runs these")

# (command, text of its refusal) on a node with three classes and neither MBA nor a cpufreq driver.
SMALL = {"closids": 3, "mb": False}
REFUSALS = [
    ("nrdctl workload create --cpus 1 --ways 6", "6 ways, but the guarantee pool has 5"),
    ("nrdctl workload create --cpus 1 --ways 5", None),
    ("nrdctl workload create --cpus 2 --ways 2", "needs 2 contiguous ways on cache 0; the guarantee pool has 0 of 5 ways left; …"),
    ("nrdctl workload create --cpus 1 --ways 1", "CPU 1 belongs to workload 1"),
    ("mkdir /sys/fs/resctrl/feed && echo 9 > /sys/fs/resctrl/feed/cpus_list", None),
    ("nrdctl workload create --cpus 9 --ways 1", "belongs to resctrl group feed, which nrd does not own"),
    ("nrdctl workload create --cpus 8 --ways 1", "every class of service is in use"),
    ("true & wait; nrdctl workload create --task-ids $! --ways 1", "there is no task 4711"),
    ("nrdctl workload create --cpus 3 --ways 1 --mba-percentage 30", "this node cannot limit memory bandwidth"),
    ("nrdctl workload create --cpus 4 --min-mhz 3000", "the frequency of CPU 4 cannot be set here: … no cpufreq driver"),
    ("systemctl stop nrd && nrdctl workload list", "cannot reach nrd on the socket /run/nrd/nrd.sock: Connection refused"),
    ("printf '[cache_pools]\\nguarantee = 12\\n' > /etc/nrd/nrd.toml && systemctl start nrd",
     "cache_pools: os 1 + guarantee 12 + … = 18 ways, but each L3 cache has 11"),
    ("echo '[cashe_pools]' > /etc/nrd/nrd.toml && nrd --check-config", "unknown section …"),
    ("printf '[cache_pools]\\nguarante = 3\\n' > /etc/nrd/nrd.toml && nrd --check-config", "unknown key …"),
]


def quoted(text):
    """`…` is any text, and a pid may be another one."""
    return re.compile(".*".join(re.escape(part).replace("4711", r"\d+") for part in text.split("…")), re.S)


def test_errors_that_the_troubleshooting_page_quotes_are_real():
    with open(TROUBLESHOOTING) as file:
        page = file.read()
    with Reader(SMALL) as reader:
        for command, quote in REFUSALS:
            status, output = reader.run(command)
            said = "\n".join(output)
            assert (status != 0) == (quote is not None), f"{command}: {status}: {said}"
            if quote:
                assert quote in page, f"the page lacks: {quote}"
                assert quoted(quote).search(said), f"{command}: {said}"


def test_a_node_without_rdt_says_so_as_the_page_quotes():
    with open(TROUBLESHOOTING) as file:
        assert "`L3 CAT: the kernel has no resctrl file system`" in file.read()
    with Reader({"rdt": False}) as reader:
        status, output = reader.run("nrdctl workload create --cpus 1 --ways 2")
        assert status == 1 and "L3 CAT: the kernel has no resctrl file system" in "\n".join(output)


def units():
    return [(os.path.basename(path), step) for path in glob.glob(f"{DOCS}/howto/*.md") for step in Page(path).steps
            if isinstance(step, File) and step.path.endswith(".service")]


@pytest.mark.parametrize("page,unit", units())
def test_units_of_how_tos_are_valid(page, unit, tmp_path):
    """By systemd's own parser, with programs that exist here."""
    text = re.sub(r"^(ExecStart=\+?)(?:/usr/bin/nrdctl .* -- )?/\S+", r"\1/bin/true", unit.text, flags=re.M)
    path = tmp_path / os.path.basename(unit.path)
    path.write_text(text)
    seen = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path], capture_output=True, text=True)
    assert seen.returncode == 0 and os.path.basename(unit.path) not in seen.stderr, seen.stderr


def test_there_is_a_unit_to_check():
    assert units()
