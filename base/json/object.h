// Writes objects and arrays whole, so that no begin lacks its end:
//
//   json::document({{"id", module.id}, {"reason", json::given(reason)}, {"steps", json::array(steps, write_step)}})
//     {"id":3,"steps":[{"act":"insert"}]}
//
// A value is a text, whatever json::write() takes, or a function that writes it. Entries refer to their values: use
// them in the expression that makes them.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/json/fields.h"
#include "base/json/writer.h"

namespace nrd::json {

// Omits the member if the value is empty or absent.
template <typename T>
struct Given {
  const T& value;
};
template <typename T>
Given<T> given(const T& value) {
  return {value};
}
template <typename T>
inline constexpr bool kIsGiven = false;
template <typename T>
inline constexpr bool kIsGiven<Given<T>> = true;

template <typename T>
bool is_absent(const T& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return !value;
  }
}

template <typename T>
void write_any(Writer& writer, const T& value) {
  if constexpr (std::is_invocable_v<const T&, Writer&>) {
    value(writer);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    writer.string(value);
  } else {
    write(writer, value);
  }
}

class Entry {
 public:
  template <typename T>
  Entry(std::string_view key, const T& value) : key_(key), value_(&value), write_(&write_member<T>) {}
  void write(Writer& writer) const { write_(writer, key_, value_); }

 private:
  template <typename T>
  static void write_member(Writer& writer, std::string_view key, const void* untyped) {
    const T& value = *static_cast<const T*>(untyped);
    if constexpr (kIsGiven<T>) {
      if (is_absent(value.value)) return;
      write_any(writer.key(key), value.value);
    } else {
      write_any(writer.key(key), value);
    }
  }

  std::string_view key_;
  const void* value_;
  void (*write_)(Writer&, std::string_view, const void*);
};

inline void write_members(Writer& writer, std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) entry.write(writer);
}

inline void write_object(Writer& writer, std::initializer_list<Entry> entries) {
  writer.begin_object();
  write_members(writer, entries);
  writer.end_object();
}

// What `write` writes.
template <std::invocable<Writer&> Write>
std::string document(const Write& write) {
  Writer writer;
  write(writer);
  return writer.take();
}

inline std::string document(std::initializer_list<Entry> entries) {
  return document([entries](Writer& writer) { write_object(writer, entries); });
}

struct WriteItem {
  void operator()(Writer& writer, const auto& item) const { write_any(writer, item); }
};

// An array with an element for each item.
template <typename Items, typename Each = WriteItem>
auto array(const Items& items, Each each = {}) {
  return [&items, each](Writer& writer) {
    writer.begin_array();
    for (const auto& item : items) each(writer, item);
    writer.end_array();
  };
}

// A map as an object; its keys are the names of the members.
template <typename Map, typename Each = WriteItem>
auto by_key(const Map& map, Each each = {}) {
  return [&map, each](Writer& writer) {
    writer.begin_object();
    for (const auto& [key, value] : map) each(writer.key(key), value);
    writer.end_object();
  };
}

// What a std::optional or a pointer has; null if it has nothing.
template <typename Maybe, typename Each>
auto or_null(const Maybe& value, Each each) {
  return [&value, each](Writer& writer) { value ? void(each(writer, *value)) : void(writer.null()); };
}

// null for an empty text.
inline std::optional<std::string> or_null(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace nrd::json
