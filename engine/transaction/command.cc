#include "engine/transaction/command.h"

#include "engine/model/cpu_sets.h"

namespace nrd {
namespace {

// Of a new workload, or one in whole.
const Spec* spec_of(const Command& command) {
  if (const auto* create = std::get_if<CreateWorkload>(&command)) return &create->spec;
  const auto* put = std::get_if<PutWorkload>(&command);
  return put ? &put->spec : nullptr;
}

}  // namespace

std::optional<cpuset::Target> new_group(const Command& command) {
  const Spec* spec = spec_of(command);
  return spec ? group_target(*spec) : std::nullopt;
}

const CpuRequest* cpu_request_of(const Command& command) {
  if (const Spec* spec = spec_of(command)) return spec->cpu ? &*spec->cpu : nullptr;
  const auto* patch = std::get_if<PatchWorkload>(&command);
  return patch && patch->patch.cpu && *patch->patch.cpu ? &(*patch->patch.cpu)->values : nullptr;
}

bool lists_pools(const Command& command) {
  if (const Spec* spec = spec_of(command)) return !spec->further_cpus.empty();
  const auto* patch = std::get_if<PatchWorkload>(&command);
  return patch && patch->patch.further_cpus && !patch->patch.further_cpus->empty();
}

}  // namespace nrd
