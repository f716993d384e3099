// A spec that says only what is to be another than in the generation in force. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/onload/spec.h"
#include "engine/onload/target.h"

namespace nrd::onload {

// What can only be set when a module is loaded.
enum class Reload { Refuse, Allow };

struct SpecPatch {
  Parameters parameters;                                  // in place of or beside those of the generation
  std::optional<std::vector<std::string>> control_plane;  // nullopt: as it is
  Reload reload = Reload::Refuse;
  friend bool operator==(const SpecPatch&, const SpecPatch&) = default;
};

Spec patched(Spec spec, const SpecPatch& patch);
// Conflict if modules would have to be loaded anew and must not be.
Result<void> check_reload(const SpecPatch& patch, const Target& target, const Seen& seen);

}  // namespace nrd::onload
