#include "hw/pstate/amd.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/find_in.h"

namespace nrd::pstate {
namespace {

constexpr uint64_t kPstateBits = 7;
constexpr uint64_t kIsThere = uint64_t{1} << 63;

uint32_t pstate_at(uint64_t word, unsigned lowest_bit) {
  return static_cast<uint32_t>((word >> lowest_bit) & kPstateBits);
}

// nullopt: there is no such P-state, or no such register.
Result<std::optional<KHz>> read_definition(Registers& registers, Interface way, uint32_t pstate) {
  return registers.read(kPstateDefinition + pstate).map([way](const std::optional<uint64_t>& word) {
    return word ? frequency_of_definition(way, *word) : std::nullopt;
  });
}

// Selectable P-states by frequency; the first of two with the same one.
Result<std::map<KHz, uint32_t>> read_choices(Registers& registers, Interface way) {
  std::map<KHz, uint32_t> choices;
  const std::optional<uint64_t> limit = TRY(registers.read(kPstateLimit));
  if (!limit) return choices;
  for (uint32_t pstate = pstate_at(*limit, 0); pstate <= pstate_at(*limit, 4); ++pstate) {
    const std::optional<KHz> frequency = TRY(read_definition(registers, way, pstate));
    if (frequency) choices.emplace(*frequency, pstate);
  }
  return choices;
}

// The frequency of the P-state that bits 2:0 of this register select.
Result<std::optional<KHz>> read_chosen(Registers& registers, Interface way, uint32_t address) {
  const std::optional<uint64_t> word = TRY(registers.read(address));
  if (!word) return std::nullopt;
  return read_definition(registers, way, pstate_at(*word, 0));
}

}  // namespace

std::optional<KHz> frequency_of_definition(Interface way, uint64_t definition) {
  if ((definition & kIsThere) == 0) return std::nullopt;
  if (way == Interface::Amd1Ah) {
    const uint32_t id = definition & 0xFFF;
    return id == 0 ? std::nullopt : std::optional(KHz{id * 5'000});
  }
  const uint32_t id = definition & 0xFF;
  const uint32_t divisor = (definition >> 8) & 0x3F;
  return id == 0 || divisor == 0 ? std::nullopt : std::optional(KHz{id * 200'000 / divisor});
}

Result<std::optional<Cpu>> discover_amd(Registers& registers, CpuId cpu, Interface way) {
  const std::map<KHz, uint32_t> choices = TRY(read_choices(registers, way));
  if (choices.empty()) return std::nullopt;
  Cpu found{.way = way,
            .driver = "msr",
            .min = choices.begin()->first,
            .max = choices.rbegin()->first,
            .domain = {cpu.value}};
  for (const auto& [frequency, pstate] : choices) found.steps.push_back(frequency);
  return found;
}

Result<FrequencySetting> observe_amd(Registers& registers, Interface way) {
  const std::optional<KHz> chosen = TRY(read_chosen(registers, way, kPstateControl));
  if (!chosen) return fail(ErrorCode::Hardware, "the CPU reports an undefined P-state", "MSRC001_0062");
  return FrequencySetting{.min = *chosen, .max = *chosen};
}

std::optional<KHz> current_of_amd(Registers& registers, Interface way) {
  return read_chosen(registers, way, kPstateStatus).value_or(std::nullopt);
}

Result<void> write_amd(Registers& registers, Interface way, KHz wanted) {
  const std::map<KHz, uint32_t> choices = TRY(read_choices(registers, way));
  if (const uint32_t* pstate = find_in(choices, wanted)) return registers.write(kPstateControl, *pstate);
  return fail(ErrorCode::Hardware, fmt::format("the CPU has no P-state of {} kHz now", wanted.value));
}

}  // namespace nrd::pstate
