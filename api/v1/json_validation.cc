#include "api/v1/json_validation.h"

#include <algorithm>
#include <limits>

#include "api/routing/suggestions.h"
#include "base/json/writer.h"

namespace nrd::v1 {

using json::Value;

bool is_absent(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null: return true;
    case Value::Kind::Bool: return false;
    case Value::Kind::Number: return value.as_double() == 0.0;
    case Value::Kind::String: return value.as_string()->empty();
    case Value::Kind::Array: return value.items().empty();
    case Value::Kind::Object:
      return std::all_of(value.members().begin(), value.members().end(),
                         [](const json::Member& member) { return is_absent(member.value); });
  }
  return false;
}

std::string shown(const Value& value) {
  if (const std::string* text = value.as_string()) return json::quoted(*text, json::kQuoted);
  if (const std::string* literal = value.literal()) return literal->substr(0, json::kQuoted);
  return json::name_of(value.kind());
}

Failure wrong_type(std::string field, const Value& value, std::string_view expected) {
  return fail_at(ErrorCode::BadRequest, std::move(field),
                 "expected " + std::string(expected) + ", found " + json::name_of(value.kind()), std::string(expected));
}

Result<void> require_object(const std::string& field, const Value& value, std::string_view expected) {
  if (!value.is_object()) return wrong_type(field, value, expected);
  return {};
}

Failure unknown_key(std::string_view parent, const std::string& key, const std::vector<std::string_view>& known) {
  const std::string guess(routing::closest(key, known));
  return fail_at(ErrorCode::BadRequest, json::pointer(parent, key.substr(0, json::kQuoted)),
                 "unknown key " + json::quoted(key, json::kQuoted) + "; did you mean \"" + guess + "\"?", guess);
}

Result<void> check_keys(const Value& object, std::string_view parent, const std::vector<std::string_view>& known) {
  for (const json::Member& member : object.members()) {
    if (std::find(known.begin(), known.end(), member.key) == known.end()) return unknown_key(parent, member.key, known);
  }
  return {};
}

Result<std::optional<uint32_t>> parse_ways(const Value& object, std::string_view parent, std::string_view key,
                                           uint32_t least) {
  const Value* value = object.find(key);
  if (!value || value->is_null()) return std::optional<uint32_t>();
  const std::optional<uint64_t> ways = value->as_unsigned();
  if (ways && *ways >= least && *ways <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(*ways);
  return fail_at(ErrorCode::BadRequest, json::pointer(parent, key),
                 "expected a whole number of ways, found " + shown(*value), std::to_string(least) + " to 4294967295");
}

Result<std::optional<uint32_t>> parse_code_ways(const Value& object, std::string_view parent) {
  constexpr std::string_view kCode = "code";
  const Value* value = object.find(kCode);
  return value && value->is_null() ? std::optional<uint32_t>(0) : parse_ways(object, parent, kCode);
}

}  // namespace nrd::v1
