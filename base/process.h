// A process of this host, held by a descriptor, so that it is never mistaken for a later one with the same number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd {

// Field 22 of /proc/PID/stat (proc(5)): clock ticks from boot to its start. "4711 (feed handler) S 1 ...": the name is
// between the first "(" and the last ")" and may contain anything. nullopt: not such a line.
std::optional<uint64_t> start_in(std::string_view stat);

struct Process {
  UniqueFd fd;  // pidfd_open(2): readable when all of its threads have exited
  uint64_t start = 0;
};

// nullopt: there is no such process, or it is a zombie.
Result<std::optional<Process>> open_process(pid_t pid);

}  // namespace nrd
