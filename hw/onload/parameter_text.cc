#include "hw/onload/parameter_text.h"

#include <cstdint>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "base/number.h"

namespace nrd::onload {
namespace {

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = lower_case(text);
  if (word == "y" || word == "yes" || word == "1" || word == "on") return true;
  if (word == "n" || word == "no" || word == "0" || word == "off") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_any_base(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  return parse_number<int64_t>(text, is_hex ? 16 : 10);
}

}  // namespace

bool says_same(std::string_view wanted, std::string_view shown) {
  if (wanted == shown) return true;
  if (shown == "Y" || shown == "N") return parse_bool(wanted) == (shown == "Y");
  const std::optional<int64_t> number = parse_any_base(wanted);
  return number && number == parse_any_base(shown);
}

}  // namespace nrd::onload
