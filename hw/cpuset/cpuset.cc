#include "hw/cpuset/cpuset.h"

#include <chrono>
#include <optional>
#include <utility>

#include "hw/cpuset/affinity.h"

namespace nrd::cpuset {
namespace {

// What a request may spend on systemd's answers; others wait meanwhile.
constexpr std::chrono::milliseconds kPatience{800};

}  // namespace

Result<Node> Cpuset::discover() {
  std::vector<Zone> zones = TRY(topology_.zones());
  return Node{.zones = std::move(zones), .no_scopes = scopes_.why_not()};
}

Result<Observed> Cpuset::observe(const std::set<Target>& targets) {
  Observed observed;
  for (const Target& target : targets) {
    const bool is_scope = target.kind == Target::Kind::Scope;
    const std::optional<Masks> masks = TRY(is_scope ? scopes_.masks_of(target) : masks_of(target.task));
    if (masks) observed.targets[target] = *masks;
  }
  return observed;
}

Result<void> Cpuset::converge(const Setting& wanted) {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  for (const auto& [target, cpus] : wanted.limited) {
    const Masks masks{.cpus = cpus};
    TRY(target.kind == Target::Kind::Scope ? scopes_.limit(target, cpus, deadline) : apply(target.task, masks));
  }
  for (const auto& [target, before] : wanted.restored) {
    TRY(target.kind == Target::Kind::Scope ? scopes_.release(target, before, deadline) : apply(target.task, before));
  }
  return {};
}

}  // namespace nrd::cpuset
