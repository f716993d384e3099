// $(( … )) as a profile may use it without a shell: + - * / % and brackets on 64-bit whole numbers, and names.
//
// A shell first pastes the text of a name into the expression and then reads it; here a name stands for a number, the
// one that its value is. And where a shell wraps around, an overflow is refused: EF_MAX_PACKETS=-4 helps nobody.
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

// Brackets and signs within each other.
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
  size_t length = 0;  // of its text, with the closing "))"
};

// Reads what stands behind "$((". Operators of the shell that are not named above need a shell.
Read<ArithmeticText> parse_arithmetic(std::string_view text, const Place& place);

// The value of a name; nullopt: it has none.
using ValueOf = std::function<std::optional<std::string>(const std::string& name)>;

// Wrong: a name without a value or with one that is no number, a division by zero, a result beyond 64 bits.
Read<int64_t> result_of(const Arithmetic& arithmetic, const ValueOf& value_of, const Place& place);

}  // namespace nrd::profiles
