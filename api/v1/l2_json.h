// Ways of L2 caches on nodes that allocate these beside L3: {"l2": {"ways": 4, "code": 1}}. RMD knew none.
#pragma once

#include <optional>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "api/v1/json_validation.h"
#include "base/result.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// What one `l2` object names.
struct L2Fields {
  std::optional<uint32_t> ways;
  std::optional<uint32_t> code;
  bool is_taken_away = false;
};
Result<L2Fields> parse_l2(const json::Value& body, Null null);

// Of a POST; nullopt: nothing is asked for.
Result<std::optional<L2Request>> l2_request(const L2Fields& wish);

// {"ways": 4}
void render(json::Writer& w, const L2Request& request);

}  // namespace nrd::v1
