// When a monitored CPU runs fast and when slow: RMD's adaptive P-states as a pure function of what was counted.
//
// The ratio is branch misses in percent of branch hits: 100 * misses / (branches - misses). Above the threshold the CPU
// goes to the upper end of its window, below it to the lower end. Programs that predict badly wait for the pipeline and
// not for memory, so a higher clock helps them.
//
// No flapping: the ratio must be a tenth beyond the threshold in kSamplesToMove samples on end, and between two moves
// lie at least kRest. So a CPU moves at most once in kRest, whatever it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/model/workload.h"
#include "hw/pstate/types.h"

namespace nrd::plan {

enum class Speed { Fast, Slow };

constexpr std::chrono::milliseconds kSampleInterval{200};
constexpr unsigned kSamplesToMove = 3;
constexpr std::chrono::milliseconds kRest{2000};
constexpr double kMargin = 0.1;             // of the threshold
constexpr uint64_t kFewestBranches = 1000;  // of a sample that says something; an idle CPU stays as it is

struct GovernorState {
  using Time = std::chrono::steady_clock::time_point;

  Speed pace = Speed::Fast;                     // a CPU begins at the upper end
  std::optional<pstate::BranchCounts> counted;  // as last read
  std::optional<double> percent;                // of the last sample that says something
  unsigned samples_to_move = 0;                 // on end that ask for the other pace
  std::optional<Time> moved;
  uint64_t transitions = 0;
  friend bool operator==(const GovernorState&, const GovernorState&) = default;
};

// `counted`: nullopt if the CPU could not be read (it is offline): its next sample begins anew.
GovernorState next(GovernorState control, BranchMissThreshold threshold,
                   const std::optional<pstate::BranchCounts>& counted, GovernorState::Time now);

}  // namespace nrd::plan
