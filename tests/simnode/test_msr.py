"""/dev/cpu/N/msr: registers at positions, what they take, and that the host's /dev is not touched."""

import errno
import os
import signal
import struct
import subprocess

import pytest

from resctrl import flags, refused
from simnode import SimNodeError

PLATFORM_INFO, TURBO_RATIO_LIMIT, PERF_STATUS, PERF_CTL = 0xCE, 0x1AD, 0x198, 0x199
PM_ENABLE, HWP_CAPABILITIES, HWP_REQUEST = 0x770, 0x771, 0x774
HWP = (PM_ENABLE, HWP_CAPABILITIES, HWP_REQUEST)


def opened(node, cpu):
    return os.open(node.path(f"/dev/cpu/{cpu}/msr"), os.O_RDWR)


def read(node, cpu, number, size=8):
    device = opened(node, cpu)
    try:
        return int.from_bytes(os.pread(device, size, number), "little")
    finally:
        os.close(device)


def write(node, cpu, number, value, size=8):
    device = opened(node, cpu)
    try:
        return os.pwrite(device, value.to_bytes(size, "little"), number)
    finally:
        os.close(device)


def request(lowest, highest, desired=0, preference=0x80):
    return lowest | highest << 8 | desired << 16 | preference << 24


@pytest.mark.parametrize("msr", ["none", "perf", "hwp"])
def test_registers_are_there_with_the_option_only(start, msr):
    node = start(msr=msr)
    assert os.path.exists(node.path("/dev/cpu/15/msr")) == (msr != "none")
    if os.path.isdir("/dev/cpu"):
        expected = [] if msr == "none" else sorted(str(cpu) for cpu in range(16))
        assert sorted(os.listdir(node.path("/dev/cpu"))) == expected  # never those of the host


def test_a_program_inside_reads_and_writes_them(start):
    node = start(msr="perf")
    script = """
import os, struct
device = os.open("/dev/cpu/3/msr", os.O_RDWR)
os.pwrite(device, struct.pack("<Q", 20 << 8), 0x199)
print(struct.unpack("<Q", os.pread(device, 8, 0x199))[0] >> 8)
"""
    assert node.run_inside(["/usr/bin/python3", "-c", script]).stdout == "20\n"
    assert node.freq()["3"]["msr"]["0x199"] == 20 << 8


def test_the_cpu_model_reports_its_ratios(start):
    node = start(msr="perf", freq_min=1000, freq_base=2500, freq_max=4000)
    info = read(node, 0, PLATFORM_INFO)
    assert (info >> 8 & 0xFF, info >> 40 & 0xFF) == (25, 10)
    assert struct.pack("<Q", read(node, 0, TURBO_RATIO_LIMIT)) == bytes([40] * 8)


def test_neighbouring_registers_do_not_overlap(start):
    node = start(msr="perf")
    write(node, 0, PERF_CTL, 30 << 8)
    assert (read(node, 0, PERF_STATUS), read(node, 0, PERF_CTL)) == (30 << 8, 30 << 8)


def test_each_cpu_has_its_own(start):
    node = start(msr="perf")
    write(node, 3, PERF_CTL, 10 << 8)
    assert [read(node, cpu, PERF_CTL) >> 8 for cpu in (2, 3, 4)] == [22, 10, 22]


@pytest.mark.parametrize("wanted, taken", [(10 << 8, 10 << 8), (1 << 8, 8 << 8), (99 << 8, 35 << 8),
                                           (0xFFFF << 48 | 20 << 8 | 0xFF, 20 << 8), (1 << 32 | 20 << 8, 1 << 32 | 20 << 8)])
def test_perf_ctl_keeps_implemented_bits(start, wanted, taken):
    node = start(msr="perf")
    write(node, 0, PERF_CTL, wanted)
    assert read(node, 0, PERF_CTL) == taken


@pytest.mark.parametrize("size", [1, 4, 7, 16])
def test_other_sizes_are_refused(start, size):
    node = start(msr="perf")
    assert refused(read, node, 0, PERF_CTL, size=size) == errno.EINVAL
    assert refused(write, node, 0, PERF_CTL, 20, size=size) == errno.EINVAL
    assert read(node, 0, PERF_CTL) == 22 << 8
    assert node.log() == [f"write /dev/cpu/0/msr/0x199 {size} bytes"]


@pytest.mark.parametrize("number", [0, 0x10, 0x19A, 0x775, 0xC0010015])
def test_an_unknown_register_is_an_error(start, number):
    node = start(msr="hwp")
    assert refused(read, node, 0, number) == errno.EIO
    assert refused(write, node, 0, number, 1) == errno.EIO


@pytest.mark.parametrize("number", [PLATFORM_INFO, TURBO_RATIO_LIMIT, PERF_STATUS, HWP_CAPABILITIES])
def test_read_only_entries_cannot_be_written(start, number):
    node = start(msr="hwp")
    assert refused(write, node, 0, number, 0) == errno.EIO


