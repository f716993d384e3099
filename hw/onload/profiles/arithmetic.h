// $(( … )) in profiles without a shell: + - * / % and parentheses on 64-bit integers and variables.
//
// A shell substitutes variables as text before parsing; here a variable stands for its numeric value. Overflow, which
// wraps around in a shell, is refused.
//
//   $(( (180000*16) / $num_workers ))  ->  180000 16 * num_workers /
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/onload/profiles/outcome.h"

namespace nrd::profiles {

// Nesting of parentheses and signs.
constexpr unsigned kArithmeticDepth = 32;

// One step of an expression in postfix order.
struct Step {
  enum class Kind { Number, Name, Negate, Add, Subtract, Multiply, Divide, Remainder };
  Kind kind = Kind::Number;
  int64_t number = 0;
  std::string name;
  friend bool operator==(const Step&, const Step&) = default;
};

struct Arithmetic {
  std::vector<Step> steps;
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

struct ArithmeticText {
  Arithmetic arithmetic;
  size_t length = 0;  // of the parsed text, including "))"
};

// Parses the text after "$((". Any other operator needs a shell.
Parsed<ArithmeticText> parse_arithmetic(std::string_view text, const Place& place);

// The value of a variable; nullopt: not set.
using ValueOf = std::function<std::optional<std::string>(const std::string& name)>;

// An error: an unset or non-numeric variable, division by zero, overflow.
Parsed<int64_t> result_of(const Arithmetic& arithmetic, const ValueOf& value_of, const Place& place);

}  // namespace nrd::profiles
