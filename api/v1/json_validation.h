// Checks of JSON values and their error messages. Fields are JSON pointers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::v1 {

// True for "", {}, [], 0 and null, which encoders write for an unset field.
bool is_absent(const json::Value& value);
// The meaning of null: absent on POST, as in RMD; on PATCH it removes the part.
enum class Null { IsAbsent, Removes };
// For a message: the value if it is short, otherwise its kind.
std::string shown(const json::Value& value);
Failure wrong_type(std::string field, const json::Value& value, std::string_view expected);
Result<void> require_object(const std::string& field, const json::Value& value, std::string_view expected);
Failure unknown_key(std::string_view parent, const std::string& key, const std::vector<std::string_view>& known);
Result<void> check_keys(const json::Value& object, std::string_view parent, const std::vector<std::string_view>& known);
// A number of cache ways, at least `least`; nullopt if the key is absent or null, which RMD treats as absent.
Result<std::optional<uint32_t>> parse_ways(const json::Value& object, std::string_view parent, std::string_view key,
                                           uint32_t least = 0);
// `code` of the object, likewise; null means 0, no ways for code alone.
Result<std::optional<uint32_t>> parse_code_ways(const json::Value& object, std::string_view parent);

}  // namespace nrd::v1
