"""Lines of schemata, good and bad, and the modes of groups."""

from sections_groups import caches


def masks(s):
    a, b = caches()[:2]
    s.mkdir("a")
    good = [f"L3:{a}=3\n", f"L3:{a}=7f0;{b}=1\n", f"L3:{b}=7ff;{a}=30\n", f"L3:{a}=0x30\n", f"L3:{a}=00000003\n", f"  L3  :{a}=3\n",
            f"L3:{a}= 3 \n", f"L3:{a}=3;\n", f"L3:{a}=3F\n", f"L3: {a}=3\n", f"L3:{a}=400\n", f"MB:{a}=50\nL3:{a}=3\n"]
    bad = ["", "\n", "L3\n", "L3:\n", "L3:;\n", f"L3:{a}\n", f"L3:{a}=\n", f"L3:{a}=0\n", f"L3:{a}=5\n", f"L3:{a}=800\n", f"L3:{a}=fffffffff\n",
           f"L3:{a}=g\n", f"L3:{a}=-1\n", f"L3:{a}=3", f"L3:{a}=3\n\n", f"L3:99=3\n", "L3:x=3\n", f"L3:{a}=3;{a}=3\n", f"L3:{a}=3;{b}=5\n",
           f"L3:{a}=1;99=1\n", f"L2:{a}=3\n", f"L3CODE:{a}=3\n", "nonsense\n", f"l3:{a}=3\n", f"L3:{a}=3\nL3:{b}=5\n", f"L3:{a}=1\nL3:{a}=2\n",
           f"L3:{a}=3\nMB:{a}=7\n", f"L3 {a}=3\n", f"L3:{a}:3\n", f"L3:{a}=3,{b}=3\n", f"L3:{a}=601\n"]
    for line in good + bad:
        s.write("a/schemata", line)
        s.read("a/schemata")
    s.write("schemata", f"L3:{a}=ff\n")
    s.read("schemata")
    s.read("size")
    s.read("info/L3/bit_usage")
    s.mkdir("c")
    s.read("c/schemata")
    s.rmdir("c")
    s.write("schemata", f"L3:{a}=7ff\n")
    s.rmdir("a")


def bandwidth(s):
    a, b = caches()[:2]
    s.mkdir("a")
    for value in ("10", "50", "55", "11", "100", "9", "0", "101", "-1", "x", "", "2048", "2049", "16", "4294967296", "0x20", "5 0"):
        s.write("a/schemata", f"MB:{a}={value}\n")
        s.read("a/schemata")
    s.write("a/schemata", f"MB:{a}=40;{b}=60\n")
    s.write("a/schemata", f"MB:{a}=40;{a}=60\n")
    s.write("a/schemata", f"MB:99=40\n")
    s.write("a/schemata", f"MB:{a}=20\nMB:{b}=20\n")
    s.read("a/schemata")
    s.read("a/size")
    s.rmdir("a")
    s.mkdir("a")
    s.read("a/schemata")
    s.rmdir("a")


def modes(s):
    a, b = caches()[:2]
    s.mkdir("a")
    s.mkdir("b")
    for text in ("exclusive", "exclusive\n", "nonsense\n", "\n", "", "shareable\n", "pseudo-locked\n", "pseudo-locksetup\n", " exclusive\n"):
        s.write("a/mode", text)
        s.read("a/mode")
    s.write("mode", "pseudo-locksetup\n")
    s.write("mode", "exclusive\n")
    s.write("schemata", f"L3:{a}=7f0;{b}=7f0\n")
    s.write("b/schemata", f"L3:{a}=7f0;{b}=7f0\n")
    s.write("a/schemata", f"L3:{a}=3;{b}=3\n")
    s.read("info/L3/bit_usage")
    s.write("a/mode", "exclusive\n")
    s.read("a/mode")
    s.read("info/L3/bit_usage")
    s.write("schemata", f"L3:{a}=7fe\n")
    s.write("b/schemata", f"L3:{a}=1;{b}=7f0\n")
    s.write("a/schemata", f"L3:{a}=1f\n")
    s.write("a/schemata", f"L3:{a}=1\n")
    s.read("info/L3/bit_usage")
    s.mkdir("c")
    s.read("c/schemata")
    s.read("c/size")
    s.write("c/mode", "exclusive\n")
    s.write("c/schemata", f"L3:{a}=c;{b}=c\n")
    s.write("c/mode", "exclusive\n")
    s.mkdir("d")
    s.read("d/schemata")
    s.write("b/schemata", f"L3:{a}=7ff\n")
    s.write("a/mode", "shareable\n")
    s.write("schemata", f"L3:{a}=7f1;{b}=7f0\n")
    s.write("a/mode", "exclusive\n")
    for group in "abcd":
        s.rmdir(group)
    s.write("schemata", f"L3:{a}=7ff;{b}=7ff\n")
    s.read("schemata")


ALL = [masks, bandwidth, modes]
