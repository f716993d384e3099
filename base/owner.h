// The process that owns something, which is released when the process exits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace nrd {

struct Owner {
  pid_t pid = 0;
  uint64_t start = 0;   // clock ticks after boot
  std::string boot_id;  // start and number are meaningless in another boot
  friend bool operator==(const Owner&, const Owner&) = default;
};

}  // namespace nrd
