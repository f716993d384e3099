// JSON of a flag in the body of a request.
#pragma once

#include <string_view>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::v1 {

// A boolean member; default `otherwise`.
Result<bool> parse_flag(const json::Value& body, std::string_view key, bool otherwise);

}  // namespace nrd::v1
