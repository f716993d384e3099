// The model-specific registers (SDM vol. 4) that set a CPU's frequency where no scaling driver does, as a plain state
// machine. Acts answer 0 or an errno, as Linux' /dev/cpu/N/msr does: EIO is a register that the part does not have, or
// that cannot be written. Frequencies are ratios, multiples of 100 MHz.
//
// A part with HWP that is enabled follows IA32_HWP_REQUEST and ignores IA32_PERF_CTL. Until it is enabled, it follows
// IA32_PERF_CTL, and its other HWP registers cannot be touched (SDM vol. 3, 15.4.2). Once on, it stays on until reset.
// A part of AMD (PPR of family 19h, MSRC001_0061 and following) has three P-states: base, half-way, and lowest.
//
// The threads of a core run at one frequency, the highest that one of them asks for.
#pragma once

#include <cstdint>
#include <map>

#include "machine.h"

namespace nrd::simnode {

class Msr {
 public:
  using Registers = std::map<std::uint32_t, std::uint64_t>;

  explicit Msr(const Machine& machine);

  int read(int cpu, std::uint32_t number, std::uint64_t& value) const;
  int write(int cpu, std::uint32_t number, std::uint64_t value);
  Registers readable(int cpu) const;  // all that can be read now

  void wipe();  // as after a boot

 private:
  bool has(int cpu, std::uint32_t number) const;
  std::uint64_t request_of(int cpu) const;
  std::uint64_t ratio_of(int cpu) const;
  std::uint64_t status_of(int cpu, std::uint32_t number) const;
  void enable_hwp(int cpu);

  const Machine& machine_;
  std::map<int, Registers> cpus_;  // all but the two of what it runs at, which follow from them
};

}  // namespace nrd::simnode
