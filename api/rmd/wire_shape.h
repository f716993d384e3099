// The two shapes in which RMD's clients send a workload:
//
//   {"core_ids": ["0", "1-3"], "cache": {"max": 2, "min": 2}}              RMD 0.2
//   {"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}}     RMD 0.3
#pragma once

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::rmd {

// Where the client's body has these members.
struct Shape {
  bool has_nested_cache = false;   // in `rdt`
  bool has_nested_pstate = false;  // in `plugins`
};

Shape shape_of(const json::Value& body);
// Rewrites the engine's top-level pointer (/cache) to the position in the client's body (/rdt/cache).
Error pointing_into(Shape shape, Error error);

}  // namespace nrd::rmd
