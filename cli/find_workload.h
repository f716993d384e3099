// Workloads by what users call them: id, uuid or name.
#pragma once

#include <string>

#include "cli/answer.h"
#include "cli/client.h"

namespace nrd::cli {

// The id of the workload with this id, uuid or name, in this order. kNoSuch if there is none; kRefused if uuid and name
// belong to different ones.
OrStop<std::string> find_workload(const Client& client, const std::string& called);
// `id` as a part of a path.
std::string encoded(const std::string& id);

}  // namespace nrd::cli
