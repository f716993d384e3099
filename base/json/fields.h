// Reads and writes structs as JSON from one description of their members:
//
//   template <>
//   inline constexpr auto json::kFields<CacheRequest> = std::tuple(
//       json::Field("max", &CacheRequest::max), json::Field("min", &CacheRequest::min),
//       json::Field("code", &CacheRequest::code).or_default());
//
//   to_json(CacheRequest{.max = 3, .min = 1})              {"max":3,"min":1,"code":null}
//   from_json<CacheRequest>(R"({"max": 3, "min": "a"})")   BadRequest /min: expected a number, not a string
//
// The same description has the rules for clients (members.h) and the options of nrdctl (cli/declare_workload.h).
//
// Strict: a wrong type, a number out of range, an unknown name or a missing member is an error. Members that no field
// describes are skipped. All described members are written, absent ones as null, so that a JSON merge patch (RFC 7396)
// of an older text with a newer one removes what is gone and keeps what is unknown. A map is an array of [key, value],
// because such a merge could not remove a member.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/json/reader.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/number.h"
#include "base/owner.h"
#include "base/result.h"
#include "base/task.h"
#include "base/way_mask.h"

namespace nrd::json {

// What a client writes for a field that it does not set; for texts and names also "".
enum class Unset {
  Absent,         // nothing: null is refused
  Null,           // null counts as absent
  NullIsDefault,  // null sets the default
  Empty,          // "", {}, [], 0 and null count as absent
};

// What a client may write (members.h). The store does not check it.
struct Rules {
  const char* expected = nullptr;  // "a whole number above 0"; nullptr: the names of an enumeration, "true or false"
  const char* allowed = nullptr;   // for the error; nullptr: the range of a whole number, otherwise `expected`
  uint64_t least = 0;
  uint64_t most = UINT32_MAX;  // of a text: bytes
  Unset unset = Unset::Absent;
  bool required = true;  // in a whole object; false, or a field with or_default(): absent means the struct's default
};

// The option of nrdctl that sets a field: to its argument, or to `value` (JSON) if that is given.
struct Option {
  const char* flag = nullptr;
  const char* help = nullptr;
  const char* value = nullptr;
};

template <typename Member>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename Struct, typename Member, typename Unit = std::nullptr_t>
struct Field {
  using Type = Member;

  constexpr Field(const char* its_name, Member Struct::*its_member, const Rules& its_rules = {},
                  const Option& its_option = {})
      : name(its_name), stored_name(its_name), member(its_member), rules(its_rules), option(its_option) {}
  // Its name tells the unit: {"min_mhz": 2200} is min = 2200 and unit = Mhz.
  constexpr Field(const char* its_name, Member Struct::*its_member, Unit Struct::*its_unit_member, Unit its_unit,
                  const Rules& its_rules = {}, const Option& its_option = {})
      : Field(its_name, its_member, its_rules, its_option) {
    unit_member = its_unit_member;
    unit = its_unit;
  }
  // May be absent or null, which means the default of the struct.
  constexpr Field or_default() const {
    Field field = *this;
    field.has_default = true;
    return field;
  }
  // Its name in the store, where the one for clients came later.
  constexpr Field stored_as(const char* its_stored_name) const {
    Field field = *this;
    field.stored_name = its_stored_name;
    return field;
  }

  void set(Struct& into, Member value) const {
    into.*member = std::move(value);
    if constexpr (!std::is_null_pointer_v<Unit>) into.*unit_member = unit;
  }
  // False if the unit is another one, or the value is a default that may be absent.
  bool is_written(const Struct& value) const {
    static const Struct defaults{};
    if constexpr (!std::is_null_pointer_v<Unit>) {
      if (value.*unit_member != unit) return false;
    }
    return !(has_default || kIsOptional<Member>) || value.*member != defaults.*member;
  }

  const char* name;
  const char* stored_name;
  Member Struct::*member;
  Unit Struct::*unit_member = nullptr;
  Unit unit{};
  bool has_default = false;
  Rules rules{};
  Option option{};
};

// Of a struct: a std::tuple of its fields.
template <typename Struct>
inline constexpr auto kFields = nullptr;
// For errors: "an object such as {...}".
template <typename Struct>
inline constexpr const char* kExample = "an object";
// Of an enumeration: a std::array of pairs {enumerator, name}.
template <typename Enum>
inline constexpr auto kNames = nullptr;

template <typename Enum>
concept Named = requires {
  kNames<Enum>.size();
};

template <Named Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& [known, name] : kNames<Enum>) {
    if (known == value) return name;
  }
  return {};
}

