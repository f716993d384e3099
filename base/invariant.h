// Wrong bookkeeping is a bug, not an error: the daemon stops in every build, and the next start recovers by computing
// the setting from the store again.
#pragma once

#include <cstdlib>

#include "base/log.h"

#define INVARIANT(condition)                                                       \
  do {                                                                             \
    if (!(condition)) {                                                            \
      ::nrd::log::error("INVARIANT", "internal bookkeeping is wrong: " #condition, \
                        {{"FILE", __FILE__}, {"LINE", std::to_string(__LINE__)}}); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
