// In which order the modules of one version are loaded; they are removed in the reverse one. Pure.
//
// Symbols decide first: a module comes after those that it depends on. Where they say nothing, the known order of
// Onload's modules does, because sfc and sfc_resource find each other on the auxiliary bus and share no symbols: a
// driver that came later would find its devices without it. The set itself is data, since each release has another one.
//
//   onload (needs sfc_char, sfc_resource), sfc, sfc_char (needs sfc_resource), sfc_resource
//   -> sfc, sfc_resource, sfc_char, onload
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/module_file.h"

namespace nrd::onload {

// A module and where it lies in the tree of its version.
struct VersionModule {
  std::string path;  // "lib/modules/6.1.0-56-amd64/extra/onload.ko"
  ModuleFile file;
  friend bool operator==(const VersionModule&, const VersionModule&) = default;
};

// BadRequest: there are two of one name, or they need each other in a circle.
Result<std::vector<VersionModule>> load_order(std::vector<VersionModule> modules);

// What they need beyond each other: modules of the distribution, to be loaded before.
std::vector<std::string> needed_of_system(const std::vector<VersionModule>& modules);

}  // namespace nrd::onload
