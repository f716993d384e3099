#include "engine/transaction/deferred.h"

#include <string_view>
#include <utility>

#include "base/json/members.h"
#include "engine/model/workload_fields.h"

namespace nrd {
namespace {

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

Command without_binding(Command command) {
  Spec* spec = nullptr;
  if (auto* create = std::get_if<CreateWorkload>(&command)) spec = &create->spec;
  if (auto* put = std::get_if<PutWorkload>(&command)) spec = &put->spec;
  if (spec && spec->cpu) {
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
