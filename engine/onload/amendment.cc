#include "engine/onload/amendment.h"

#include "base/joined.h"
#include "engine/onload/stage.h"

namespace nrd::onload {

Desired amended(Desired desired, const Amendment& amendment) {
  for (const auto& [module, values] : amendment.parameters) {
    for (const auto& [name, value] : values) desired.parameters[module][name] = value;
  }
  if (amendment.control_plane) desired.control_plane = *amendment.control_plane;
  return desired;
}

Result<void> check_reload(const Amendment& amendment, const Target& target, const Seen& seen) {
  const std::vector<std::string> modules = removals(target, seen);
  if (modules.empty() || amendment.reload == Reload::Allow) return {};
  return fail(ErrorCode::Conflict, "this takes effect only when modules are loaded anew (" + joined(modules, ", ") +
                                       "), which ends their users; ?reload=true does so");
}

}  // namespace nrd::onload
