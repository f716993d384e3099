"""The modules: order, references, devices, interfaces, files, parameters."""

import errno
import os
import re

import pytest

from onload_stub import MODULES, RELEASES


def refused(number):
    return pytest.raises(OSError, match=re.escape(f"[Errno {number}]"))


def test_each_release_is_laid_out_as_onload_installs_it(stub):
    for release in RELEASES:
        for path in [stub.file(module, release) for module in MODULES] + [
                stub.server(release), stub.library(release), stub.tree(release) + "/usr/libexec/onload/profiles/fixed.opf"]:
            assert os.path.isfile(path)


def test_symbols_give_the_order_and_sfc_stands_aside(stub):
    for too_early in "onload", "sfc_char":
        with refused(errno.ENOENT):
            stub.insert(too_early, "9.0.1.86")
    stub.insert("sfc_resource", "9.0.1.86")
    with refused(errno.ENOENT):
        stub.insert("onload", "9.0.1.86")
    assert "onload: Unknown symbol sfc_char_stub_map (err -2)" in stub.kernel_log()
    stub.insert("sfc_char", "9.0.1.86")
    stub.insert("onload", "9.0.1.86", cplane_spawn_server="N")
    stub.insert("sfc", "9.0.1.86")
    assert {module: stub.references(module) for module in MODULES} == {
        "sfc": (0, []), "sfc_resource": (2, ["onload", "sfc_char"]), "sfc_char": (1, ["onload"]), "onload": (0, [])}
    for held in "sfc_resource", "sfc_char":
        with refused(errno.EAGAIN):
            stub.vm.remove(held)


def test_modprobe_of_onload_loads_its_dependencies_but_not_sfc(stub):
    stub.vm.run(["modprobe", "-d", stub.tree("9.1.0"), "onload", "cplane_spawn_server=N"])
    assert [stub.is_loaded(module) for module in MODULES] == [False, True, True, True]


def test_sfc_goes_from_below_onload_and_takes_its_interfaces(stub):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    assert stub.proc("filter_hwports") == "hwport0: enp1s0f0\nhwport1: enp1s0f1\n"
    stub.vm.remove("sfc")
    assert stub.proc("filter_hwports") == ""
    assert stub.vm.run(["ls", "/proc/driver/sfc_resource/devices"]).stdout == ""


@pytest.mark.parametrize("phys_port_names, names", [("N", ["enp1s0f0", "enp1s0f1"]), ("Y", ["enp1s0f0np0", "enp1s0f1np1"])])
def test_interfaces_belong_to_sfc_and_may_have_other_names(stub, phys_port_names, names):
    stub.insert("sfc", "9.0.1.86", phys_port_names=phys_port_names)
    for port, name in enumerate(names):
        folder = f"/sys/class/net/{name}"
        assert stub.vm.run(["readlink", "-f", folder + "/device/driver/module"]).stdout == "/sys/module/sfc\n"
        assert stub.vm.read(folder + "/address") == f"00:0f:53:00:00:0{port + 1}\n"
        stub.vm.run(["ip", "link", "set", name, "up"])
        assert stub.vm.read(folder + "/speed") == "10000\n"
        if phys_port_names == "Y":
            assert stub.vm.read(folder + "/phys_port_name") == f"p{port}\n"


def test_only_onload_and_sfc_report_a_version(stub):
    for release in RELEASES:
        stub.load(release, cplane_spawn_server="N")
        for module in MODULES:
            folder = f"/sys/module/{module}"
            assert stub.vm.read(folder + "/initstate") == "live\n"
            assert stub.vm.read(folder + "/taint") == "OE\n"
            if module in ("sfc", "onload"):
                assert stub.vm.read(folder + "/version") == release + "\n"
            else:
                with pytest.raises(FileNotFoundError):
                    stub.vm.read(folder + "/version")
        lines = dict(line.split(": ") for line in stub.proc("version").splitlines())
        assert list(lines) == ["onload_product", "onload_version", "uk_intf_ver"]
        assert lines["onload_version"] == release and re.fullmatch("[0-9a-f]{32}", lines["uk_intf_ver"])
        stub.unload()


def test_build_ids_distinguish_releases_and_match_the_files(stub):
    seen = set()
    for release in RELEASES:
        stub.load(release, cplane_spawn_server="N")
        for module in MODULES:
            note = stub.vm.read(f"/sys/module/{module}/notes/.note.gnu.build-id").encode("utf-8", "surrogateescape")
            loaded = note[-20:].hex()
            assert loaded in stub.vm.run(["readelf", "-n", stub.file(module, release)]).stdout
            seen.add((module, loaded))
        stub.unload()
    assert len(seen) == len(RELEASES) * len(MODULES)


def test_each_device_has_a_major_of_its_own_and_a_node_for_all(stub):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    majors = dict(reversed(line.split()) for line in stub.vm.read("/proc/devices").split("Block")[0].splitlines()[1:] if line)
    for name in "onload", "onload_epoll", "sfc_char":
        assert stub.vm.run(["stat", "-c", "%t:%T %a %F", f"/dev/{name}"]).stdout == \
            f"{int(majors[name]):x}:0 666 character special file\n"
        assert stub.vm.read(f"/sys/class/{name}/{name}/dev") == f"{majors[name]}:0\n"
    assert len({majors[name] for name in ("onload", "onload_epoll", "sfc_char")}) == 3
    stub.unload()
    assert stub.vm.run("ls /dev", check=True).stdout.count("onload") == 0


