// A short hash of a text: FNV-1a, 64 bits, and the size, in hexadecimal. It distinguishes texts of an honest client; it
// does not resist a client that searches for collisions.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace nrd {

inline std::string hash_of(std::string_view text) {
  // http://www.isthe.com/chongo/tech/comp/fnv/
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 40> written{};
  char* end = std::to_chars(written.data(), written.data() + written.size(), hash, 16).ptr;
  *end++ = '-';
  end = std::to_chars(end, written.data() + written.size(), text.size(), 16).ptr;
  return {written.data(), end};
}

}  // namespace nrd
