// Resolves a spec on this node: the version's modules for the running kernel and their parameters.
//
// Besides the requested parameters, nrd sets its own where the module has them: the control plane server of the same
// version, its arguments, and that it is started.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/onload/parameters.h"
#include "engine/onload/spec.h"
#include "engine/onload/target.h"
#include "hw/onload/versions.h"

namespace nrd::daemon {

// `kernel`: release of the running kernel. `tree`: where the version's files lie. Fails with the JSON pointer of the
// culprit if the version has no modules for this kernel, a module does not accept a parameter, or a parameter is
// neither a tuning parameter nor `allowed` by root.
Result<onload::Target> target_of(const onload::Spec& spec, const onload::Version& version, const std::string& kernel,
                                 const std::string& tree, const std::vector<AllowedParameter>& allowed);
// The version's modules for this kernel. Fails at /version if there are none, or not that of Onload itself.
Result<std::vector<onload::VersionModule>> modules_for(const onload::Version& version, const std::string& kernel);
// For a spec that loads nothing.
onload::Target target_without_modules(const onload::Spec& spec);

}  // namespace nrd::daemon
