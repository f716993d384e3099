#include "hw/pstate/amd.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_pstate/registers.h"

namespace nrd::pstate::amd_test {

using nrd::testing::MapRegisters;

namespace {

constexpr uint64_t kThere = uint64_t{1} << 63;

// As an EPYC of family 19h has them: P0 3400, P1 2600, P2 1500 MHz; P1 asked for, running at P2.
MapRegisters an_epyc() {
  return MapRegisters({{0xC0010061, 0x20},
                       {0xC0010062, 1},
                       {0xC0010063, 2},
                       {0xC0010064, kThere | 0x888},
                       {0xC0010065, kThere | 0x868},
                       {0xC0010066, kThere | 0xC5A},
                       {0xC0010067, 0x850}});
}

}  // namespace

TEST_CASE("a definition is a frequency if its P-state is there") {
  CHECK(frequency_of_definition(Interface::Amd17h, kThere | 0x888) == KHz{3400000});
  CHECK(frequency_of_definition(Interface::Amd17h, kThere | 0xC5A) == KHz{1500000});
  CHECK(frequency_of_definition(Interface::Amd1Ah, kThere | 0x2A8) == KHz{3400000});
  CHECK(frequency_of_definition(Interface::Amd1Ah, kThere | 0xFFF) == KHz{20475000});
  CHECK_FALSE(frequency_of_definition(Interface::Amd17h, 0x888));
  CHECK_FALSE(frequency_of_definition(Interface::Amd17h, kThere | 0x88));
  CHECK_FALSE(frequency_of_definition(Interface::Amd17h, kThere | 0x800));
  CHECK_FALSE(frequency_of_definition(Interface::Amd1Ah, kThere));
}

TEST_CASE("an AMD CPU supports the frequencies of its P-states") {
  MapRegisters registers = an_epyc();
  const Cpu cpu = discover_registers(registers, RegisterSet::Amd17h, CpuId{3}).value().value();
  CHECK(cpu == Cpu{.way = Interface::Amd17h,
                   .driver = "msr",
                   .min = {1500000},
                   .max = {3400000},
                   .steps = {{1500000}, {2600000}, {3400000}},
                   .domain = {3}});
  CHECK(observe_registers(registers, cpu.way).value() == FrequencySetting{.min = {2600000}, .max = {2600000}});
  CHECK(current_of_registers(registers, cpu.way) == KHz{1500000});
  REQUIRE(write_registers(registers, cpu.way, {.min = {3400000}, .max = {3400000}}));
  CHECK(registers.word(0xC0010062) == 0);
  CHECK(observe_registers(registers, cpu.way).value() == FrequencySetting{.min = {3400000}, .max = {3400000}});
}

TEST_CASE("P-states that the firmware's limit forbids, and those without a definition, cannot be chosen") {
  MapRegisters registers = an_epyc();
  registers.set(0xC0010061, 0x31);
  const Cpu cpu = discover_registers(registers, RegisterSet::Amd17h, CpuId{0}).value().value();
  CHECK(cpu.steps == std::vector<KHz>{{1500000}, {2600000}});
  CHECK_FALSE(write_registers(registers, cpu.way, {.min = {3400000}, .max = {3400000}}));
  CHECK(registers.word(0xC0010062) == 1);
}

TEST_CASE("of two P-states with one frequency the first is chosen") {
  MapRegisters registers = an_epyc();
  registers.set(0xC0010066, kThere | 0x868);
  REQUIRE(write_registers(registers, Interface::Amd17h, {.min = {2600000}, .max = {2600000}}));
  CHECK(registers.word(0xC0010062) == 1);
}

TEST_CASE("a CPU without P-states cannot be set, and an undefined P-state is an error") {
  MapRegisters none({});
  CHECK_FALSE(discover_registers(none, RegisterSet::Amd17h, CpuId{0}).value());
  CHECK_FALSE(current_of_registers(none, Interface::Amd17h));
  MapRegisters undefined({{0xC0010061, 0x20}, {0xC0010062, 5}});
  CHECK_FALSE(discover_registers(undefined, RegisterSet::Amd1Ah, CpuId{0}).value());
  CHECK_FALSE(observe_registers(undefined, Interface::Amd1Ah));
  undefined.break_down();
  CHECK_FALSE(discover_registers(undefined, RegisterSet::Amd1Ah, CpuId{0}));
  CHECK_FALSE(write_registers(undefined, Interface::Amd1Ah, {}));
}

}  // namespace nrd::pstate::amd_test
