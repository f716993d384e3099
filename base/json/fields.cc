#include "base/json/fields.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

namespace nrd::json {
namespace {

constexpr std::string_view kLevel2 = "L2:";

}  // namespace

Failure mismatch(const char* expected, const Value& found) {
  return fail(ErrorCode::BadRequest, fmt::format("expected {}, not {}", expected, name_of(found.kind())));
}

Failure inside(std::string_view name, Error error) {
  error.field = pointer({}, name) + error.field;
  return Failure(std::move(error));
}

Result<bool> Codec<bool>::read(const Value& value) {
  if (const std::optional<bool> found = value.as_bool()) return *found;
  return mismatch("a boolean", value);
}

Result<double> Codec<double>::read(const Value& value) {
  if (const std::optional<double> found = value.as_double()) return *found;
  return mismatch("a finite number", value);
}

void Codec<double>::write(Writer& writer, double value) {
  std::array<char, 32> digits{};  // the shortest that reads back equal has at most 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  writer.raw({digits.data(), end});
}

Result<std::string> Codec<std::string>::read(const Value& value) {
  if (const std::string* text = value.as_string()) return *text;
  return mismatch("a string", value);
}

// The reader refuses NUL.
void Codec<std::string>::write(Writer& writer, const std::string& text) {
  if (text.find('\0') == text.npos) return void(writer.string(text));
  std::string clean = text;
  std::ranges::replace(clean, '\0', ' ');
  writer.string(clean);
}

Result<CpuSet> Codec<CpuSet>::read(const Value& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return mismatch("a string", value);
  return text->empty() ? CpuSet() : CpuSet::parse(*text);
}

Result<WayMask> Codec<WayMask>::read(const Value& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return mismatch("a string", value);
  const std::optional<uint32_t> bits = parse_number<uint32_t>(*text, 16);
  if (bits && *bits != 0) return WayMask(*bits);
  return fail(ErrorCode::BadRequest, quoted(*text, 64) + " is not a mask of ways");
}

void Codec<Value>::write(Writer& writer, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null: writer.null(); break;
    case Value::Kind::Bool: writer.boolean(*value.as_bool()); break;
    case Value::Kind::Number: writer.raw(*value.literal()); break;
    case Value::Kind::String: writer.string(*value.as_string()); break;
    case Value::Kind::Array:
      writer.begin_array();
      for (const Value& item : value.items()) write(writer, item);
      writer.end_array();
      break;
    case Value::Kind::Object:
      writer.begin_object();
      for (const auto& [key, member] : value.members()) write(writer.key(key), member);
      writer.end_object();
      break;
  }
}

Result<CacheId> Codec<CacheId>::read(const Value& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return mismatch("a string", value);
  const bool is_l2 = text->starts_with(kLevel2);
  const auto number = parse_number<uint32_t>(std::string_view(*text).substr(is_l2 ? kLevel2.size() : 0));
  if (number) return CacheId{.level = is_l2 ? 2U : 3U, .value = *number};
  return fail(ErrorCode::BadRequest, quoted(*text, 64) + " is not a cache");
}

void Codec<CacheId>::write(Writer& writer, CacheId cache) {
  writer.string((cache.level == 2 ? std::string(kLevel2) : "") + std::to_string(cache.value));
}

}  // namespace nrd::json
