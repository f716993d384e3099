#include "hw/onload/profile_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/ascii.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/write_all.h"

namespace nrd::onload {
namespace {

constexpr size_t kFileNameLimit = 80;
constexpr const char* kTemporary = ".new";  // not a valid profile name
constexpr mode_t kMode = 0644;

Failure not_stored(const std::string& path, int error) {
  return fail(ErrorCode::Store, "cannot store an Onload profile", errno_text(path, error));
}

Result<void> write_profile(int fd, std::string_view text, const std::string& path) {
  if (const auto written = write_all(fd, text); !written) return not_stored(path, written.error());
  // The mode must not depend on the umask. Sync before the rename: a power failure leaves no empty profile.
  if (::fchmod(fd, kMode) != 0 || ::fsync(fd) != 0) return not_stored(path, errno);
  return {};
}

}  // namespace

bool is_profile_file(std::string_view file) {
  const size_t dot = file.rfind(kProfileSuffix);
  const bool has_name = dot != std::string_view::npos && dot > 0;
  return has_name && (file.ends_with(kProfileSuffix) || file.ends_with(kFragmentSuffix)) &&
         file.size() <= kFileNameLimit && file.front() != '.' && is_word(file, "_.+-");
}

std::string file_of_profile(const std::string& id) {
  return id.ends_with(kFragmentSuffix) ? id : id + std::string(kProfileSuffix);
}

std::string id_of_profile(const std::string& file) {
  return file.ends_with(kProfileSuffix) ? file.substr(0, file.size() - kProfileSuffix.size()) : file;
}

Result<std::optional<TrustedDir>> ProfileFolder::open() const {
  Result<std::optional<TrustedDir>> folder = if_found(TrustedDir::open(trust_, path_));
  return folder ? std::move(folder) : fail_of(path(), folder.error());
}

Result<TrustedDir> ProfileFolder::make() const {
  const size_t slash = path_.rfind('/');
  Result<TrustedDir> parent = TrustedDir::open(trust_, slash == 0 ? "/" : path_.substr(0, slash));
  if (!parent) return fail_of(path(), parent.error());
  Result<TrustedDir> folder = parent->make(std::string_view(path_).substr(slash + 1));
  if (!folder) return fail_of(path(), folder.error());
  if (::fsync(parent->fd()) != 0) return not_stored(path(), errno);
  return folder;
}

Result<std::vector<std::string>> ProfileFolder::files() const {
  const std::optional<TrustedDir> folder = TRY(open());
  if (!folder) return std::vector<std::string>();
  Result<std::vector<std::string>> names = folder->names(kProfilesLimit);
  if (!names) return fail_of(path(), names.error());
  std::erase_if(*names, [](const std::string& name) { return !is_profile_file(name); });
  return names;
}

Result<std::optional<std::string>> ProfileFolder::read(const std::string& file) const {
  if (!is_profile_file(file)) return std::optional<std::string>();
  const std::optional<TrustedDir> folder = TRY(open());
  if (!folder) return std::optional<std::string>();
  const Result<UniqueFd> fd = folder->file(file);
  if (!fd && fd.error().code == ErrorCode::NotFound) return std::optional<std::string>();
  if (!fd) return fail_of(path() + "/" + file, fd.error());
  struct stat what = {};
  if (::fstat(fd->get(), &what) == 0 && static_cast<size_t>(what.st_size) > kProfileLimit) {
    return fail(ErrorCode::BadRequest, fmt::format("{}/{}: larger than 64 KiB", path(), file));
  }
  Result<std::optional<std::string>> text = read_file(fmt::format("/proc/self/fd/{}", fd->get()), kProfileLimit);
  if (!text) return fail_of(path(), text.error());
  return text;
}

Result<void> ProfileFolder::write(const std::string& file, std::string_view text) const {
  if (!is_profile_file(file)) return fail(ErrorCode::BadRequest, "invalid profile name");
  if (text.size() > kProfileLimit) return fail(ErrorCode::BadRequest, "a profile must not be larger than 64 KiB");
  const std::vector<std::string> existing = TRY(files());
  if (existing.size() >= kProfilesLimit - 1 && std::ranges::find(existing, file) == existing.end()) {
    return fail(ErrorCode::NotEnough,
                fmt::format("limit of {} profiles reached; remove one first", kProfilesLimit - 1));
  }
  const TrustedDir folder = TRY(make());
  const std::string where = path() + "/" + file;
  ::unlinkat(folder.fd(), kTemporary, 0);  // left by an interrupted write
  const UniqueFd fd(::openat(folder.fd(), kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return not_stored(where, errno);
  if (const Result<void> written = write_profile(fd.get(), text, where); !written) {
    ::unlinkat(folder.fd(), kTemporary, 0);
    return written;
  }
  if (::renameat(folder.fd(), kTemporary, folder.fd(), file.c_str()) != 0) return not_stored(where, errno);
  return ::fsync(folder.fd()) == 0 ? Result<void>() : not_stored(where, errno);
}

Result<bool> ProfileFolder::remove(const std::string& file) const {
  if (!is_profile_file(file)) return false;
  const std::optional<TrustedDir> folder = TRY(open());
  if (!folder) return false;
  if (::unlinkat(folder->fd(), file.c_str(), 0) != 0) {
    return errno == ENOENT ? Result<bool>(false) : not_stored(path() + "/" + file, errno);
  }
  return ::fsync(folder->fd()) == 0 ? Result<bool>(true) : not_stored(path() + "/" + file, errno);
}

}  // namespace nrd::onload
