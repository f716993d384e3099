#include "cli/support_bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "cli/acceleration.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

constexpr std::array kPages{
    SupportPage{"health.json", "/v1/health"},
    SupportPage{"node.json", "/v1/node"},
    SupportPage{"workloads.json", "/v1/workloads"},
    SupportPage{"cache.json", "/v1/cache"},
    SupportPage{"mba.json", "/v1/mba"},
    SupportPage{"pstate.json", "/v1/pstate"},
    SupportPage{"policy.json", "/v1/policy"},
    SupportPage{"cpus.json", "/v1/cpus"},
    SupportPage{"cpu-pools.json", "/v1/cpus/pools"},
    SupportPage{"operations.json", "/v1/operations"},
    SupportPage{"config.json", "/v1/config"},
    SupportPage{"metrics.txt", "/metrics"},
};

std::vector<SupportPage> all_pages() {
  std::vector<SupportPage> pages(kPages.begin(), kPages.end());
  for (const SupportPage& page : acceleration_pages()) pages.push_back(page);
  return pages;
}

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
OrStop<> write_pages(const Client& client, const std::vector<SupportPage>& pages, const std::string& file, int fd) {
  const Archive tar = open_archive(fd);
  bool written = tar != nullptr;
  const std::time_t now = std::time(nullptr);
  for (const SupportPage& page : pages) {
    const Answer answer = TRY(or_stop(client.get(page.path), kUnreachable));
    // Include failed requests: they may be the problem.
    const std::string name = std::string("nrd-support/") + page.name;
    written = written && (answer.status == kOk ? add_file(tar.get(), name, answer.body, now)
                                               : add_file(tar.get(), name + ".refused",
                                                          fmt::format("{}\n{}", answer.status, answer.body), now));
  }
  if (written && ::archive_write_close(tar.get()) == ARCHIVE_OK && ::fsync(fd) == 0) return {};
  const char* why = tar == nullptr ? nullptr : ::archive_error_string(tar.get());
  return stop(kRefused, fmt::format("{}: {}", file, why != nullptr ? why : errno_text()));
}

}  // namespace

OrStop<> write_support_bundle(const Client& client, const std::string& file) {
  // Create the file first, so that an unwritable path fails before any request.
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return stop(kRefused, errno_text(file));
  const std::vector<SupportPage> pages = all_pages();
  const OrStop<> written = write_pages(client, pages, file, fd.get());
  if (written) {
    print("{}: {} API responses saved\n", file, pages.size());
  } else {
    ::unlink(file.c_str());
  }
  return written;
}

}  // namespace nrd::cli
