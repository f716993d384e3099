// Ways of L2 caches on nodes that allocate these beside L3: {"l2": {"ways": 4, "code": 1}}. RMD knew none.
#pragma once

#include <optional>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "api/v1/expect.h"
#include "base/result.h"
#include "engine/workload.h"

namespace nrd::v1 {

struct L2Wish {
  bool is_named = false;  // also to say that there shall be none
  std::optional<L2Request> request;
};
Result<L2Wish> parse_l2(const json::Value& body, Null null);

// {"ways": 4}
void render(json::Writer& w, const L2Request& request);

}  // namespace nrd::v1
