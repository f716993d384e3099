// Users and groups of this node by name.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace nrd::daemon {

// nullopt: no such name.
Result<std::optional<uid_t>> find_user(const std::string& name);
Result<std::optional<gid_t>> find_group(const std::string& name);
// Of a user, or of a group as "@name", that the list `key` has. Busy: the lookup may succeed later.
Result<std::optional<id_t>> find_account(const std::string& name, const std::string& key);

}  // namespace nrd::daemon
