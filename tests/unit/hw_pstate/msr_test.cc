#include "hw/pstate/msr.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/pstate/pstate.h"
#include "tests/unit/hw_pstate/registers.h"
#include "tests/unit/hw_pstate/tree.h"

namespace nrd::pstate::msr_test {

using nrd::testing::MapRegisters;
using nrd::testing::Tree;

namespace {

FrequencySetting a_window(uint32_t min, uint32_t max) { return {.min = {min}, .max = {max}}; }

// A server with HWP: 800 to 3500 MHz, 2200 guaranteed, EPP 0x80.
MapRegisters a_hwp_part() { return MapRegisters({{0x770, 1}, {0x771, 0x08'10'16'23}, {0x774, 0x80'00'23'08}}); }
// One before HWP: 1200 to 2600 MHz, turbo to 3300, set to 2600.
MapRegisters a_part_before_hwp() {
  return MapRegisters(
      {{0xCE, 0x0000'0C00'8000'1A00}, {0x1AD, 0x1F1F2021}, {0x199, 0x1A00}, {0x198, 0x0000'1B33'0000'1500}});
}

}  // namespace

TEST_CASE("registers are supported for CPU models with a known bus clock and P-states") {
  CHECK(registers_of({"GenuineIntel", 6, 0x55}) == RegisterSet::Intel);
  CHECK(registers_of({"AuthenticAMD", 0x17, 1}) == RegisterSet::Amd17h);
  CHECK(registers_of({"AuthenticAMD", 0x19, 0x11}) == RegisterSet::Amd17h);
  CHECK(registers_of({"HygonGenuine", 0x18, 0}) == RegisterSet::Amd17h);
  CHECK(registers_of({"AuthenticAMD", 0x1A, 2}) == RegisterSet::Amd1Ah);
  // 133.33 MHz, another unit of frequency, other makers.
  for (const Part& part : {Part{"GenuineIntel", 6, 0x2C}, Part{"GenuineIntel", 15, 6}, Part{"AuthenticAMD", 0x15, 2},
                           Part{"AuthenticAMD", 0x1B, 0}, Part{"CentaurHauls", 7, 0}, Part{}}) {
    INFO(to_string(part));
    CHECK_FALSE(registers_of(part));
  }
}

TEST_CASE("a ratio is eight bits of a word") {
  CHECK(ratio_at(0x1600, 8) == Ratio{0x16});
  CHECK(ratio_at(0x80'00'23'08, 0) == Ratio{8});
  CHECK(ratio_at(0x80'00'23'08, 24) == Ratio{0x80});
  CHECK(ratio_at(0x0000'0C00'8000'1A00, 40) == Ratio{12});
  CHECK(ratio_at(0, 8) == Ratio{0});
}

TEST_CASE("a request keeps every bit that is not its ratios") {
  CHECK(hwp_request(0x80'00'23'08, Ratio{10}, Ratio{20}) == 0x80'00'14'0A);
  CHECK(hwp_request(~uint64_t{0}, Ratio{0}, Ratio{0}) == 0xFFFF'FFFF'FFFF'0000);
  CHECK(hwp_request(0, Ratio{255}, Ratio{255}) == 0xFFFF);
  CHECK(perf_ctl(0x1'0000'1600, Ratio{8}) == 0x1'0000'0800);
  CHECK(perf_ctl(~uint64_t{0}, Ratio{0}) == 0xFFFF'FFFF'FFFF'00FF);
  CHECK(perf_ctl(0, Ratio{255}) == 0xFF00);
}

TEST_CASE("every ratio goes in and comes out the same") {
  for (uint32_t ratio = 0; ratio <= 255; ++ratio) {
    CHECK(ratio_at(perf_ctl(0x1234'5678'9ABC'DEF0, Ratio{ratio}), 8) == Ratio{ratio});
    CHECK(ratio_at(hwp_request(0x1234'5678'9ABC'DEF0, Ratio{ratio}, Ratio{1}), 0) == Ratio{ratio});
  }
}

TEST_CASE("with HWP a CPU has a window") {
  MapRegisters registers = a_hwp_part();
  CHECK(discover_registers(registers, RegisterSet::Intel, CpuId{5}).value() == Cpu{.way = Interface::HwpRequest,
                                                                                   .driver = "msr",
                                                                                   .min = {800000},
                                                                                   .max = {3500000},
                                                                                   .base = KHz{2200000},
                                                                                   .domain = {5},
                                                                                   .hwp = true});
  CHECK(observe_registers(registers, Interface::HwpRequest).value() == a_window(800000, 3500000));
  REQUIRE(write_registers(registers, Interface::HwpRequest, a_window(1000000, 2000000)).has_value());
  CHECK(registers.word(0x774) == 0x80'00'14'0A);
  CHECK(observe_registers(registers, Interface::HwpRequest).value() == a_window(1000000, 2000000));
}

TEST_CASE("without HWP a CPU has one frequency") {
  MapRegisters registers = a_part_before_hwp();
  const Cpu expected{.way = Interface::PerfCtl,
                     .driver = "msr",
                     .min = {1200000},
                     .max = {3300000},
                     .base = KHz{2600000},
                     .domain = {0},
                     .hwp = false};
  CHECK(discover_registers(registers, RegisterSet::Intel, CpuId{0}).value() == expected);
  CHECK(observe_registers(registers, Interface::PerfCtl).value() == a_window(2600000, 2600000));
  CHECK(current_of_registers(registers, Interface::PerfCtl) == KHz{2100000});
  REQUIRE(write_registers(registers, Interface::PerfCtl, a_window(1200000, 1200000)).has_value());
  CHECK(registers.word(0x199) == 0x0C00);
}

TEST_CASE("HWP that is there but off leaves IA32_PERF_CTL in charge") {
  MapRegisters registers({{0x770, 0}, {0xCE, 0x0000'0800'0000'1600}});
  CHECK(discover_registers(registers, RegisterSet::Intel, CpuId{0}).value()->way == Interface::PerfCtl);
}

TEST_CASE("a CPU without turbo reaches its base frequency") {
  MapRegisters absent({{0xCE, 0x0000'0800'0000'1600}});
  CHECK(discover_registers(absent, RegisterSet::Intel, CpuId{0}).value()->max == KHz{2200000});
  MapRegisters zero({{0xCE, 0x0000'0800'0000'1600}, {0x1AD, 0}});
  CHECK(discover_registers(zero, RegisterSet::Intel, CpuId{0}).value()->max == KHz{2200000});
}

TEST_CASE("a CPU whose registers report no ratios cannot be set, which is no error") {
  using Words = std::map<uint32_t, uint64_t>;
  for (const Words& words : {Words{}, Words{{0xCE, 0}}, Words{{0xCE, 0x8000'0000}}, Words{{0xCE, 0x1600}},
                             Words{{0xCE, 0x0000'0800'0000'0000}}, Words{{0xCE, 0x0000'1700'0000'1600}},
                             Words{{0x770, 1}, {0x771, 0}}, Words{{0x770, 1}}, Words{{0x770, 1}, {0x771, 0x23}}}) {
    MapRegisters registers(words);
    CHECK(discover_registers(registers, RegisterSet::Intel, CpuId{0}).value() == std::nullopt);
    CHECK(current_of_registers(registers, Interface::PerfCtl) == std::nullopt);
  }
}

TEST_CASE("a register that cannot be read is an error") {
  MapRegisters registers = a_hwp_part();
  registers.break_down();
  CHECK_FALSE(discover_registers(registers, RegisterSet::Intel, CpuId{0}).has_value());
  CHECK_FALSE(observe_registers(registers, Interface::HwpRequest).has_value());
  CHECK_FALSE(write_registers(registers, Interface::HwpRequest, a_window(800000, 900000)).has_value());
  CHECK(current_of_registers(registers, Interface::PerfCtl) == std::nullopt);
  MapRegisters empty({});
  CHECK(observe_registers(empty, Interface::PerfCtl).error().detail == "register 0x199");
}

TEST_CASE("bits that the CPU ignores are detected by reading back") {
  MapRegisters registers = a_part_before_hwp();
  registers.mask_off(0x0100);
  REQUIRE(write_registers(registers, Interface::PerfCtl, a_window(1300000, 1300000)).has_value());
  CHECK(observe_registers(registers, Interface::PerfCtl).value() == a_window(1200000, 1200000));
}

TEST_CASE("a value that registers cannot hold is refused with a message") {
  const auto refusal = [](Interface way, const FrequencySetting& knobs) {
    return check_for_registers(CpuId{4}, way, knobs).error().message;
  };
  CHECK(check_for_registers(CpuId{4}, Interface::HwpRequest, a_window(800000, 25500000)).has_value());
  CHECK(check_for_registers(CpuId{4}, Interface::PerfCtl, a_window(800000, 800000)).has_value());
  CHECK(check_for_registers(CpuId{4}, Interface::PerfCtl, a_window(0, 0)).has_value());
  CHECK(refusal(Interface::HwpRequest, a_window(800000, 2350000)) ==
        "CPU 4 does not take 2350000 kHz, only multiples of 100000 up to 25500000");
  CHECK(refusal(Interface::HwpRequest, a_window(800000, 25600000)) ==
        "CPU 4 does not take 25600000 kHz, only multiples of 100000 up to 25500000");
  CHECK(refusal(Interface::PerfCtl, a_window(800000, 900000)) ==
        "CPU 4 supports a single frequency only, not a window: min 800000 kHz and max 900000 kHz must be the same");
  for (const FrequencySetting& knobs : {FrequencySetting{.governor = "powersave"}, FrequencySetting{.epp = "power"}}) {
    CHECK(refusal(Interface::HwpRequest, knobs) == "CPU 4 has no governor and no EPP without a cpufreq driver");
  }
}

TEST_CASE("a device is read and written at the number of the register") {
  Tree tree;
  tree.registers(3);
  const auto registers = open_registers(tree.root(), CpuId{3}).value();
  REQUIRE(registers);
  REQUIRE(registers->write(0x774, 0x80'00'23'08).has_value());
  CHECK(registers->read(0x774).value() == 0x80'00'23'08);
  CHECK(registers->read(0x770).value() == 0x8000'2308'0000'0000);
  CHECK(tree.get(Tree::msr(3)).size() == 4096);
}

TEST_CASE("a missing device is null, and a file that is no device is an error") {
  Tree tree;
  CHECK(open_registers(tree.root(), CpuId{0}).value() == nullptr);
  tree.put("dev/cpu/0", "not a directory");
  CHECK(open_registers(tree.root(), CpuId{0}).value() == nullptr);
  tree.put("dev/cpu/1/other", "");
  std::filesystem::create_symlink("other", tree.root() + "/" + Tree::msr(1));
  const auto linked = open_registers(tree.root(), CpuId{1});
  REQUIRE_FALSE(linked.has_value());
  CHECK(linked.error().message == "CPU 1: cannot open its registers");
}

TEST_CASE("a short register read is an error that names the register in the journal") {
  Tree tree;
  for (const char* text : {"", "only 12 byte"}) {
    tree.put(Tree::msr(0), text);
    const auto registers = open_registers(tree.root(), CpuId{0}).value();
    const auto word = registers->read(0x8);
    REQUIRE_FALSE(word.has_value());
    CHECK(word.error().message == "CPU 0: a register could not be read");
    CHECK(word.error().detail.find("msr, register 0x8: ") != std::string::npos);
    CHECK(word.error().detail.ends_with(" bytes of 8"));
  }
}

TEST_CASE("registers of a kernel that is locked down are not used") {
  for (const auto& [lockdown, is_usable] : {std::pair{"[none] integrity confidentiality\n", true},
                                            std::pair{"none [integrity] confidentiality\n", false}}) {
    Tree tree;
    tree.online("4");
    tree.part("GenuineIntel", 6);
    tree.perf_ctl(4);
    tree.put("sys/kernel/security/lockdown", lockdown);
    const Node node = Pstate(tree.root()).discover().value();
    CHECK(node.cpus.empty() == !is_usable);
    CHECK(node.missing.empty() == is_usable);
    if (!is_usable) CHECK(node.missing.front().find("the kernel is locked down") != std::string::npos);
  }
}

}  // namespace nrd::pstate::msr_test
