// Paths of cgroups, "/x/y".
#pragma once

#include <string_view>

namespace nrd::cpuset {

// True if `path` is that of `cgroup`, which is not the root, or of one below it.
inline bool is_within(std::string_view path, std::string_view cgroup) {
  return path.starts_with(cgroup) && (path.size() == cgroup.size() || path[cgroup.size()] == '/');
}

}  // namespace nrd::cpuset
