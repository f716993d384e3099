// How much of what is tried at each position, or very often, is tried: all with NRD_LONG=1 (tests/long), else a part
// that is always the same.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace nrd::testing {

inline bool is_long() { return std::getenv("NRD_LONG") != nullptr; }

// How often something random is done, of `times`.
template <typename Number>
Number often(Number times) {
  return is_long() ? times : times / 8;
}

// Whether the n-th call is one to strike. `kinds` has a letter for each call of a run without a fault. In part that is
// the first and the last call of each kind, every twelfth of all (cases that differ in the fault only take turns), and
// all beyond, where a loop finds its end. tests/node/fault_points.py chooses likewise.
inline bool is_struck(uint64_t nth, std::string_view kinds, uint64_t turn) {
  if (is_long() || nth > kinds.size()) return true;
  const auto at = static_cast<std::size_t>(nth - 1);
  return kinds.find(kinds[at]) == at || kinds.rfind(kinds[at]) == at || at % 12 == 5 * turn % 12;
}

}  // namespace nrd::testing
