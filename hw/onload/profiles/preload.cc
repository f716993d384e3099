#include "hw/onload/profiles/preload.h"

#include <algorithm>

namespace nrd::profiles {
namespace {

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string merge_preload(std::string_view before, std::string_view library) {
  constexpr std::string_view kSeparators = ": ";
  std::string_view rest = before;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(kSeparators), rest.size());
    if (file_of(rest.substr(0, end)) == file_of(library)) return std::string(before);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string merged(library);
  if (before.find_first_not_of(kSeparators) != std::string_view::npos) merged.append(":").append(before);
  return merged;
}

}  // namespace nrd::profiles
