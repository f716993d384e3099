// Objects that clients send and read, by the description of their members (fields.h):
//
//   {"max": 3, "code": null}   Partial: max = 3, code = 0
//   {"mx": 3}                  BadRequest /cache/mx: unknown key "mx"; did you mean "max"?
//   {"max": "3"}               BadRequest /cache/max: expected a whole number of ways, found "3"
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/joined.h"
#include "base/json/fields.h"
#include "base/json/object.h"
#include "base/json/partial.h"
#include "base/json/validation.h"

namespace nrd::json {

// Calls `visit` with each field and its number.
template <Described T, typename Visit>
void for_each_field(Visit visit) {
  uint32_t number = 0;
  std::apply([&](const auto&... field) { (visit(field, number++), ...); }, kFields<T>);
}

template <typename T>
bool has(const Partial<T>& partial, std::string_view name) {
  bool has = false;
  for_each_field<T>(
      [&](const auto& field, uint32_t i) { has |= field.name == name && (partial.given >> i & 1U) != 0; });
  return has;
}

template <typename T>
void assign(const Partial<T>& partial, T& whole) {
  for_each_field<T>([&](const auto& field, uint32_t i) {
    if ((partial.given >> i & 1U) != 0) field.set(whole, partial.values.*field.member);
  });
}

template <typename T>
struct WithoutOptional {
  using Type = T;
};
template <typename T>
struct WithoutOptional<std::optional<T>> {
  using Type = T;
};

// As clients write it: an object in place of the store's array for a map (fields.h).
template <typename T>
struct ClientCodec : Codec<T> {};

template <typename T>
struct ClientCodec<std::map<std::string, T>> {
  using Map = std::map<std::string, T>;
  static Result<Map> read(const Value& value) {
    if (!value.is_object()) return mismatch("an object", value);
    Map map;
    for (const Member& member : value.members()) {
      Result<T> item = ClientCodec<T>::read(member.value);
      if (!item) return inside(member.key.substr(0, kQuoted), std::move(item).error());
      map.emplace(member.key, *std::move(item));
    }
    return map;
  }
  static void write(Writer& writer, const Map& map) { by_key(map, ClientCodec<T>::write)(writer); }
};

template <typename T>
bool counts_as_absent(const Value& value, Unset unset) {
  if (unset == Unset::Empty) return is_absent(value);
  const bool is_text = std::is_same_v<T, std::string> || std::is_enum_v<T>;
  return unset == Unset::Null && (value.is_null() || (is_text && value.as_string() && value.as_string()->empty()));
}

template <typename T>
std::string expected_of(const Rules& rules) {
  if (rules.expected != nullptr) return rules.expected;
  if constexpr (Named<T>) {
    return joined(kNames<T>, " or ", [](const auto& entry) { return quoted(entry.second); });
  }
  return "true or false";
}

template <typename T>
inline constexpr bool kIsCount = std::unsigned_integral<T> && !std::is_same_v<T, bool>;
template <typename Rep, typename Period>
inline constexpr bool kIsCount<std::chrono::duration<Rep, Period>> = true;

inline bool is_in_range(uint64_t number, const Rules& rules) { return number >= rules.least && number <= rules.most; }
template <typename Rep, typename Period>
bool is_in_range(std::chrono::duration<Rep, Period> time, const Rules& rules) {
  return time.count() >= 0 && is_in_range(static_cast<uint64_t>(time.count()), rules);
}

template <typename T>
Result<T> parse_value(const Value& value, const std::string& at, const Rules& rules) {
  Result<T> parsed = ClientCodec<T>::read(value);
  bool is_in_range = parsed.has_value();
  const std::string expected = expected_of<T>(rules);
  std::string allowed = expected;
  if (!parsed && !parsed.error().field.empty())  // of an item
    return fail_at(ErrorCode::BadRequest, at + parsed.error().field, parsed.error().message, std::move(allowed));
  if constexpr (kIsCount<T>) {
    is_in_range = parsed && json::is_in_range(*parsed, rules);
    allowed = std::to_string(rules.least) + " to " + std::to_string(rules.most);
  } else if constexpr (std::is_same_v<T, std::string>) {
    is_in_range = parsed && parsed->size() <= rules.most;
  }
  if (is_in_range) return parsed;
  if (rules.allowed != nullptr) allowed = rules.allowed;
  const std::string found = shown(value);
  Failure failure = fail_at(ErrorCode::BadRequest, at, "expected " + expected + ", found " + found, std::move(allowed));
  failure.value().subject = found;
  return failure;
}

// The members that `object` has. `at`: its JSON pointer.
template <Described T>
Result<Partial<T>> parse_members(const Value& object, const std::string& at) {
  TRY(require_object(at, object, kExample<T>));
  std::vector<std::string_view> names;
  for_each_field<T>([&](const auto& field, uint32_t) { names.emplace_back(field.name); });
  TRY(check_keys(object, at, names));
  Partial<T> parsed;
  Result<void> done;
  for_each_field<T>([&](const auto& field, uint32_t i) {
    using Type = typename WithoutOptional<typename std::remove_cvref_t<decltype(field)>::Type>::Type;
    const Value* found = object.find(field.name);
    if (!done || !found || counts_as_absent<Type>(*found, field.rules.unset)) return;
    parsed.given |= 1U << i;
    if (found->is_null() && field.rules.unset == Unset::NullIsDefault) return;
    Result<Type> value = parse_value<Type>(*found, pointer(at, field.name), field.rules);
    if (!value) return void(done = Failure(std::move(value).error()));
    field.set(parsed.values, *std::move(value));
  });
  if (!done) return Failure(done.error());
  return parsed;
}

// The first member that is required and not given, as an error at its JSON pointer below `at`.
template <Described T>
Result<void> check_whole(const Partial<T>& partial, const std::string& at) {
  Result<void> whole;
  for_each_field<T>([&](const auto& field, uint32_t i) {
    using Type = typename std::remove_cvref_t<decltype(field)>::Type;
    const bool is_required = field.rules.required && !field.has_default && !kIsOptional<Type>;
    if (!whole || !is_required || (partial.given >> i & 1U) != 0) return;
    whole = fail_at(ErrorCode::BadRequest, pointer(at, field.name), "is missing", expected_of<Type>(field.rules));
  });
  return whole;
}

template <Described T>
bool is_whole(const Partial<T>& partial) {
  return check_whole(partial, "").has_value();
}

// The members that `object` has, and the defaults of the others that may be absent.
template <Described T>
Result<T> parse_whole(const Value& object, const std::string& at) {
  Partial<T> parsed = TRY(parse_members<T>(object, at));
  TRY(check_whole(parsed, at));
  return std::move(parsed.values);
}

// A member of `object`, which is the whole body; `otherwise` if it is absent.
template <typename T>
Result<T> parse_member(const Value& object, std::string_view key, T otherwise, const Rules& rules = {}) {
  const Value* found = object.find(key);
  return found ? parse_value<T>(*found, pointer("", key), rules) : Result<T>(std::move(otherwise));
}

// An object with all members but empty texts.
template <Described T>
void write_whole_object(Writer& w, const T& value) {
  w.begin_object();
  for_each_field<T>([&](const auto& field, uint32_t) {
    using Type = typename std::remove_cvref_t<decltype(field)>::Type;
    if constexpr (std::is_same_v<Type, std::string>) {
      if ((value.*field.member).empty()) return;
    }
    ClientCodec<Type>::write(w.key(field.name), value.*field.member);
  });
  w.end_object();
}

// An object without the members that have their defaults.
template <Described T>
void write_object(Writer& w, const T& value) {
  w.begin_object();
  for_each_field<T>([&](const auto& field, uint32_t) {
    if (field.is_written(value)) write(w.key(field.name), value.*field.member);
  });
  w.end_object();
}

}  // namespace nrd::json
