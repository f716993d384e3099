// An immutable JSON document, created by parse() in reader.h.
//
// A number keeps its literal: 2 and 2.0 differ, and 4294967296 is not rounded. An accessor of the wrong type returns
// nullopt or an empty list. An object keeps the order of its members; no key occurs twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nrd::json {

struct Member;

class Value {
 public:
  enum class Kind { Null, Bool, Number, String, Array, Object };

  static Value null();
  static Value boolean(bool value);
  static Value number(std::string literal);
  static Value string(std::string text);
  static Value array(std::vector<Value> items);
  static Value object(std::vector<Member> members);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::Null; }
  bool is_object() const { return kind_ == Kind::Object; }

  std::optional<bool> as_bool() const;
  const std::string* as_string() const { return kind_ == Kind::String ? &text_ : nullptr; }
  // Digits only: a sign, a fraction, an exponent or more than 64 bits give nullopt.
  std::optional<uint64_t> as_unsigned() const;
  // Any finite number.
  std::optional<double> as_double() const;
  const std::string* literal() const { return kind_ == Kind::Number ? &text_ : nullptr; }

  const std::vector<Value>& items() const { return items_; }       // of an array
  const std::vector<Member>& members() const { return members_; }  // of an object
  const Value* find(std::string_view key) const;

  friend bool operator==(const Value&, const Value&);

 private:
  explicit Value(Kind kind);  // not inline: clang 14 wants Member complete

  Kind kind_;
  bool bool_ = false;
  std::string text_;  // of a string; of a number its literal
  std::vector<Value> items_;
  std::vector<Member> members_;
};

struct Member {
  std::string key;
  Value value;
  friend bool operator==(const Member&, const Member&) = default;
};

// "a string", "an object": for messages.
const char* name_of(Value::Kind kind);

// The JSON pointer (RFC 6901) of `key` within what `parent` points to: "/a~1b" for the key "a/b" of the root.
std::string pointer(std::string_view parent, std::string_view key);
std::string pointer(std::string_view parent, size_t index);

}  // namespace nrd::json
