// Checks of JSON values and their error messages. Fields are JSON pointers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::json {

// True for "", {}, [], 0 and null, which encoders write for an unset field.
bool is_absent(const Value& value);
// For a message: the value if it is short, otherwise its kind.
std::string shown(const Value& value);
Failure wrong_type(std::string field, const Value& value, std::string_view expected);
Result<void> require_object(const std::string& field, const Value& value, std::string_view expected);
Failure unknown_key(std::string_view parent, const std::string& key, const std::vector<std::string_view>& known);
Result<void> check_keys(const Value& object, std::string_view parent, const std::vector<std::string_view>& known);

}  // namespace nrd::json
