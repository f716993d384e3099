#include "api/auth/basic.h"

#include <algorithm>
#include <cstdint>

#include "api/auth/pam_message.h"
#include "base/ascii.h"
#include "base/control.h"

namespace nrd::auth {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Decodes four digits, padding as zeros. nullopt for an invalid digit.
std::optional<uint32_t> value_of(std::string_view quad) {
  uint32_t value = 0;
  for (const char c : quad) {
    const size_t digit = c == '=' ? 0 : kAlphabet.find(c);
    if (digit == kAlphabet.npos) return std::nullopt;
    value = value << 6 | static_cast<uint32_t>(digit);
  }
  return value;
}

// Strict: padding is required, only at the end, and unused bits are 0.
std::optional<Secret> decoded(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.size() - 1 - text.find_last_not_of('=');
  if (padding > 2 || text.substr(0, text.size() - padding).find('=') != text.npos) return std::nullopt;
  Secret bytes(text.size() / 4 * 3);
  uint32_t value = 0;
  for (size_t i = 0; i < text.size(); i += 4) {
    const auto quad = value_of(text.substr(i, 4));
    if (!quad) return std::nullopt;
    value = *quad;
    char* to = bytes.bytes().data() + i / 4 * 3;
    for (int shift = 16; shift >= 0; shift -= 8) *to++ = static_cast<char>(value >> shift & 0xff);
  }
  if ((value & ((1U << 8 * padding) - 1)) != 0) return std::nullopt;
  bytes.shorten(bytes.view().size() - padding);
  return bytes;
}

}  // namespace

std::optional<Credentials> parse_basic(std::string_view header) {
  constexpr std::string_view kScheme = "basic ";
  if (lower_case(header.substr(0, kScheme.size())) != kScheme) return std::nullopt;
  header.remove_prefix(kScheme.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  const std::optional<Secret> pair = decoded(header);
  if (!pair || std::ranges::any_of(pair->view(), is_control)) return std::nullopt;
  const size_t colon = pair->view().find(':');
  if (colon == 0 || colon == std::string_view::npos || colon > kUserLimit) return std::nullopt;
  const std::string_view password = pair->view().substr(colon + 1);
  if (password.size() > kPasswordLimit) return std::nullopt;
  return Credentials{std::string(pair->view().substr(0, colon)), Secret(password)};
}

}  // namespace nrd::auth
