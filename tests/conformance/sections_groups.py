"""What there is, and groups that come and go."""

import os

from session import RESCTRL


def tree(s):
    s.list(".")
    s.list("info")
    for folder in ("L3", "MB", "L3_MON"):
        s.list(f"info/{folder}")
    for name in ("bit_usage", "cbm_mask", "min_cbm_bits", "num_closids", "shareable_bits"):
        s.read(f"info/L3/{name}")
    for name in ("bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids", "thread_throttle_mode"):
        s.read(f"info/MB/{name}")
    for name in ("mon_features", "num_rmids"):
        s.read(f"info/L3_MON/{name}")
    for name in ("cpus", "cpus_list", "mode", "schemata", "size"):
        s.read(name)
    s.list("mon_data")
    s.list("mon_groups")
    s.read("nothing")
    s.read("info/L2/cbm_mask")


def groups(s):
    s.mkdir("a")
    s.list("a")
    for name in ("cpus", "cpus_list", "mode", "schemata", "size", "tasks"):
        s.read(f"a/{name}")
    s.list("a/mon_data")
    s.mkdir("a")
    s.mkdir("info")
    s.mkdir("a/b")
    s.mkdir("info/x")
    s.mkdir("info/L3/x")
    s.mkdir("mon_data/x")
    s.mkdir("mon_data")
    s.mkdir("nothing/x")
    s.mkdir("with\nline")
    s.mkdir("with blank")
    s.rmdir("with blank")
    s.mkdir("n" * 256)
    s.rmdir("n" * 256)
    s.rmdir("a/mon_groups")
    s.rmdir("a/mon_data")
    s.rmdir("info")
    s.rmdir("info/L3")
    s.rmdir("mon_groups")
    s.rmdir("nothing")
    s.rmdir("schemata")
    s.call("rename a", lambda: os.rename(f"{RESCTRL}/a", f"{RESCTRL}/c"))
    s.call("unlink a/mode", lambda: os.unlink(f"{RESCTRL}/a/mode"))
    s.call("create a/new", lambda: os.close(os.open(f"{RESCTRL}/a/new", os.O_CREAT | os.O_WRONLY, 0o644)))
    s.call("symlink a/link", lambda: os.symlink("x", f"{RESCTRL}/a/link"))
    s.rmdir("a")
    s.rmdir("a")


def files(s):
    """Files as such: who may open them, and how much one may write."""
    s.mkdir("a")
    s.write("a/size", "1\n")
    s.write("info/L3/cbm_mask", "1\n")
    s.write("info/last_cmd_status", "1\n")
    s.write("mon_data/mon_L3_%02d/llc_occupancy" % caches()[0], "1\n")
    s.write("a/schemata", "L3:%d=3\n" % caches()[0], flags=os.O_TRUNC)
    s.write("a/schemata", "L3:%d=7\n" % caches()[0], flags=os.O_APPEND)
    s.read("a/schemata")
    s.write("a/cpus_list", "," * 4096, shown="4096 commas")
    s.write("a/cpus_list", "," * 4097, shown="4097 commas")
    s.write("a/cpus_list", "0" * 5000, shown="5000 zeros")
    s.write("a", "x")
    s.read("a")
    s.rmdir("a")


def exhaustion(s):
    """Until there are no more classes, and what is free again."""
    made = 0
    while s.mkdir(f"g{made}"):
        made += 1
    s.rmdir("g2")
    s.rmdir("g0")
    s.mkdir("again")
    s.read("again/schemata")
    s.rmdir("again")
    for number in range(made):
        if number not in (0, 2):
            os.rmdir(f"{RESCTRL}/g{number}")
    s.list(".")


def monitors(s):
    s.mkdir("a")
    s.mkdir("a/mon_groups/m")
    s.list("a/mon_groups/m")
    s.list("a/mon_groups/m/mon_data")
    s.mkdir("a/mon_groups/m")
    s.mkdir("a/mon_groups/m/x")
    s.mkdir("mon_groups/r")
    s.read("a/mon_groups/m/cpus_list")
    s.read("a/mon_groups/m/tasks")
    s.write("a/mon_groups/m/cpus_list", "1\n")
    s.write("a/cpus_list", "1-3\n")
    s.write("a/mon_groups/m/cpus_list", "1\n")
    s.read("a/mon_groups/m/cpus_list")
    s.mkdir("a/mon_groups/n")
    s.write("a/mon_groups/n/cpus_list", "1-2\n")
    s.read("a/mon_groups/m/cpus_list")
    s.write("a/mon_groups/n/cpus_list", "2\n")
    s.write("a/mon_groups/n/cpus", "6\n")
    s.read("a/mon_groups/n/cpus")
    s.write("a/mon_groups/n/cpus_list", "x\n")
    s.write("a/cpus_list", "2-3\n")
    s.read("a/mon_groups/n/cpus_list")
    s.read("mon_groups/r/cpus_list")
    s.rmdir("a/mon_groups/n")
    s.rmdir("mon_groups/r")
    s.rmdir("a")
    s.list("mon_groups")


def caches():
    """Ids of the L3 caches, ascending."""
    with open(f"{RESCTRL}/schemata") as file:
        [line] = [line for line in file if line.strip().startswith(("L3:", "L3DATA:"))]
    return [int(item.partition("=")[0]) for item in line.partition(":")[2].strip().split(";")]


def status(s):
    """Which writes clear what an earlier one left in last_cmd_status."""
    cache = caches()[0]
    s.clears = False
    s.mkdir("a")
    failed = f"L3:{cache}=0x\n"
    for path, text in (("a/cpus_list", "1\n"), ("a/cpus_list", "x\n"), ("a/mode", "shareable"), ("a/mode", "shareable\n"),
                       ("a/schemata", f"L3:{cache}=1"), ("a/schemata", f"L3:{cache}=1\n"), ("a/tasks", "x\n"), ("a/tasks", "0\n")):
        s.write("a/schemata", failed)
        s.write(path, text)
    s.write("a/schemata", failed)
    s.mkdir("a/mon_groups/m")
    s.write("a/mon_groups/m/cpus_list", "1\n")
    s.write("a/mon_groups/m/tasks", "999999999\n")
    s.write("a/schemata", failed)
    s.rmdir("a/mon_groups/m")
    s.mkdir("b")
    s.rmdir("b")
    s.rmdir("a")
    s.clears = True


ALL = [tree, groups, files, exhaustion, monitors, status]
