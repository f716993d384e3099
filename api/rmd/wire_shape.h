// The two shapes in which RMD's clients send a workload:
//
//   {"core_ids": ["0", "1-3"], "cache": {"max": 2, "min": 2}}              RMD 0.2
//   {"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}}     RMD 0.3
//
// Frequencies likewise: in `pstate`, or in `plugins.pstate`. Memory bandwidth is only in `rdt.mba`. Keys are
// case-insensitive, as in RMD's Go decoder: "Core_IDs" is core_ids.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::rmd {

// `body` with lower-case keys. Keys below `plugins` and `onload` stay as they are, like the keys of a Go map.
// BadRequest if an object has two keys that differ only in case: parsers disagree on which one applies.
Result<json::Value> with_canonical_keys(const json::Value& body);

// Part of a workload, and its JSON pointer. null in place of the outer object counts for each part in it.
struct Part {
  std::string pointer;
  const json::Value* value;
};

// A client that has a part in both shapes must have it twice with the same value, unless it edited one in an answer.
struct Parts {
  std::vector<Part> cache;
  std::vector<Part> mba;
  std::vector<Part> pstate;
};

// BadRequest if `rdt` has an unknown key, or `plugins` another plugin that is not empty.
Result<Parts> parts_of(const json::Value& body);
// The literal of pstate's `ratio`, which RMD echoes unchanged (3.0, not 3); empty if absent.
std::string ratio_literal(const json::Value& body);

// Where the client's body has these members.
struct Shape {
  bool has_nested_cache = false;   // in `rdt`
  bool has_nested_pstate = false;  // in `plugins`
};

Shape shape_of(const json::Value& body);
// Rewrites the engine's top-level pointer (/cache) to the position in the client's body (/rdt/cache).
Error pointing_into(Shape shape, Error error);

}  // namespace nrd::rmd
