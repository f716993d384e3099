// Whether all that a wish needs lies on this node: the checks before a change of Onload.
#pragma once

#include <string>
#include <vector>

#include "engine/onload/host.h"
#include "hw/onload/versions.h"

namespace nrd::daemon {

// Of a wish that loads a version: that it is installed, for this kernel, and as it was imported. Reads all its files.
std::vector<onload::Check> examine_version(const onload::Versions& versions, const std::string& name,
                                           const std::string& kernel);

// A check by another name than its refusal has.
onload::Check checked(std::string name, const Result<void>& result);

// What is wrong with a tree that was to be imported is wrong with the path that the client named. A folder on the way
// to it he knows, so he is told which.
Failure source_at_fault(Error error, const std::string& source);

}  // namespace nrd::daemon
