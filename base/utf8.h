// Characters in UTF-8 (RFC 3629, section 4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nrd {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  // in bytes; 0: the text does not begin with a character
};

// The character that `text`, which is not empty, begins with. Overlong forms and surrogates are none.
constexpr CodePoint first_code_point(std::string_view text) {
  constexpr std::array<uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};  // by length
  const auto byte = [&text](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf8 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (length == 0 || text.size() < length) return {};
  uint32_t value = lead & (0x7fU >> length);
  for (size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return {};
    value = (value << 6) | (byte(at) & 0x3fU);
  }
  if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return {};
  return {value, length};
}

}  // namespace nrd
