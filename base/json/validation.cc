#include "base/json/validation.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/joined.h"
#include "base/json/writer.h"
#include "base/suggestions.h"

namespace nrd::json {

bool is_absent(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null: return true;
    case Value::Kind::Bool: return false;
    case Value::Kind::Number: return value.as_double() == 0.0;
    case Value::Kind::String: return value.as_string()->empty();
    case Value::Kind::Array: return value.items().empty();
    case Value::Kind::Object:
      return std::all_of(value.members().begin(), value.members().end(),
                         [](const Member& member) { return is_absent(member.value); });
  }
  return false;
}

std::string shown(const Value& value) {
  if (const std::string* text = value.as_string()) return quoted(*text, kQuoted);
  if (const std::string* literal = value.literal()) return literal->substr(0, kQuoted);
  return name_of(value.kind());
}

Failure wrong_type(std::string field, const Value& value, std::string_view expected) {
  return fail_at(ErrorCode::BadRequest, std::move(field),
                 fmt::format("expected {}, found {}", expected, name_of(value.kind())), std::string(expected));
}

Result<void> require_object(const std::string& field, const Value& value, std::string_view expected) {
  if (!value.is_object()) return wrong_type(field, value, expected);
  return {};
}

Failure unknown_key(std::string_view parent, const std::string& key, const std::vector<std::string_view>& known) {
  const std::string guess(closest(key, known));
  return fail_at(ErrorCode::BadRequest, pointer(parent, key.substr(0, kQuoted)),
                 fmt::format("unknown key {}{}", quoted(key, kQuoted), did_you_mean(guess, "\"", "\"")),
                 guess.empty() ? joined(known, ", ") : guess);
}

Result<void> check_keys(const Value& object, std::string_view parent, const std::vector<std::string_view>& known) {
  for (const Member& member : object.members()) {
    if (std::find(known.begin(), known.end(), member.key) == known.end()) return unknown_key(parent, member.key, known);
  }
  return {};
}

}  // namespace nrd::json