@pytest.mark.parametrize("number", HWP)
def test_a_cpu_model_without_hwp_has_no_hwp_registers(start, number):
    node = start(msr="perf")
    assert refused(read, node, 0, number) == errno.EIO
    assert refused(write, node, 0, number, 1) == errno.EIO


def test_hwp_reports_its_capabilities(start):
    node = start(msr="hwp")
    assert read(node, 0, PM_ENABLE) == 1
    assert struct.pack("<Q", read(node, 0, HWP_CAPABILITIES)) == bytes([35, 22, 8, 8, 0, 0, 0, 0])
    assert read(node, 0, HWP_REQUEST) == request(8, 35)


def test_a_hwp_request_is_kept_as_written_but_for_bits_that_are_not_there(start):
    node = start(msr="hwp")
    write(node, 3, HWP_REQUEST, 0xFFFF << 48 | request(10, 30, preference=0xFF))
    assert read(node, 3, HWP_REQUEST) == request(10, 30, preference=0xFF)
    assert read(node, 4, HWP_REQUEST) == request(8, 35)


@pytest.mark.parametrize("wanted, ratio", [(request(10, 30), 30), (request(10, 30, 20), 20), (request(10, 30, 5), 10),
                                           (request(1, 255), 35), (request(0, 0), 8), (request(30, 10), 30)])
def test_with_hwp_the_status_follows_the_request(start, wanted, ratio):
    node = start(msr="hwp")
    write(node, 0, HWP_REQUEST, wanted)
    write(node, 0, PERF_CTL, 25 << 8)
    assert read(node, 0, PERF_STATUS) == ratio << 8


def test_hwp_that_is_not_enabled_is_out_of_reach_until_its_package_enables_it(start):
    node = start(msr="hwp-off")
    assert read(node, 0, PM_ENABLE) == 0
    for number in (HWP_CAPABILITIES, HWP_REQUEST):
        assert refused(read, node, 0, number) == errno.EIO
    write(node, 0, PM_ENABLE, 1)
    assert read(node, 7, HWP_REQUEST) == request(8, 35)
    assert refused(read, node, 8, HWP_REQUEST) == errno.EIO


def test_hwp_cannot_be_disabled_but_by_a_reboot(start):
    node = start(msr="hwp-off")
    write(node, 0, PM_ENABLE, 1)
    write(node, 0, PM_ENABLE, 0)
    assert read(node, 0, PM_ENABLE) == 1
    node.control("wipe")
    assert read(node, 0, PM_ENABLE) == 0


def test_an_offline_cpu_has_no_registers_and_keeps_them(start):
    node = start(msr="perf")
    write(node, 3, PERF_CTL, 10 << 8)
    device = opened(node, 3)
    node.control("offline 3")
    assert refused(opened, node, 3) == errno.ENXIO
    assert refused(os.pread, device, 8, PERF_CTL) == errno.ENXIO
    assert refused(os.pwrite, device, bytes(8), PERF_CTL) == errno.ENXIO
    os.close(device)
    node.control("online 3")
    assert read(node, 3, PERF_CTL) == 10 << 8


def test_a_reboot_resets_all_registers(start):
    node = start(msr="hwp")
    fresh = node.freq()
    write(node, 0, HWP_REQUEST, request(10, 20))
    write(node, 0, PERF_CTL, 10 << 8)
    assert node.freq() != fresh
    node.control("wipe")
    assert node.freq() == fresh


@pytest.mark.parametrize("msr, has", [("perf", False), ("hwp", True), ("hwp-off", True)])
def test_cpuinfo_reports_hwp(start, msr, has):
    assert ("hwp" in flags(start(msr=msr))) == has


def test_writes_are_counted_with_register_and_value(start):
    node = start(msr="hwp")
    write(node, 3, PERF_CTL, 20 << 8)
    with pytest.raises(OSError):
        write(node, 0, PLATFORM_INFO, 0)
    write(node, 0, HWP_REQUEST, request(10, 30))
    assert node.log() == ["write /dev/cpu/3/msr/0x199 0x1400", "write /dev/cpu/0/msr/0xce 0x0",
                          "write /dev/cpu/0/msr/0x774 0x80001e0a"]


def test_the_nth_write_fails_or_lies(start):
    node = start(msr="perf")
    node.control("fault write 1 errno EIO")
    node.control("fault write 2 lie")
    assert refused(write, node, 0, PERF_CTL, 10 << 8) == errno.EIO
    assert write(node, 0, PERF_CTL, 10 << 8) == 8
    assert read(node, 0, PERF_CTL) == 22 << 8


@pytest.mark.parametrize("kind, left", [("kill-before", 22), ("kill-after", 10)])
def test_the_writer_is_killed_before_or_after_its_write(start, kind, left):
    node = start(msr="perf")
    node.control(f"fault write 1 {kind}")
    script = "import os; os.pwrite(os.open('/dev/cpu/0/msr', os.O_WRONLY), (10 << 8).to_bytes(8, 'little'), 0x199)"
    writer = node.run_inside(["/usr/bin/python3", "-c", script], check=False)
    assert writer.returncode == -signal.SIGKILL
    assert node.freq()["0"]["msr"]["0x199"] == left << 8


