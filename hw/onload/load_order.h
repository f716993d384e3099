// The order in which the modules of a version are loaded; they are removed in reverse. Pure.
//
// Dependencies by symbols come first. Otherwise the known order of Onload's modules decides: sfc and sfc_resource meet
// on the auxiliary bus and share no symbols. The set of modules differs between releases.
//
//   onload (needs sfc_char, sfc_resource), sfc, sfc_char (needs sfc_resource), sfc_resource
//   -> sfc, sfc_resource, sfc_char, onload
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// BadRequest: two modules of one name, or circular dependencies.
Result<std::vector<VersionModule>> load_order(std::vector<VersionModule> modules);

// Their dependencies on modules of the distribution, which must be loaded first.
std::vector<std::string> needed_of_system(const std::vector<VersionModule>& modules);

}  // namespace nrd::onload
