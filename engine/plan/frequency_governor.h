// Decides when a monitored CPU runs fast or slow: RMD's adaptive P-states as a pure function of branch counts.
//
// The ratio is branch misses in percent of branch hits: 100 * misses / (branches - misses). Above the threshold the CPU
// goes to the upper end of its window, below it to the lower end. Programs that predict badly wait for the pipeline and
// not for memory, so a higher clock helps them.
//
// Hysteresis: the ratio must be a tenth beyond the threshold in kSamplesToMove consecutive samples, and moves of a CPU
// are at least kMinInterval apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "hw/pstate/types.h"

namespace nrd {
struct BranchMissThreshold;
}

namespace nrd::plan {

enum class Speed { Fast, Slow };

constexpr std::chrono::milliseconds kSampleInterval{200};
constexpr unsigned kSamplesToMove = 3;
constexpr std::chrono::milliseconds kMinInterval{2000};
constexpr double kMargin = 0.1;             // of the threshold
constexpr uint64_t kFewestBranches = 1000;  // of a valid sample; an idle CPU keeps its speed

struct GovernorState {
  using Time = std::chrono::steady_clock::time_point;

  Speed speed = Speed::Fast;                    // a CPU starts at the upper end
  std::optional<pstate::BranchCounts> counted;  // as last read
  std::optional<double> percent;                // of the last valid sample
  unsigned samples_to_move = 0;                 // consecutive samples in favour of the other speed
  std::optional<Time> moved;
  uint64_t transitions = 0;
  friend bool operator==(const GovernorState&, const GovernorState&) = default;
};

// `counted`: nullopt if the CPU could not be read (it is offline); its next sample starts over.
GovernorState next(GovernorState control, BranchMissThreshold threshold,
                   const std::optional<pstate::BranchCounts>& counted, GovernorState::Time now);

}  // namespace nrd::plan
