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

Result<void> check_reload(const SpecPatch& patch, const Target& target, const ObservedState& observed) {
  const std::vector<std::string> modules = removals(target, observed);
  if (modules.empty() || patch.reload == Reload::Allow) return {};
  return fail(ErrorCode::Conflict, "this requires reloading modules (" + joined(modules, ", ") +
                                       "), which ends their users; use ?reload=true");
}

}  // namespace nrd::onload
