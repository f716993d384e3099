#include "hw/onload/refcount_audit.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nrd::onload {
namespace {

std::string_view module_of(HandleKind kind) { return kind == HandleKind::Char ? "sfc_char" : "onload"; }

}  // namespace

std::optional<std::strong_ordering> order_of_files(const OpenFile& a, const OpenFile& b) {
  switch (::syscall(SYS_kcmp, a.pid, b.pid, KCMP_FILE, a.fd, b.fd)) {
    case 0: return std::strong_ordering::equal;
    case 1: return std::strong_ordering::less;
    case 2: return std::strong_ordering::greater;
    default: return std::nullopt;  // no kcmp(2) in this kernel, or a descriptor was closed
  }
}

std::vector<OpenFile> distinct_files(const std::vector<OpenFile>& files, const FileOrder& order) {
  std::vector<OpenFile> distinct;
  for (const OpenFile& file : files) {
    // A binary search of our own: results of kcmp(2) may change meanwhile, which std::lower_bound does not allow.
    size_t low = 0;
    size_t high = distinct.size();
    bool is_known = false;
    while (low < high && !is_known) {
      const size_t middle = low + (high - low) / 2;
      const std::optional<std::strong_ordering> side = order(file, distinct[middle]);
      is_known = !side || *side == std::strong_ordering::equal;
      if (is_known) break;
      if (*side == std::strong_ordering::less) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (!is_known) distinct.insert(distinct.begin() + static_cast<std::ptrdiff_t>(low), file);
  }
  return distinct;
}

uint32_t unexplained(std::string_view module, uint32_t references, const std::vector<OpenFile>& distinct) {
  uint32_t sockets = 0;
  uint32_t devices = 0;
  for (const OpenFile& file : distinct) {
    if (module_of(file.kind) != module) continue;
    ++(file.kind == HandleKind::Socket ? sockets : devices);
  }
  const uint32_t by_two = sockets + 2 * devices;
  if (references >= by_two) return references - by_two;
  const uint32_t by_one = sockets + devices;
  return references > by_one ? references - by_one : 0;
}

}  // namespace nrd::onload
