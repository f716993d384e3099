// L2 cache ways, on nodes that allocate L2 in addition to L3: {"l2": {"ways": 4, "code": 1}}. Not part of RMD's API.
#pragma once

#include <optional>

#include "api/v1/json_validation.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// The members of one `l2` object.
struct L2Fields {
  std::optional<uint32_t> ways;
  std::optional<uint32_t> code;
  bool is_removed = false;
};
Result<L2Fields> parse_l2(const json::Value& body, Null null);

// For a POST; nullopt if nothing is requested.
Result<std::optional<L2Request>> l2_request(const L2Fields& fields);

// {"ways": 4}
void render(json::Writer& w, const L2Request& request);

}  // namespace nrd::v1
