#include "cli/support_bundle.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "base/unique_fd.h"
#include "cli/answer.h"
#include "cli/ustar.h"

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

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return ::fsync(fd) == 0;
}

int complain_about(const std::string& file, int error) {
  return report_failure(file + ": " + std::generic_category().message(error));
}

}  // namespace

int write_support_bundle(const Client& client, const std::string& file) {
  // Create the file first, so that an unwritable path fails before any request.
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return complain_about(file, errno);
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  std::string archive;
  for (const Page& page : kPages) {
    const Result<Answer> answer = client.get(page.path);
    if (!answer) {
      ::unlink(file.c_str());
      int exit = kDone;
      body_of(answer, exit);
      return exit;
    }
    // Include failed requests: they may be the problem.
    const std::string name = std::string("nrd-support/") + page.name;
    const bool is_good = answer->status == kOk;
    archive += ustar_member(is_good ? name : name + ".refused",
                            is_good ? answer->body : std::to_string(answer->status) + "\n" + answer->body, now);
  }
  if (!write_all(fd.get(), archive + ustar_end())) {
    const int error = errno;
    ::unlink(file.c_str());
    return complain_about(file, error);
  }
  print(file + ": " + std::to_string(kPages.size()) + " API responses saved\n");
  return kDone;
}

}  // namespace nrd::cli
