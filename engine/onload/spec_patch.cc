#include "engine/onload/spec_patch.h"

#include "base/joined.h"
#include "engine/onload/next_step.h"

namespace nrd::onload {

Spec patched(Spec spec, const SpecPatch& patch) {
  for (const auto& [module, values] : patch.parameters) {
    for (const auto& [name, value] : values) spec.parameters[module][name] = value;
  }
  if (patch.control_plane) spec.control_plane = *patch.control_plane;
  return spec;
}

Result<void> check_reload(const SpecPatch& patch, const Target& target, const Seen& seen) {
  const std::vector<std::string> modules = removals(target, seen);
  if (modules.empty() || patch.reload == Reload::Allow) return {};
  return fail(ErrorCode::Conflict, "this takes effect only when modules are loaded anew (" + joined(modules, ", ") +
                                       "), which ends their users; ?reload=true does so");
}

}  // namespace nrd::onload
