// $(( … )) in profiles without a shell: + - * / % and parentheses on 64-bit integers and variables.
//
// A shell substitutes variables as text before parsing; here a variable stands for its numeric value. Overflow, which
// wraps around in a shell, is refused.
//
//   $(( (180000*16) / $num_workers ))
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hw/onload/profiles/outcome.h"

namespace nrd::profiles {

// Nesting of parentheses and signs.
constexpr unsigned kArithmeticDepth = 32;

// Valid; from behind "$((" to "))".
struct Arithmetic {
  std::string text;
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

// The expression at the front of `text`, which begins after "$((". Any other operator needs a shell.
Parsed<Arithmetic> parse_arithmetic(std::string_view text, const Location& location);

// The value of a variable; nullopt: not set.
using ValueOf = std::function<std::optional<std::string>(const std::string& name)>;

// An error: an unset or non-numeric variable, division by zero, overflow.
Parsed<int64_t> result_of(const Arithmetic& arithmetic, const ValueOf& value_of, const Location& location);

}  // namespace nrd::profiles
