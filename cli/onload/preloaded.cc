#include "cli/onload/preloaded.h"

#include <fmt/core.h>

#include "hw/onload/trusted_dir.h"

namespace nrd::cli {
namespace {

constexpr std::string_view kLibrary = "/libonload.so";
constexpr std::string_view kSeparators =
    ": \t\n";  // separators in LD_PRELOAD: a path containing one would name several libraries

Failure not_preloaded(const std::string& path, const std::string& why) {
  return fail(ErrorCode::BadRequest, fmt::format("refusing to preload {} as requested by nrd: {}", path, why));
}

}  // namespace

Result<void> check_library(const std::string& path) {
  if (!path.ends_with(kLibrary) || path.find_first_of(kSeparators) != std::string::npos) {
    return not_preloaded(path, "not the path of a single libonload.so");
  }
  const Result<UniqueFd> file = onload::open_trusted_file({}, path);
  if (file) return {};
  return not_preloaded(path, fmt::format("{} ({})", file.error().message, file.error().detail));
}

Result<void> check_preload(const std::string& preload, const std::string& own) {
  if (preload == own) return {};
  const bool is_merged = !own.empty() && preload.ends_with(":" + own);
  return check_library(is_merged ? preload.substr(0, preload.size() - own.size() - 1) : preload);
}

}  // namespace nrd::cli
