#include "hw/cpuset/cpuset.h"

#include <optional>

#include "hw/cpuset/affinity.h"
#include "hw/cpuset/topology.h"

namespace nrd::cpuset {

Result<Node> Cpuset::discover() {
  return topology_.zones().map([](std::vector<Zone> zones) { return Node{.zones = std::move(zones)}; });
}

Result<Observed> Cpuset::observe(const std::set<Target>& targets) {
  Observed observed;
  for (const Target& target : targets) {
    if (const std::optional<Masks> masks = TRY(masks_of(target.task))) observed.targets[target] = *masks;
  }
  return observed;
}

Result<void> Cpuset::converge(const Setting& wanted) {
  for (const auto& [target, cpus] : wanted.limited) TRY(apply(target.task, {.cpus = cpus}));
  for (const auto& [target, before] : wanted.restored) TRY(apply(target.task, before));
  return {};
}

}  // namespace nrd::cpuset
