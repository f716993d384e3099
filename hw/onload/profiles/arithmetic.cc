#include "hw/onload/profiles/arithmetic.h"

#include <fmt/core.h>

#include <limits>

#include "base/number.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::profiles {
namespace {

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

Parsed<int64_t> number_in(const std::string& name, const ValueOf& value_of, const Location& location) {
  const std::optional<std::string> value = value_of(name);
  if (!value) return wrong(location, name + " is not set");
  const bool negative = value->starts_with('-');
  const std::optional<int64_t> number = parse_c_number(std::string_view(*value).substr(negative ? 1 : 0));
  if (!number) return wrong(location, fmt::format("arithmetic: {} is {}, not a 64-bit integer", name, shown(*value)));
  return negative ? -*number : *number;
}

// Reads an expression and computes its value; without values of variables it only reads.
//
// sum = product { ("+" | "-") product }, product = signed { ("*" | "/" | "%") signed },
// signed = { "+" | "-" } ( number | name | "(" sum ")" )
class Parser {
 public:
  Parser(std::string_view text, const ValueOf& value_of, const Location& location)
      : text_(text), value_of_(value_of), location_(location) {}

  Parsed<int64_t> parse() {
    const int64_t result = TRY(sum());
    skip_blanks();
    if (!text_.substr(at_).starts_with("))")) return unexpected_here("an operator or `))`");
    at_ += 2;
    return result;
  }
  std::string_view read() const { return text_.substr(0, at_); }

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
    if (at_ >= text_.size()) return wrong(location_, "`$((` is not closed by `))`");
    if (kOfShells.find(here()) != std::string_view::npos)
      return needs_shell(location_, shown({&text_[at_], 1}) + " in arithmetic");
    return wrong(location_, fmt::format("arithmetic: expected {} before {}", wanted, shown(text_.substr(at_, 10))));
  }

  // Consumes one of `operators`; '\0': none. Doubled operators ("**", "--") have other meanings in some shells.
  Parsed<char> take_operator(std::string_view operators) {
    skip_blanks();
    const char found = here();
    if (found == '\0' || operators.find(found) == std::string_view::npos) return '\0';
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (next == '=' || (next == found && found != '/' && found != '%')) {
      return needs_shell(location_, shown(text_.substr(at_, 2)) + " in arithmetic");
    }
    ++at_;
    return found;
  }

  Parsed<int64_t> applied(char op, int64_t left, int64_t right) const {
    if (!value_of_) return 0;
    const bool divides = op == '/' || op == '%';
    if (divides && right == 0) return wrong(location_, "arithmetic: division by zero");
    bool overflows = divides && left == std::numeric_limits<int64_t>::min() && right == -1;
    int64_t result = 0;
    switch (op) {
      case '+': overflows = __builtin_add_overflow(left, right, &result); break;
      case '-': overflows = __builtin_sub_overflow(left, right, &result); break;
      case '*': overflows = __builtin_mul_overflow(left, right, &result); break;
      default:
        if (!overflows) result = op == '/' ? left / right : left % right;
    }
    if (overflows) return wrong(location_, "arithmetic: the result does not fit in 64 bits");
    return result;
  }

  Parsed<int64_t> chain(std::string_view operators, Parsed<int64_t> (Parser::*part)()) {
    int64_t left = TRY((this->*part)());
    for (;;) {
      const char op = TRY(take_operator(operators));
      if (op == '\0') return left;
      const int64_t right = TRY((this->*part)());
      left = TRY(applied(op, left, right));
    }
  }

  Parsed<int64_t> sum() { return chain("+-", &Parser::product); }
  Parsed<int64_t> product() { return chain("*/%", &Parser::signed_operand); }

  Parsed<int64_t> signed_operand() {
    const char sign = TRY(take_operator("+-"));
    if (sign == '\0') return operand();
    const int64_t value = TRY(deeper(&Parser::signed_operand));
    return sign == '-' ? applied('-', 0, value) : value;
  }

  Parsed<int64_t> operand() {
    if (here() == '(') {
      ++at_;
      const int64_t value = TRY(deeper(&Parser::sum));
      skip_blanks();
      if (here() != ')') return unexpected_here("an operator or `)`");
      ++at_;
      return value;
    }
    if (here() >= '0' && here() <= '9') return number();
    return name();
  }

  Parsed<int64_t> deeper(Parsed<int64_t> (Parser::*part)()) {
    if (depth_ == kArithmeticDepth)
      return wrong(location_, "arithmetic: parentheses and signs are nested deeper than 32");
    ++depth_;
    Parsed<int64_t> value = (this->*part)();
    --depth_;
    return value;
  }

  Parsed<int64_t> number() {
    const std::string_view digits = take_name();
    const std::optional<int64_t> number = parse_c_number(digits);
    if (!number) return wrong(location_, fmt::format("arithmetic: {} is not a 64-bit integer", shown(digits)));
    return *number;
  }

  // NAME, $NAME or ${NAME}.
  Parsed<int64_t> name() {
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
    if (!value_of_) return 0;
    return number_in(std::string(name), value_of_, location_);
  }

  const std::string_view text_;
  const ValueOf& value_of_;
  const Location& location_;
  size_t at_ = 0;
  unsigned depth_ = 0;
};

}  // namespace

Parsed<Arithmetic> parse_arithmetic(std::string_view text, const Location& location) {
  const ValueOf none;
  Parser parser(text, none, location);
  TRY(parser.parse());
  return Arithmetic{std::string(parser.read())};
}

Parsed<int64_t> result_of(const Arithmetic& arithmetic, const ValueOf& value_of, const Location& location) {
  return Parser(arithmetic.text, value_of, location).parse();
}

}  // namespace nrd::profiles
