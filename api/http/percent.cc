#include "api/http/percent.h"

#include "base/number.h"

namespace nrd::http {
namespace {

std::optional<char> decoded_byte(std::string_view digits) {
  const auto byte = parse_number<unsigned>(digits, 16);
  if (digits.size() != 2 || !byte) return std::nullopt;
  return static_cast<char>(*byte);
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool is_encoded = text.front() == '%';
    const std::optional<char> c = is_encoded ? decoded_byte(text.substr(1, 2)) : text.front();
    if (!c || static_cast<unsigned char>(*c) < 0x20 || *c == 0x7f) return std::nullopt;
    out += *c;
    text.remove_prefix(is_encoded ? 3 : 1);
  }
  return out;
}

}  // namespace nrd::http
