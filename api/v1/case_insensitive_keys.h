// Keys in any case, as Go's decoder takes them for RMD: "Core_IDs" is core_ids.
#pragma once

#include "api/json/value.h"
#include "base/result.h"

namespace nrd::v1 {

// `body` with all keys in lower case, as ours are. Below `plugins` they stay, for Go keeps the keys of a map as they
// are. BadRequest if an object has the same key twice but for the case: which of them counts, readers would not agree.
Result<json::Value> with_canonical_keys(const json::Value& body);

}  // namespace nrd::v1
