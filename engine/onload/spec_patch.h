// Changes to single settings of the effective spec. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/onload/spec.h"
#include "engine/onload/target.h"

namespace nrd::onload {

// For settings that require a module reload.
enum class Reload { Refuse, Allow };

struct SpecPatch {
  Parameters parameters;                                  // replaced or added
  std::optional<std::vector<std::string>> control_plane;  // nullopt: unchanged
  Reload reload = Reload::Refuse;
  friend bool operator==(const SpecPatch&, const SpecPatch&) = default;
};

Spec patched(Spec spec, const SpecPatch& patch);
// Conflict if modules must be reloaded and the patch does not allow it.
Result<void> check_reload(const SpecPatch& patch, const Target& target, const ObservedState& observed);

}  // namespace nrd::onload
