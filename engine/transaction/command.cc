#include "engine/transaction/command.h"

#include <string_view>
#include <utility>

#include "base/json/members.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/workload_fields.h"

namespace nrd {
namespace {

// Of a new workload, or one in whole.
template <typename AnyCommand>
auto* spec_of(AnyCommand& command) {
  auto* create = std::get_if<CreateWorkload>(&command);
  auto* put = std::get_if<PutWorkload>(&command);
  return create ? &create->spec : put ? &put->spec : nullptr;
}

std::optional<LocalUser> quota_user_of(const Command& command) {
  if (const auto* create = std::get_if<CreateWorkload>(&command)) return create->quota_user;
  const auto* put = std::get_if<PutWorkload>(&command);
  return put ? put->quota_user : std::nullopt;
}

// {"memory": "near", "migrate": true}
json::Partial<CpuRequest> near_memory() {
  json::Partial<CpuRequest> request;
  request.values.memory = CpuRequest::Memory::Near;
  request.values.migrate = true;
  json::for_each_field<CpuRequest>([&request](const auto& field, uint32_t i) {
    const std::string_view name = field.name;
    if (name == "memory" || name == "migrate") request.given |= 1U << i;
  });
  return request;
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

Command without_binding(Command command) {
  if (Spec* spec = spec_of(command); spec && spec->cpu) {
    spec->cpu->memory = CpuRequest::Memory::Any;
    spec->cpu->migrate = false;
  }
  return command;
}

Command binding_of(Command command, std::optional<WorkloadId> created) {
  if (created) {
    PatchWorkload binding{.id = *created, .patch = {}, .quota_user = quota_user_of(command)};
    binding.patch.cpu = std::optional(near_memory());
    return binding;
  }
  // What the client knew when it asked has been checked.
  if (auto* patch = std::get_if<PatchWorkload>(&command)) patch->if_revision.reset();
  if (auto* put = std::get_if<PutWorkload>(&command)) {
    put->if_revision.reset();
    put->known.reset();
  }
  return command;
}

}  // namespace nrd
