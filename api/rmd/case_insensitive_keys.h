// Case-insensitive keys, as accepted by RMD's Go decoder: "Core_IDs" is core_ids.
#pragma once

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::rmd {

// `body` with lower-case keys. Keys below `plugins` and `onload` stay as they are, like the keys of a Go map.
// BadRequest if an object has two keys that differ only in case: parsers disagree on which one applies.
Result<json::Value> with_canonical_keys(const json::Value& body);

}  // namespace nrd::rmd
