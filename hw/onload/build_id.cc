#include "hw/onload/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/hex.h"

namespace nrd::onload {
namespace {

constexpr size_t kIdLimit = 64;
constexpr std::string_view kGnu("GNU\0", 4);

size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }

}  // namespace

std::optional<std::string> parse_build_id(std::string_view notes) {
  Elf64_Nhdr header{};
  while (notes.size() >= sizeof header) {
    std::memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    const size_t name_end = padded(header.n_namesz);
    if (name_end > notes.size() || header.n_descsz > notes.size() - name_end) return std::nullopt;
    const std::string_view name = notes.substr(0, header.n_namesz);
    const std::string_view id = notes.substr(name_end, header.n_descsz);
    if (header.n_type == NT_GNU_BUILD_ID && name == kGnu && !id.empty() && id.size() <= kIdLimit) return hex_of(id);
    notes.remove_prefix(std::min(notes.size(), name_end + padded(header.n_descsz)));
  }
  return std::nullopt;
}

}  // namespace nrd::onload
