// AMD CPUs without a cpufreq driver: the firmware defines up to eight P-states, and software selects one of them.
// Registers are from the "Processor Programming Reference" of families 17h to 1Ah, Core::X86::Msr.
//
//   MSRC001_0061  PStateCurLim  slowest P-state 6:4, fastest that is allowed now 2:0
//   MSRC001_0062  PStateCtl     the requested one 2:0
//   MSRC001_0063  PStateStat    the present one 2:0
//   MSRC001_0064  PStateDef     of P0, up to 006B of P7: is there 63; families 17h-19h: frequency id 7:0, divisor 13:8,
//                               200 MHz * id / divisor; family 1Ah: frequency id 11:0, 5 MHz * id
//
//   0x8000'0000'0000'0888   families 17h-19h: 200 * 0x88 / 8 = 3400 MHz
//   0x8000'0000'0000'02A8   family 1Ah: 5 * 0x2A8 = 3400 MHz
//
// P0 is the highest without boost, which the CPU adds on its own. Called by the engine thread, through msr.h.
#pragma once

#include <optional>

#include "base/result.h"
#include "hw/pstate/msr.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

inline constexpr uint32_t kPstateLimit = 0xC0010061;
inline constexpr uint32_t kPstateControl = 0xC0010062;
inline constexpr uint32_t kPstateStatus = 0xC0010063;
inline constexpr uint32_t kPstateDefinition = 0xC0010064;  // of P0; those of P1 to P7 follow

// nullopt: there is no such P-state.
std::optional<KHz> frequency_of_definition(Interface way, uint64_t definition);

// As in msr.h, for the interfaces Amd17h and Amd1Ah.
Result<std::optional<Cpu>> discover_amd(Registers& registers, CpuId cpu, Interface way);
Result<FrequencySetting> observe_amd(Registers& registers, Interface way);
std::optional<KHz> current_of_amd(Registers& registers, Interface way);
Result<void> write_amd(Registers& registers, Interface way, KHz wanted);

}  // namespace nrd::pstate
