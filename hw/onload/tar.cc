#include "hw/onload/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <memory>

namespace nrd::onload {
namespace {

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

Failure unreadable(archive* archive) {
  const char* const why = ::archive_error_string(archive);
  return fail(ErrorCode::BadRequest, "cannot read the tar archive: damaged, truncated or not a tar archive",
              why != nullptr ? why : "");
}

// Null: out of memory, or libarchive would run programs to decompress.
Archive reader() {
  Archive archive(::archive_read_new(), &::archive_read_free);
  if (!archive) return archive;
  for (const auto support :
       {&::archive_read_support_format_tar, &::archive_read_support_filter_gzip, &::archive_read_support_filter_bzip2,
        &::archive_read_support_filter_xz, &::archive_read_support_filter_zstd}) {
    if (support(archive.get()) != ARCHIVE_OK) return {nullptr, &::archive_read_free};
  }
  return archive;
}

// "./usr/bin/" is usr/bin; empty: the root of the archive.
std::string_view plain_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  if (path.ends_with('/') && path != "/") path.remove_suffix(1);
  return path == "." ? "" : path;
}

Result<void> add(archive* archive, archive_entry* entry, Staging& into) {
  const char* const raw = ::archive_entry_pathname(entry);
  if (raw == nullptr) return fail(ErrorCode::BadRequest, "the tar archive contains an invalid file name");
  const std::string_view path = plain_path(raw);
  if (const char* const existing = ::archive_entry_hardlink(entry); existing != nullptr) {
    return into.add_hard_link(path, plain_path(existing));
  }
  switch (::archive_entry_filetype(entry)) {
    case AE_IFDIR:
      if (path.empty()) return {};
      return into.add_folder(path);
    case AE_IFREG:
      return into.add_file(path, (::archive_entry_perm(entry) & S_IXUSR) != 0,
                           [archive](std::span<char> bytes) -> Result<size_t> {
                             const la_ssize_t got = ::archive_read_data(archive, bytes.data(), bytes.size());
                             if (got < 0) return unreadable(archive);
                             return static_cast<size_t>(got);
                           });
    case AE_IFLNK: {
      const char* const target = ::archive_entry_symlink(entry);
      return into.add_link(path, target != nullptr ? target : "");
    }
    default: return fail(ErrorCode::BadRequest, std::string(path) + " is not a file, directory or link");
  }
}

}  // namespace

Result<void> unpack_tar(int file, Staging& into) {
  const Archive archive = reader();
  if (!archive) return fail(ErrorCode::Internal, "cannot read tar archives", "libarchive lacks a filter");
  if (::archive_read_open_fd(archive.get(), file, kCopyBytes) != ARCHIVE_OK) return unreadable(archive.get());
  for (;;) {
    archive_entry* entry = nullptr;
    const int got = ::archive_read_next_header(archive.get(), &entry);
    if (got == ARCHIVE_EOF) return {};
    // Also refuse warnings.
    if (got != ARCHIVE_OK) return unreadable(archive.get());
    TRY(add(archive.get(), entry, into));
  }
}

}  // namespace nrd::onload