template <Named Enum>
constexpr std::optional<Enum> parse_name(std::string_view text) {
  for (const auto& [value, name] : kNames<Enum>) {
    if (name == text) return value;
  }
  return std::nullopt;
}

// BadRequest: "expected a number, not a string".
Failure mismatch(const char* expected, const Value& found);
// `error` of the member or item with this name: prefixes its JSON pointer.
Failure inside(std::string_view name, Error error);

template <typename T>
struct Codec;

template <typename T>
Result<T> read(const Value& value) {
  return Codec<T>::read(value);
}

template <typename T>
void write(Writer& writer, const T& value) {
  Codec<T>::write(writer, value);
}

template <typename T>
Result<T> from_json(std::string_view text, size_t max_nodes = kMaxNodes) {
  return read<T>(TRY(parse(text, max_nodes)));
}

template <typename T>
std::string to_json(const T& value) {
  Writer writer;
  write(writer, value);
  return writer.take();
}

template <>
struct Codec<bool> {
  static Result<bool> read(const Value& value);
  static void write(Writer& writer, bool value) { writer.boolean(value); }
};

template <>
struct Codec<double> {
  static Result<double> read(const Value& value);
  static void write(Writer& writer, double value);
};

// UTF-8 without NUL: the writer replaces other bytes.
template <>
struct Codec<std::string> {
  static Result<std::string> read(const Value& value);
  static void write(Writer& writer, const std::string& text);
};

// In the kernel's list format: "0-3,8".
template <>
struct Codec<CpuSet> {
  static Result<CpuSet> read(const Value& value);
  static void write(Writer& writer, const CpuSet& cpus) { writer.string(cpus.to_string()); }
};

// As resctrl writes it: "7f0". Never empty.
template <>
struct Codec<WayMask> {
  static Result<WayMask> read(const Value& value);
  static void write(Writer& writer, WayMask ways) { writer.string(ways.hex()); }
};

// Its number as a string, "0"; "L2:0" of a secondary L2 cache.
template <>
struct Codec<CacheId> {
  static Result<CacheId> read(const Value& value);
  static void write(Writer& writer, CacheId cache);
};

// As it is.
template <>
struct Codec<Value> {
  static void write(Writer& writer, const Value& value);
};

template <std::integral T>
struct Codec<T> {
  static Result<T> read(const Value& value) {
    if (value.literal() == nullptr) return mismatch("a number", value);
    const std::string& literal = *value.literal();
    if (const std::optional<T> number = parse_number<T>(literal)) return *number;
    return fail(ErrorCode::BadRequest, "the number " + literal + " is out of range");
  }
  static void write(Writer& writer, T number) { writer.raw(std::to_string(number)); }
};

template <typename T>
requires std::is_enum_v<T>
struct Codec<T> {
  static Result<T> read(const Value& value) {
    const std::string* text = value.as_string();
    if (text == nullptr) return mismatch("a string", value);
    if (const std::optional<T> known = parse_name<T>(*text)) return *known;
    return fail(ErrorCode::BadRequest, "unknown name " + quoted(*text, 64));
  }
  static void write(Writer& writer, T value) { writer.string(name_of(value)); }
};

// A distinct type for an id or a unit (base/ids.h, base/units.h) is its number.
template <typename T>
concept Wrapped = std::is_aggregate_v<T> && requires(T t) {
  t.value;
} && sizeof(T) == sizeof(T::value);

template <Wrapped T>
struct Codec<T> {
  using Number = decltype(T::value);
  static Result<T> read(const Value& value) { return T{TRY(json::read<Number>(value))}; }
  static void write(Writer& writer, const T& wrapped) { json::write(writer, wrapped.value); }
};

template <typename Rep, typename Period>
struct Codec<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static Result<Duration> read(const Value& value) { return Duration(TRY(json::read<Rep>(value))); }
  static void write(Writer& writer, Duration duration) { json::write(writer, duration.count()); }
};

template <typename Duration>
struct Codec<std::chrono::sys_time<Duration>> {
  using Time = std::chrono::sys_time<Duration>;  // since 1970, UTC
  static Result<Time> read(const Value& value) { return Time(TRY(json::read<Duration>(value))); }
  static void write(Writer& writer, Time time) { json::write(writer, time.time_since_epoch()); }
};