@pytest.mark.parametrize("module, node", [("onload", "onload"), ("onload", "onload_epoll"), ("sfc_char", "sfc_char")])
def test_an_open_device_keeps_its_module(stub, module, node):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    before, _ = stub.references(module)
    holder = stub.vm.spawn(f"exec 3<> /dev/{node}; echo open; exec sleep 600")
    stub.vm.wait_until(lambda: holder.output() == "open\n")
    assert stub.references(module)[0] > before
    with refused(errno.EAGAIN):
        stub.vm.remove(module)
    holder.kill()
    holder.wait()
    assert stub.references(module)[0] == before


@pytest.mark.parametrize("module, node", [("onload", "onload"), ("sfc_char", "sfc_char")])
def test_a_mapped_page_keeps_the_module_after_the_file_is_closed(stub, module, node):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    holder = stub.vm.spawn(["python3", "-c", f"""
import mmap, os, time
fd = os.open("/dev/{node}", os.O_RDWR)
page = mmap.mmap(fd, 4096)
os.close(fd)
print(page[:4] == bytes(4), flush=True)
time.sleep(600)"""])
    stub.vm.wait_until(lambda: holder.output() == "True\n")
    assert f"/dev/{node}" in stub.vm.read(f"/proc/{holder.pid}/maps")
    with refused(errno.EAGAIN):
        stub.vm.remove(module)
    holder.kill()
    holder.wait()


def counters():
    return " ".join(str(number) for number in range(23))


def test_stacks_come_and_go_by_command(stub):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    for command in "create 1 100 1000", "create 2 200 0", "orphan 2":
        stub.control(command)
    user, orphan = f"1: 100 1000 {counters()}\n", f"2: 200 0 {counters()}\n"
    assert [stub.proc(name) for name in ("stacks", "stacks_ul", "stacks_k")] == [user + orphan, user, orphan]
    stub.control("adopt 2")
    assert [stub.proc(name) for name in ("stacks", "stacks_ul", "stacks_k")] == [user + orphan, user + orphan, ""]
    stub.control("destroy 1")
    assert stub.proc("stacks") == orphan
    assert stub.references("onload")[0] == 0


@pytest.mark.parametrize("command, number", [
    ("create 1 100 1000", errno.EEXIST), ("orphan 9", errno.ENOENT), ("destroy 9", errno.ENOENT),
    ("create 3", errno.EINVAL), ("melt 1", errno.EINVAL), ("", errno.EINVAL), ("create 3 1 1" + " " * 80, errno.EINVAL)])
def test_a_wrong_command_is_refused(stub, command, number):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    stub.control("create 1 100 1000")
    with refused(number):
        stub.control(command)


@pytest.mark.parametrize("module, name, first, then, wrong", [
    ("onload", "max_packets_per_stack", "524288", "65536", "many"), ("onload", "phys_mode_gid", "-2", "7", "x"),
    ("onload", "oo_accelerate_veth", "N", "Y", "perhaps"), ("onload", "cplane_init_timeout", "10", "3", "3s"),
    ("onload", "cplane_server_uid", "65534", "12", "-1"), ("sfc_resource", "enable_accel_by_default", "Y", "N", "x"),
    ("sfc_char", "mac_filters_gid", "0", "5", "x")])
def test_parameters_change_while_loaded(stub, module, name, first, then, wrong):
    stub.load("9.0.1.86", cplane_spawn_server="N")
    assert stub.parameter(name, module) == first
    stub.write_parameter(name, then + "\n", module)
    with refused(errno.EINVAL):
        stub.write_parameter(name, wrong + "\n", module)
    assert stub.parameter(name, module) == then


def test_some_parameters_are_for_loading_only(stub):
    stub.insert("sfc_resource", "9.0.1.86", pio="0")
    assert stub.parameter("pio", "sfc_resource") == "0"
    assert stub.vm.run(["stat", "-c", "%a", "/sys/module/sfc_resource/parameters/pio"]).stdout == "444\n"


def test_afxdp_requires_a_line_and_is_never_released(stub):
    stub.insert("sfc_resource", "9.0.1.86")
    stub.vm.run("ip link add veth-a type veth peer name veth-b")
    afxdp = "/sys/module/sfc_resource/afxdp/"
    for text, number in [("veth-a", errno.EINVAL), ("\n", errno.EINVAL), ("nowhere\n", errno.ENOENT)]:
        with refused(number):
            stub.vm.write(afxdp + "register", text)
    with refused(errno.ENOENT):
        stub.vm.write(afxdp + "unregister", "veth-a\n")
    stub.vm.write(afxdp + "register", "veth-a 4\n")
    assert stub.vm.run(["ls", "/proc/driver/sfc_resource/devices"]).stdout == "veth-a\n"
    with refused(errno.EALREADY):
        stub.vm.write(afxdp + "register", "veth-a\n")
    with refused(errno.EBUSY):
        stub.vm.write(afxdp + "unregister", "veth-a\n")
    stub.vm.run("ip link del veth-a")
    assert stub.vm.run(["ls", "/proc/driver/sfc_resource/devices"]).stdout == ""


def test_acceleration_is_switched_for_each_interface(stub):
    stub.insert("sfc", "9.0.1.86")
    stub.insert("sfc_resource", "9.0.1.86", enable_accel_by_default="N")
    enable = [f"/sys/class/net/enp1s0f{port}/device/sfc_resource/enable" for port in (0, 1)]
    stub.vm.write(enable[1], "1\n")
    assert [stub.vm.read(path) for path in enable] == ["0\n", "1\n"]
    stub.vm.remove("sfc_resource")
    with pytest.raises(FileNotFoundError):
        stub.vm.read(enable[0])
