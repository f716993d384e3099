// Checks that everything a spec needs is on this node, before Onload is changed.
#pragma once

#include <string>
#include <vector>

#include "engine/onload/host.h"
#include "hw/onload/versions.h"

namespace nrd::daemon {

// For a spec that loads a version: the version is installed, for this kernel, and unmodified. Reads all its files.
std::vector<onload::Check> examine_version(const onload::Versions& versions, const std::string& name,
                                           const std::string& kernel);

// Maps errors in an imported tree to the path in the request. An untrusted parent directory is known to the client, so
// name it.
Failure source_at_fault(Error error, const std::string& source);

}  // namespace nrd::daemon