template <typename T>
struct Codec<std::optional<T>> {
  static Result<std::optional<T>> read(const Value& value) {
    if (value.is_null()) return std::optional<T>();
    return std::optional<T>(TRY(json::read<T>(value)));
  }
  static void write(Writer& writer, const std::optional<T>& value) {
    value ? json::write(writer, *value) : void(writer.null());
  }
};

template <typename First, typename Second>
struct Codec<std::pair<First, Second>> {
  using Pair = std::pair<First, Second>;
  static Result<Pair> read(const Value& value) {
    if (value.kind() != Value::Kind::Array || value.items().size() != 2) return mismatch("an array of two", value);
    Result<First> first = json::read<First>(value.items()[0]);
    if (!first) return inside("0", std::move(first).error());
    Result<Second> second = json::read<Second>(value.items()[1]);
    if (!second) return inside("1", std::move(second).error());
    return Pair(*std::move(first), *std::move(second));
  }
  static void write(Writer& writer, const Pair& pair) {
    writer.begin_array();
    json::write(writer, pair.first);
    json::write(writer, pair.second);
    writer.end_array();
  }
};

// vector, set and map; a map or a set refuses an item that occurs twice.
template <typename Items, typename Item>
struct ArrayCodec {
  static Result<Items> read(const Value& value) {
    if (value.kind() != Value::Kind::Array) return mismatch("an array", value);
    Items items;
    for (size_t i = 0; i < value.items().size(); ++i) {
      Result<Item> item = json::read<Item>(value.items()[i]);
      if (!item) return inside(std::to_string(i), std::move(item).error());
      items.insert(items.end(), *std::move(item));
      if (items.size() != i + 1) {
        return inside(std::to_string(i), Error{ErrorCode::BadRequest, {}, "occurs twice", {}, {}, {}});
      }
    }
    return items;
  }
  static void write(Writer& writer, const Items& items) {
    writer.begin_array();
    for (const auto& item : items) json::write<Item>(writer, item);
    writer.end_array();
  }
};

template <typename T>
struct Codec<std::vector<T>> : ArrayCodec<std::vector<T>, T> {};
template <typename T>
struct Codec<std::set<T>> : ArrayCodec<std::set<T>, T> {};
template <typename Key, typename T>
struct Codec<std::map<Key, T>> : ArrayCodec<std::map<Key, T>, std::pair<Key, T>> {};

template <typename T>
concept Described = requires {
  std::tuple_size<std::remove_cvref_t<decltype(kFields<T>)>>::value;
};

template <Described T>
struct Codec<T> {
  static Result<T> read(const Value& value) {
    if (!value.is_object()) return mismatch("an object", value);
    T made{};
    Result<void> done;
    const auto read_all = [&](const auto&... field) { (... && (done = read_field(value, field, made)).has_value()); };
    std::apply(read_all, kFields<T>);
    if (!done) return Failure(done.error());
    return made;
  }
  static void write(Writer& writer, const T& value) {
    writer.begin_object();
    std::apply([&](const auto&... field) { (write_field(writer, field, value), ...); }, kFields<T>);
    writer.end_object();
  }

 private:
  // `Of`: T, or a base class of it.
  template <typename Of, typename Member, typename Unit>
  static Result<void> read_field(const Value& object, const Field<Of, Member, Unit>& field, T& into) {
    const Value* found = object.find(field.stored_name);
    if (found == nullptr || found->is_null()) {
      if (kIsOptional<Member> || field.has_default) return {};
      return inside(field.stored_name, Error{ErrorCode::BadRequest, {}, "is missing", {}, {}, {}});
    }
    Result<Member> member = json::read<Member>(*found);
    if (!member) return inside(field.stored_name, std::move(member).error());
    field.set(into, *std::move(member));
    return {};
  }

  template <typename Of, typename Member, typename Unit>
  static void write_field(Writer& writer, const Field<Of, Member, Unit>& field, const T& value) {
    writer.key(field.stored_name);
    field.is_written(value) ? json::write(writer, value.*field.member) : void(writer.null());
  }
};

template <>
inline constexpr auto kFields<Owner> = std::tuple(Field("pid", &Owner::pid), Field("start", &Owner::start),
                                                  Field("boot_id", &Owner::boot_id));
template <>
inline constexpr auto kFields<Task> = std::tuple(Field("id", &Task::id), Field("process", &Task::process),
                                                 Field("start", &Task::start), Field("boot_id", &Task::boot_id));

}  // namespace nrd::json
