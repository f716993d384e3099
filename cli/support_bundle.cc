#include "cli/support_bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

struct Page {
  const char* name;
  const char* path;
};

// Kernel log lines from module loads are part of the operations' steps.
constexpr std::array kPages{
    Page{"health.json", "/v1/health"},
    Page{"node.json", "/v1/node"},
    Page{"workloads.json", "/v1/workloads"},
    Page{"cache.json", "/v1/cache"},
    Page{"mba.json", "/v1/mba"},
    Page{"pstate.json", "/v1/pstate"},
    Page{"policy.json", "/v1/policy"},
    Page{"onload/onload.json", "/v1/onload"},
    Page{"onload/versions.json", "/v1/onload/versions"},
    Page{"onload/modules.json", "/v1/onload/modules"},
    Page{"onload/controlplane.json", "/v1/onload/controlplane"},
    Page{"onload/generations.json", "/v1/onload/generations"},
    Page{"onload/operations.json", "/v1/onload/operations"},
    Page{"onload/users.json", "/v1/onload/users"},
    Page{"onload/stacks.json", "/v1/onload/stacks"},
    Page{"onload/interfaces.json", "/v1/onload/interfaces"},
    Page{"onload/allocations.json", "/v1/onload/allocations"},
    Page{"onload/profiles.json", "/v1/onload/profiles"},
};
constexpr long kOk = 200;

using Archive = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

// Null on failure.
Archive open_archive(int fd) {
  Archive tar(::archive_write_new(), &::archive_write_free);
  if (::archive_write_set_format_ustar(tar.get()) != ARCHIVE_OK ||
      ::archive_write_open_fd(tar.get(), fd) != ARCHIVE_OK) {
    return {nullptr, &::archive_write_free};
  }
  return tar;
}

bool add_file(archive* tar, const std::string& name, const std::string& content, std::time_t modified) {
  const Entry entry(::archive_entry_new(), &::archive_entry_free);
  ::archive_entry_set_pathname(entry.get(), name.c_str());
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  ::archive_entry_set_perm(entry.get(), 0600);
  ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  ::archive_entry_set_mtime(entry.get(), modified, 0);
  return ::archive_write_header(tar, entry.get()) == ARCHIVE_OK &&
         ::archive_write_data(tar, content.data(), content.size()) == static_cast<la_ssize_t>(content.size());
}

// Writes all responses to an empty file.
Outcome<> write_pages(const Client& client, const std::string& file, int fd) {
  const Archive tar = open_archive(fd);
  bool written = tar != nullptr;
  const std::time_t now = std::time(nullptr);
  for (const Page& page : kPages) {
    const Answer answer = TRY(or_stop(client.get(page.path), kUnreachable));
    // Include failed requests: they may be the problem.
    const std::string name = std::string("nrd-support/") + page.name;
    written = written && (answer.status == kOk ? add_file(tar.get(), name, answer.body, now)
                                               : add_file(tar.get(), name + ".refused",
                                                          std::to_string(answer.status) + "\n" + answer.body, now));
  }
  if (written && ::archive_write_close(tar.get()) == ARCHIVE_OK && ::fsync(fd) == 0) return {};
  const char* why = tar == nullptr ? nullptr : ::archive_error_string(tar.get());
  return stop(kRefused, file + ": " + (why != nullptr ? why : errno_text()));
}

}  // namespace

Outcome<> write_support_bundle(const Client& client, const std::string& file) {
  // Create the file first, so that an unwritable path fails before any request.
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return stop(kRefused, file + ": " + errno_text());
  const Outcome<> written = write_pages(client, file, fd.get());
  if (written) {
    print(file + ": " + std::to_string(kPages.size()) + " API responses saved\n");
  } else {
    ::unlink(file.c_str());
  }
  return written;
}

}  // namespace nrd::cli
