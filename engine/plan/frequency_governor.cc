#include "engine/plan/frequency_governor.h"

#include <utility>

#include "engine/model/workload.h"

namespace nrd::plan {
namespace {

// Unsigned subtraction, so a counter that wraps in between still works. A reopened counter starts near zero: the
// difference is then larger than any real sample and is discarded.
std::optional<double> percent_of(const pstate::BranchCounts& before, const pstate::BranchCounts& now) {
  constexpr uint64_t kMostBranches = uint64_t{1} << 40;
  const uint64_t branches = now.branches - before.branches;
  const uint64_t misses = now.misses - before.misses;
  if (branches < kFewestBranches || branches > kMostBranches || misses >= branches) return std::nullopt;
  return 100.0 * static_cast<double>(misses) / static_cast<double>(branches - misses);
}

std::optional<Speed> asked_by(double percent, BranchMissThreshold threshold) {
  if (percent > threshold.percent * (1 + kMargin)) return Speed::Fast;
  if (percent < threshold.percent * (1 - kMargin)) return Speed::Slow;
  return std::nullopt;
}

}  // namespace

GovernorState next(GovernorState control, BranchMissThreshold threshold,
                   const std::optional<pstate::BranchCounts>& counted, GovernorState::Time now) {
  const std::optional<pstate::BranchCounts> before = std::exchange(control.counted, counted);
  const std::optional<double> percent = before && counted ? percent_of(*before, *counted) : std::nullopt;
  if (percent) control.percent = percent;
  const std::optional<Speed> asked = percent ? asked_by(*percent, threshold) : std::nullopt;
  if (!asked || *asked == control.speed) {
    control.samples_to_move = 0;
    return control;
  }
  ++control.samples_to_move;
  const bool may_move = !control.moved || now - *control.moved >= kMinInterval;
  if (control.samples_to_move < kSamplesToMove || !may_move) return control;
  control.speed = *asked;
  control.samples_to_move = 0;
  control.moved = now;
  ++control.transitions;
  return control;
}

}  // namespace nrd::plan