def test_a_read_of_one_register_fails_once(start):
    node = start(msr="perf")
    node.control("fault read /dev/cpu/0/msr/0x199 errno EIO")
    assert read(node, 0, PERF_STATUS) == 22 << 8
    assert refused(read, node, 0, PERF_CTL) == errno.EIO
    assert read(node, 0, PERF_CTL) == 22 << 8
    with pytest.raises(SimNodeError, match="no such file"):
        node.control("fault read /dev/cpu/99/msr/0x199 errno EIO")


def test_cpufreq_and_registers_can_be_there_together(start):
    told = start(cpufreq="acpi-cpufreq", msr="perf").freq()["0"]
    assert (told["governor"], told["msr"]["0x199"]) == ("schedutil", 22 << 8)


def test_the_rest_of_dev_stays_as_it_is(start):
    before = sorted(os.listdir("/dev"))
    node = start(msr="perf")
    inside = node.run_inside(["sh", "-c", "ls -A /dev; echo gone > /dev/null; head -c 3 /dev/zero | wc -c >&2"])
    assert sorted(inside.stdout.split()) == sorted(set(before) | {"cpu"})
    assert inside.stderr == "3\n"
    assert sorted(os.listdir("/dev")) == before


# A host whose /dev has no folder cpu: the node runs in a mount namespace with such a /dev.
BARE = """
set -e
bare=$(mktemp -d)
mount -t tmpfs -o mode=755 bare $bare
cp -a /dev/null /dev/zero /dev/fuse $bare
mkdir $bare/pts $bare/shm
mount --rbind /dev/pts $bare/pts
mknod -m 666 $bare/ptmx c 5 2
ln -s /proc/self/fd $bare/fd
touch $bare/console
mount --bind /dev/null $bare/console
mount --move $bare /dev
rmdir $bare
"$NRD_SIMNODE" --msr perf -- sh -c 'ls /dev /dev/cpu/3; cat /dev/fd/0 < /dev/null; stat -c %F%a /dev/null /dev/console
  /usr/bin/python3 -c "import os; print(os.ttyname(os.openpty()[1]).rsplit(chr(47), 1)[0])"
  echo kept > /dev/shm/mark'
ls /dev
cat /dev/shm/mark
"""


def test_a_host_without_the_folder_gets_none():
    done = subprocess.run(["unshare", "-m", "sh", "-c", BARE], capture_output=True, text=True)
    assert done.stderr == ""
    names = ["console", "fd", "fuse", "null", "ptmx", "pts", "shm", "zero"]
    inside = ["/dev:"] + sorted(names + ["cpu"]) + ["/dev/cpu/3:", "msr"]
    devices = ["character special file666"] * 2
    assert done.stdout.split("\n") == inside[:10] + [""] + inside[10:] + devices + ["/dev/pts"] + names + ["kept", ""]


AMD_LIMIT, AMD_CONTROL, AMD_STATUS, AMD_P0 = 0xC0010061, 0xC0010062, 0xC0010063, 0xC0010064


def test_an_amd_cpu_model_has_selectable_pstates(start):
    node = start(msr="amd")
    assert read(node, 0, AMD_LIMIT) == 0x20
    definitions = [read(node, 0, AMD_P0 + state) for state in range(4)]
    assert [200 * (word & 0xFF) // (word >> 8 & 0x3F) for word in definitions[:3]] == [2200, 1500, 800]
    assert [word >> 63 for word in definitions] == [1, 1, 1, 0]
    write(node, 0, AMD_CONTROL, 7)
    assert (read(node, 0, AMD_CONTROL), read(node, 0, AMD_STATUS)) == (2, 2)
    for number in (PERF_CTL, PLATFORM_INFO, AMD_P0 + 4):
        with pytest.raises(OSError):
            read(node, 0, number)
    for number in (AMD_LIMIT, AMD_STATUS, AMD_P0):
        with pytest.raises(OSError):
            write(node, 0, number, 0)
    assert "vendor_id\t: AuthenticAMD" in node.read("/proc/cpuinfo")


@pytest.mark.parametrize("msr, control, status, slow, fast", [
    ("perf", PERF_CTL, PERF_STATUS, 10 << 8, 30 << 8), ("amd", AMD_CONTROL, AMD_STATUS, 2, 1)])
def test_a_core_runs_as_fast_as_one_of_its_threads_asks(start, msr, control, status, slow, fast):
    node = start(msr=msr, threads=2)
    assert node.read("/sys/devices/system/cpu/cpu5/topology/thread_siblings_list") == "4-5\n"
    write(node, 4, control, slow)
    write(node, 5, control, fast)
    assert [read(node, cpu, status) for cpu in (4, 5)] == [fast, fast]
    write(node, 5, control, slow)
    assert read(node, 4, status) == slow
