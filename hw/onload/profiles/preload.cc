#include "hw/onload/profiles/preload.h"

#include "base/split.h"

namespace nrd::profiles {
namespace {

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string merge_preload(std::string_view before, std::string_view library) {
  constexpr std::string_view kSeparators = ": ";
  for (const std::string_view present : split(before, kSeparators)) {
    if (file_of(present) == file_of(library)) return std::string(before);
  }
  std::string merged(library);
  if (before.find_first_not_of(kSeparators) != std::string_view::npos) merged.append(":").append(before);
  return merged;
}

}  // namespace nrd::profiles
