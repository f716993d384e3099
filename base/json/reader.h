// A strict JSON parser: RFC 8259 without ambiguous input and with bounded resources.
//
// In addition to syntax errors it refuses empty input, invalid UTF-8, NUL (raw or \u0000), a key that occurs twice,
// anything after the value, more than kMaxDepth levels, more than `max_nodes` values. RapidJSON's recursive parser
// overflows the stack on a million '['; this parser is iterative and counts.
#pragma once

#include <string_view>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::json {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNodes = 16384;  // twice the CPUs that a workload can name

// BadRequest with the reason and the byte offset, counted from 0.
Result<Value> parse(std::string_view text, size_t max_nodes = kMaxNodes);

}  // namespace nrd::json
