#include "hw/onload/profiles/arithmetic.h"

#include <limits>

#include "base/number.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::profiles {
namespace {

using Kind = Step::Kind;

// In the syntax of C and the shell: 10, 0x1f, 017.
std::optional<int64_t> parse_c_number(std::string_view digits) {
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  if (digits.starts_with('-')) return std::nullopt;
  return parse_number<int64_t>(digits, base);
}

// sum = product { ("+" | "-") product }, product = signed { ("*" | "/" | "%") signed },
// signed = { "+" | "-" } ( number | name | "(" sum ")" )
class Parser {
 public:
  Parser(std::string_view text, const Place& place) : text_(text), place_(place) {}

  Parsed<ArithmeticText> parse() {
    TRY(sum());
    skip_blanks();
    if (!text_.substr(at_).starts_with("))")) return unexpected_here("an operator or `))`");
    return ArithmeticText{std::move(arithmetic_), at_ + 2};
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (here() == ' ' || here() == '\t' || here() == '\n') ++at_;
  }

  std::string_view take_name() {
    const size_t begin = at_;
    while (continues_name(here())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // An error, unless the text might be valid in a shell.
  tl::unexpected<Stop> unexpected_here(const std::string& wanted) const {
    constexpr std::string_view kOfShells = "=<>!~&|^?:,[]{}\"'`$\\#";
    if (at_ >= text_.size()) return wrong(place_, "`$((` is not closed by `))`");
    if (kOfShells.find(here()) != std::string_view::npos)
      return needs_shell(place_, shown({&text_[at_], 1}) + " in arithmetic");
    return wrong(place_, "arithmetic: expected " + wanted + " before " + shown(text_.substr(at_, 10)));
  }

  // Consumes one of `operators`; '\0': none. Doubled operators ("**", "--") have other meanings in some shells.
  Parsed<char> take_operator(std::string_view operators) {
    skip_blanks();
    const char found = here();
    if (found == '\0' || operators.find(found) == std::string_view::npos) return '\0';
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (next == '=' || (next == found && found != '/' && found != '%')) {
      return needs_shell(place_, shown(text_.substr(at_, 2)) + " in arithmetic");
    }
    ++at_;
    return found;
  }

  static Kind kind_of(char op) {
    switch (op) {
      case '+': return Kind::Add;
      case '-': return Kind::Subtract;
      case '*': return Kind::Multiply;
      case '/': return Kind::Divide;
      default: return Kind::Remainder;
    }
  }

  Parsed<void> chain(std::string_view operators, Parsed<void> (Parser::*part)()) {
    TRY((this->*part)());
    for (;;) {
      const char op = TRY(take_operator(operators));
      if (op == '\0') return {};
      TRY((this->*part)());
      arithmetic_.steps.push_back({.kind = kind_of(op)});
    }
  }

  Parsed<void> sum() { return chain("+-", &Parser::product); }
  Parsed<void> product() { return chain("*/%", &Parser::signed_operand); }

  Parsed<void> signed_operand() {
    const char sign = TRY(take_operator("+-"));
    if (sign == '\0') return operand();
    TRY(deeper(&Parser::signed_operand));
    if (sign == '-') arithmetic_.steps.push_back({.kind = Kind::Negate});
    return {};
  }

  Parsed<void> operand() {
    if (here() == '(') {
      ++at_;
      TRY(deeper(&Parser::sum));
      skip_blanks();
      if (here() != ')') return unexpected_here("an operator or `)`");
      ++at_;
      return {};
    }
    if (here() >= '0' && here() <= '9') return number();
    return name();
  }

  Parsed<void> deeper(Parsed<void> (Parser::*part)()) {
    if (depth_ == kArithmeticDepth) return wrong(place_, "arithmetic: parentheses and signs are nested deeper than 32");
    ++depth_;
    Parsed<void> read = (this->*part)();
    --depth_;
    return read;
  }

  Parsed<void> number() {
    const std::string_view digits = take_name();
    const std::optional<int64_t> number = parse_c_number(digits);
    if (!number) return wrong(place_, "arithmetic: " + shown(digits) + " is not a 64-bit integer");
    arithmetic_.steps.push_back({.kind = Kind::Number, .number = *number});
    return {};
  }

  // NAME, $NAME or ${NAME}.
  Parsed<void> name() {
    const size_t begin = at_;
    if (here() == '$') ++at_;
    const bool braced = at_ > begin && here() == '{';
    if (braced) ++at_;
    const std::string_view name = begins_name(here()) ? take_name() : std::string_view();
    const bool closed = !braced || here() == '}';
    if (name.empty() || !closed) {
      at_ = begin;
      return unexpected_here("a number, a name or `(`");
    }
    if (braced) ++at_;
    arithmetic_.steps.push_back({.kind = Kind::Name, .name = std::string(name)});
    return {};
  }

  const std::string_view text_;
  const Place& place_;
  size_t at_ = 0;
  unsigned depth_ = 0;
  Arithmetic arithmetic_;
};

// nullopt: overflow. `right` is not zero in divisions.
std::optional<int64_t> applied(Kind kind, int64_t left, int64_t right) {
  int64_t result = 0;
  const bool overflows_division = left == std::numeric_limits<int64_t>::min() && right == -1;
  switch (kind) {
    case Kind::Add: return __builtin_add_overflow(left, right, &result) ? std::nullopt : std::optional(result);
    case Kind::Negate:
    case Kind::Subtract: return __builtin_sub_overflow(left, right, &result) ? std::nullopt : std::optional(result);
    case Kind::Multiply: return __builtin_mul_overflow(left, right, &result) ? std::nullopt : std::optional(result);
    case Kind::Divide: return overflows_division ? std::nullopt : std::optional(left / right);
    case Kind::Remainder: return overflows_division ? std::nullopt : std::optional(left % right);
    case Kind::Number:
    case Kind::Name: break;
  }
  return std::nullopt;
}

Parsed<int64_t> number_in(const std::string& name, const ValueOf& value_of, const Place& place) {
  const std::optional<std::string> value = value_of(name);
  if (!value) return wrong(place, name + " is not set");
  const bool negative = value->starts_with('-');
  const std::optional<int64_t> number = parse_c_number(std::string_view(*value).substr(negative ? 1 : 0));
  if (!number) return wrong(place, "arithmetic: " + name + " is " + shown(*value) + ", not a 64-bit integer");
  return negative ? -*number : *number;
}

}  // namespace

Parsed<ArithmeticText> parse_arithmetic(std::string_view text, const Place& place) {
  return Parser(text, place).parse();
}

Parsed<int64_t> result_of(const Arithmetic& arithmetic, const ValueOf& value_of, const Place& place) {
  std::vector<int64_t> stack;
  for (const Step& step : arithmetic.steps) {
    if (step.kind == Kind::Number) {
      stack.push_back(step.number);
      continue;
    }
    if (step.kind == Kind::Name) {
      const int64_t number = TRY(number_in(step.name, value_of, place));
      stack.push_back(number);
      continue;
    }
    const int64_t right = stack.back();
    stack.pop_back();
    // Negation is subtraction from 0.
    const bool negates = step.kind == Kind::Negate;
    const int64_t left = negates ? 0 : stack.back();
    if (!negates) stack.pop_back();
    const bool divides = step.kind == Kind::Divide || step.kind == Kind::Remainder;
    if (divides && right == 0) return wrong(place, "arithmetic: division by zero");
    const std::optional<int64_t> result = applied(step.kind, left, right);
    if (!result) return wrong(place, "arithmetic: the result does not fit in 64 bits");
    stack.push_back(*result);
  }
  return stack.back();
}

}  // namespace nrd::profiles
