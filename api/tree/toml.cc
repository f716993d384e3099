#include <fmt/core.h>
#include <toml++/toml.h>

#include <array>
#include <charconv>
#include <cmath>

#include "api/tree/tree.h"
#include "base/split.h"

namespace nrd::tree {
namespace {

using json::Value;

class Converter {
 public:
  Converter(const std::string& name, KeyCase keys) : name_(name), keys_(keys) {}

  Result<Value> convert(const toml::node& node, size_t depth) {
    if (depth > kTreeDepth) return at(node, "nested too deeply");
    if (++values_ > kTreeValues) return at(node, "too many values");
    if (const toml::table* table = node.as_table()) return object(*table, depth);
    if (const toml::array* array = node.as_array())
      return array_of(*array, [&](const toml::node& item) { return convert(item, depth + 1); });
    if (const auto* text = node.as_string()) return Value::string(text->get());
    if (const auto* whole = node.as_integer()) return Value::number(std::to_string(whole->get()));
    if (const auto* flag = node.as_boolean()) return Value::boolean(flag->get());
    if (const auto* number = node.as_floating_point(); number && std::isfinite(number->get())) {
      std::array<char, 32> digits{};
      const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number->get());
      if (error == std::errc()) return Value::number(std::string(digits.data(), end));
    }
    return at(node, "expected a string, number or boolean");
  }

 private:
  Failure at(const toml::node& node, const std::string& problem) const {
    return at_line(name_, node.source().begin.line, problem);
  }

  Result<Value> object(const toml::table& table, size_t depth) {
    std::vector<json::Member> members;
    for (const auto& [key, node] : table) {
      Result<Value> value = convert(node, depth + 1);
      if (!value) return value;
      if (!add_member(members, key.str(), *std::move(value), keys_)) {
        return at(node, std::string(key.str()) + " is there twice, in another case");
      }
    }
    return Value::object(std::move(members));
  }

  const std::string& name_;
  const KeyCase keys_;
  size_t values_ = 0;
};

}  // namespace

Result<void> check_lines(std::string_view text, const std::string& name) {
  constexpr size_t kLineBytes = 4096;
  for (size_t line = 1; !text.empty(); ++line) {
    const bool is_too_long = take_until(text, '\n').size() > kLineBytes;
    if (is_too_long) return at_line(name, line, fmt::format("more than {} bytes", kLineBytes));
  }
  return {};
}

Result<Value> of_toml(const std::string& text, const std::string& name, KeyCase keys) {
  TRY(check_lines(text, name));
  try {
    return Converter(name, keys).convert(toml::parse(text, name), 0);
  } catch (const toml::parse_error& error) {
    return at_line(name, error.source().begin.line, std::string(error.description()));
  }
}

}  // namespace nrd::tree
