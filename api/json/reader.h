// From text to a Value, strictly: what RFC 8259 allows, and of that only what cannot be misread or be used to exhaust
// us.
//
// Refused beyond the grammar: nothing at all, invalid UTF-8, NUL (raw or \u0000), a key that occurs twice, anything
// after the value, more than kMaxDepth levels, more than kMaxNodes values. RapidJSON's recursive parser overflows the
// stack on a million '['; ours is iterative and counts.
#pragma once

#include <string_view>

#include "api/json/value.h"
#include "base/result.h"

namespace nrd::json {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNodes = 16384;  // twice the CPUs that a workload can name

// BadRequest says what is wrong and at which byte, counted from 0.
Result<Value> parse(std::string_view text);

}  // namespace nrd::json
