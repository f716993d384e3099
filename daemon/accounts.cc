#include "daemon/accounts.h"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <vector>

#include "base/errno_text.h"

namespace nrd::daemon {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;  // for the names of all members of a group

// nullopt: no such name. `look` is getgrnam_r(3) or getpwnam_r(3).
template <typename Entry, typename Look>
Result<std::optional<Entry>> find(const std::string& name, Look look) {
  Entry entry{};
  Entry* found = nullptr;
  std::vector<char> buffer(4096);
  int error = 0;
  while ((error = look(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
         buffer.size() < kMostBytes) {
    buffer.resize(buffer.size() * 2);
  }
  if (found != nullptr) return entry;
  if (error == 0) return std::nullopt;
  return fail(ErrorCode::Internal, name + ": account lookup failed", errno_text(error));
}

}  // namespace

Result<std::optional<uid_t>> find_user(const std::string& name) {
  const auto entry = TRY(find<passwd>(name, ::getpwnam_r));
  return entry ? std::optional(entry->pw_uid) : std::nullopt;
}

Result<std::optional<gid_t>> find_group(const std::string& name) {
  const auto entry = TRY(find<group>(name, ::getgrnam_r));
  return entry ? std::optional(entry->gr_gid) : std::nullopt;
}

Result<std::optional<id_t>> find_account(const std::string& name, const std::string& key) {
  const auto found = name.starts_with('@') ? find_group(name.substr(1)) : find_user(name);
  return found.map_error([&](const Error& error) {
    return Error{.code = ErrorCode::Busy,
                 .field = key,
                 .message = fmt::format("{}: {} cannot be looked up now; try again", key, name),
                 .detail = error.detail};
  });
}

}  // namespace nrd::daemon
