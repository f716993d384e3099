// What a wish means on this node: the modules of the version for the running kernel, and what each is loaded with.
//
// To the parameters that were asked for come those that nrd is answerable for, where the module knows them: the control
// plane server of the very same version, the words it is started with, and that it is started at all.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/onload/parameters.h"
#include "engine/onload/spec.h"
#include "engine/onload/target.h"
#include "hw/onload/versions.h"

namespace nrd::daemon {

// `kernel`: release of the running one. `tree`: where the files of the version lie. Refused, with the field of the wish
// that is at fault, if the version has no modules for this kernel, if a module would not take its parameters, or if a
// parameter is neither one that only tunes nor one that root `allowed`.
Result<onload::Target> target_of(const onload::Spec& spec, const onload::Version& version, const std::string& kernel,
                                 const std::string& tree, const std::vector<AllowedParameter>& allowed);
// Of a wish that loads nothing.
onload::Target target_without_modules(const onload::Spec& spec);

}  // namespace nrd::daemon
