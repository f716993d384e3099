// nrdctl support-bundle FILE: what somebody who is asked for help wants to see of a node, in one tar archive.
//
// All of it is what the API answers to GET, so whoever may read the API may make one, and there is nothing in it that
// he could not have read: no keys, no passwords, no environments of applications, no texts of profiles.
#pragma once

#include <string>

#include "cli/client.h"

namespace nrd::cli {

// `file` is made (mode 0600) and must not be there.
int write_support_bundle(const Client& client, const std::string& file);

}  // namespace nrd::cli
