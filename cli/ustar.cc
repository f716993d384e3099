#include "cli/ustar.h"

#include <algorithm>
#include <numeric>

#include "base/invariant.h"

namespace nrd::cli {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kNameLength = 100;
constexpr size_t kChecksum = 148;
constexpr size_t kChecksumLength = 8;

void put(std::string& header, size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(at));
}

// Writes `digits` octal digits; a NUL follows.
void put_octal(std::string& header, size_t at, size_t digits, uint64_t number) {
  for (size_t i = digits; i > 0; --i, number >>= 3) header[at + i - 1] = static_cast<char>('0' + (number & 7));
  INVARIANT(number == 0);
}

}  // namespace

std::string ustar_member(std::string_view name, std::string_view content, uint64_t modified) {
  INVARIANT(name.size() < kNameLength);
  std::string member(kBlock, '\0');
  put(member, 0, name);
  put_octal(member, 100, 7, 0600);             // mode
  put_octal(member, 108, 7, 0);                // uid
  put_octal(member, 116, 7, 0);                // gid
  put_octal(member, 124, 11, content.size());  // size
  put_octal(member, 136, 11, modified);        // mtime
  member[156] = '0';                           // a regular file
  put(member, 257, std::string_view("ustar\00000", 8));
  // The sum of all header bytes, with the checksum field counted as blanks.
  put(member, kChecksum, std::string(kChecksumLength, ' '));
  const uint64_t sum = std::accumulate(member.begin(), member.end(), uint64_t{0},
                                       [](uint64_t all, char c) { return all + static_cast<unsigned char>(c); });
  put_octal(member, kChecksum, 6, sum);
  member[kChecksum + 6] = '\0';
  member += content;
  member.resize((member.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return member;
}

std::string ustar_end() { return std::string(2 * kBlock, '\0'); }

}  // namespace nrd::cli
