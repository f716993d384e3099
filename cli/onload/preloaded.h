// Checks the library that the server wants preloaded: code that will run as the calling user.
//
// The response alone is not trusted. The library must meet the rules that nrd applies itself
// (hw/onload/trusted_dir.h): a regular file libonload.so owned by root, on a path that only root can write. Any
// thread.
#pragma once

#include <string>

#include "base/result.h"

namespace nrd::cli {

// BadRequest with the reason.
Result<void> check_library(const std::string& path);
// The same check for an LD_PRELOAD value from the server: the caller's `own` value with one library in front, or the
// library alone.
Result<void> check_preload(const std::string& preload, const std::string& own);

}  // namespace nrd::cli
