#include "base/json/value.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/number.h"

namespace nrd::json {

Value::Value(Kind kind) : kind_(kind) {}

Value Value::null() { return Value(Kind::Null); }

Value Value::boolean(bool value) {
  Value made(Kind::Bool);
  made.bool_ = value;
  return made;
}

Value Value::number(std::string literal) {
  Value made(Kind::Number);
  made.text_ = std::move(literal);
  return made;
}

Value Value::string(std::string text) {
  Value made(Kind::String);
  made.text_ = std::move(text);
  return made;
}

Value Value::array(std::vector<Value> items) {
  Value made(Kind::Array);
  made.items_ = std::move(items);
  return made;
}

Value Value::object(std::vector<Member> members) {
  Value made(Kind::Object);
  made.members_ = std::move(members);
  return made;
}

std::optional<bool> Value::as_bool() const {
  if (kind_ != Kind::Bool) return std::nullopt;
  return bool_;
}

std::optional<uint64_t> Value::as_unsigned() const {
  if (kind_ != Kind::Number) return std::nullopt;
  return parse_number<uint64_t>(text_);
}

std::optional<double> Value::as_double() const {
  if (kind_ != Kind::Number) return std::nullopt;
  double number = 0;
  const char* end = text_.data() + text_.size();
  const auto [rest, error] = std::from_chars(text_.data(), end, number);
  if (error != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool operator==(const Value& a, const Value& b) {
  return a.kind_ == b.kind_ && a.bool_ == b.bool_ && a.text_ == b.text_ && a.items_ == b.items_ &&
         a.members_ == b.members_;
}

const char* name_of(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Null: return "null";
    case Value::Kind::Bool: return "a boolean";
    case Value::Kind::Number: return "a number";
    case Value::Kind::String: return "a string";
    case Value::Kind::Array: return "an array";
    case Value::Kind::Object: return "an object";
  }
  return "";
}

std::string pointer(std::string_view parent, std::string_view key) {
  std::string text(parent);
  text += '/';
  for (const char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

std::string pointer(std::string_view parent, size_t index) { return fmt::format("{}/{}", parent, index); }

}  // namespace nrd::json
