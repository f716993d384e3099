// A process of this host, held by a descriptor, so that it is never mistaken for a later one with the same number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd {

struct Process {
  UniqueFd fd;         // pidfd_open(2): readable when all of its threads have exited
  uint64_t start = 0;  // clock ticks after boot
};

// nullopt: there is no such process, or it is a zombie.
Result<std::optional<Process>> open_process(pid_t pid);

}  // namespace nrd
