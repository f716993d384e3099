"""Trees that were mounted with options: code and data apart (cdp), bandwidth in MB/s (mba_MBps)."""

from sections_groups import caches


def code_and_data(s):
    a, b = caches()[:2]
    s.list("info")
    s.list("info/L3CODE")
    s.read("info/L3CODE/num_closids")
    s.read("info/L3DATA/num_closids")
    s.read("info/L3DATA/bit_usage")
    s.read("schemata")
    s.mkdir("a")
    for line in (f"L3CODE:{a}=3\n", f"L3DATA:{a}=7f0;{b}=f\n", f"L3:{a}=3\n", f"L3CODE:{a}=5\n", f"L3CODE:{a}=1\nL3DATA:{a}=2\n"):
        s.write("a/schemata", line)
        s.read("a/schemata")
    s.read("a/size")
    s.write("a/mode", "pseudo-locksetup\n")
    s.write("schemata", f"L3CODE:{a}=7f0;{b}=7f0\nL3DATA:{a}=7f0;{b}=7f0\n")
    s.write("a/schemata", f"L3CODE:{a}=1;{b}=1\nL3DATA:{a}=2;{b}=2\n")
    s.write("a/mode", "exclusive\n")
    s.read("info/L3CODE/bit_usage")
    s.read("info/L3DATA/bit_usage")
    s.mkdir("b")
    s.read("b/schemata")
    s.write("b/schemata", f"L3CODE:{a}=2\n")
    s.rmdir("b")
    s.rmdir("a")
    made = 0
    while s.mkdir(f"g{made}"):
        made += 1
    for number in range(made):
        s.rmdir(f"g{number}")


def megabytes(s):
    a = caches()[0]
    s.read("schemata")
    s.read("info/MB/bandwidth_gran")
    s.read("info/MB/min_bandwidth")
    s.mkdir("a")
    for value in ("5000", "1", "0", "101", "4294967295", "4294967296", "-1", "x"):
        s.write("a/schemata", f"MB:{a}={value}\n")
        s.read("a/schemata")
    s.read("a/size")
    s.rmdir("a")
    s.mkdir("a")
    s.read("a/schemata")
    s.rmdir("a")


CDP = [code_and_data]
MBPS = [megabytes]
