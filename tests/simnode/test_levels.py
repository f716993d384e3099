"""Nodes with CDP, and with caches of the second level only, as Debian's pqos sees them."""

from simnode import SimNode


def test_code_and_data_have_masks_of_their_own():
    with SimNode().start(["sleep", "infinity"], cdp=True) as node:
        assert node.read("/sys/fs/resctrl/schemata").splitlines()[-2:] == ["L3DATA:0=7ff;1=7ff", "L3CODE:0=7ff;1=7ff"]
        assert node.read("/sys/fs/resctrl/info/L3CODE/cbm_mask") == "7ff\n"
        shown = node.run_inside(["pqos", "-I", "-s"]).stdout
        assert "L3CA COS0 => DATA 0x7ff, CODE 0x7ff" in shown, shown
        node.write("/sys/fs/resctrl/COS1/schemata", "L3CODE:0=3\n")
        assert node.dump()["COS1"]["L3"]["0"] == "7ff" and node.dump()["COS1"]["code"]["0"] == "3"
        node.run_inside(["pqos", "-I", "-e", "llc:1d=0xf"])
        assert node.dump()["COS1"]["L3"]["0"] == "f" and node.dump()["COS1"]["code"]["0"] == "3"


def test_a_node_without_a_third_level():
    with SimNode().start(["sleep", "infinity"], level=2, mb=False, caches_per_socket=2) as node:
        assert node.read("/sys/fs/resctrl/schemata").strip() == "L2:0=7ff;1=7ff;2=7ff;3=7ff"
        assert "L2CA COS0 => MASK 0x7ff" in node.run_inside(["pqos", "-I", "-s"]).stdout
        node.run_inside(["pqos", "-I", "-e", "l2:1=0xf"])
        assert node.dump()["COS1"]["L3"]["2"] == "f"
