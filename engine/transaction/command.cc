#include "engine/transaction/command.h"

#include "engine/model/cpu_sets.h"

namespace nrd {

std::optional<cpuset::Target> new_group(const Command& command) {
  if (const auto* create = std::get_if<CreateWorkload>(&command)) return group_target(create->spec);
  const auto* put = std::get_if<PutWorkload>(&command);
  return put ? group_target(put->spec) : std::nullopt;
}

const CpuRequest* cpu_request_of(const Command& command) {
  const auto address = [](const std::optional<CpuRequest>& request) { return request ? &*request : nullptr; };
  if (const auto* create = std::get_if<CreateWorkload>(&command)) return address(create->spec.cpu);
  if (const auto* put = std::get_if<PutWorkload>(&command)) return address(put->spec.cpu);
  const auto* patch = std::get_if<PatchWorkload>(&command);
  return patch && patch->patch.cpu && *patch->patch.cpu ? &(*patch->patch.cpu)->values : nullptr;
}

bool lists_pools(const Command& command) {
  if (const auto* create = std::get_if<CreateWorkload>(&command)) return !create->spec.further_cpus.empty();
  if (const auto* put = std::get_if<PutWorkload>(&command)) return !put->spec.further_cpus.empty();
  const auto* patch = std::get_if<PatchWorkload>(&command);
  return patch && patch->patch.further_cpus && !patch->patch.further_cpus->empty();
}

}  // namespace nrd
