#include "cli/onload/preloaded.h"

#include <sys/stat.h>
#include <unistd.h>

#include "hw/onload/trusted_dir.h"

namespace nrd::cli {
namespace {

constexpr std::string_view kLibrary = "/libonload.so";
constexpr std::string_view kSeparators = ": \t\n";  // of LD_PRELOAD: what holds one is more than one library

Failure not_preloaded(const std::string& path, const std::string& why) {
  return fail(ErrorCode::BadRequest, "nrd names " + path + " as the library to preload, which is not done: " + why);
}

}  // namespace

Result<void> check_library(const std::string& path) {
  if (!path.ends_with(kLibrary) || path.find_first_of(kSeparators) != std::string::npos) {
    return not_preloaded(path, "this is not the path of one libonload.so");
  }
  const Result<UniqueFd> file = onload::open_trusted_file({}, path);
  if (file) return {};
  return not_preloaded(path, file.error().message + " (" + file.error().detail + ")");
}

Result<void> check_preload(const std::string& preload, const std::string& own) {
  if (preload == own) return {};
  const bool is_merged = !own.empty() && preload.ends_with(":" + own);
  return check_library(is_merged ? preload.substr(0, preload.size() - own.size() - 1) : preload);
}

Result<void> check_server(const Client& client) {
  if (::geteuid() != 0) return {};
  if (!client.is_local()) {
    if (client.is_encrypted()) return {};
    return fail(ErrorCode::BadRequest,
                "as root this needs the Unix socket or --url https://HOST:PORT: over plain HTTP anybody may answer");
  }
  struct stat what = {};
  // One that is not there, or in a folder that vanished, cannot be reached either.
  if (::stat(client.socket().c_str(), &what) != 0 || what.st_uid == 0) return {};
  return fail(ErrorCode::BadRequest,
              "the socket " + client.socket() + " does not belong to root, so anybody may answer there");
}

}  // namespace nrd::cli
