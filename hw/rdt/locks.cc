#include "hw/rdt/locks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/split.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

constexpr const char* kLibraryLock = "/run/lock/libpqos";  // LOCKFILE of libpqos, by way of /var/lock
constexpr mode_t kKernelsMode = 0555;                      // of the tree's root (rdt_get_tree())
constexpr mode_t kRootAlone = 0600;
constexpr auto kPause = std::chrono::milliseconds(1);
constexpr int kTries = 500;  // half a second; libpqos and pqos hold either lock for milliseconds

// The holder if the line of /proc/locks (proc(5)) is about the file: "1: FLOCK  ADVISORY  READ 4711 00:1e:1 0 EOF";
// else 0. A waiting process has "->" after the number.
pid_t holder_in(std::string_view line, std::string_view file) {
  const std::vector<std::string_view> words = split(line, " ");
  if (words.size() < 6 || words[1] == "->" || words[5] != file) return 0;
  return parse_number<pid_t>(words[4]).value_or(0);
}

std::string named(pid_t pid) {
  constexpr size_t kLongest = 64;
  const auto name = read_file(fmt::format("/proc/{}/comm", pid), kLongest);
  std::string shown;
  if (name && *name) {
    for (const char c : trimmed(**name)) shown += c > ' ' && c <= '~' ? c : '?';
  }
  return fmt::format("{} ({})", shown.empty() ? "a process" : shown, pid);
}

// Other holders; empty: none, or none visible to this process.
std::string holder_of(const struct stat& file) {
  constexpr size_t kLimit = size_t{4} << 20;
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  const auto locks = read_file("/proc/locks", kLimit);
  if (!locks || !*locks) return {};
  for (const std::string_view line : split(**locks, "\n")) {
    const pid_t pid = holder_in(line, place);
    if (pid > 0 && pid != ::getpid()) return named(pid);
  }
  return {};
}

// `take`: false with EAGAIN, EACCES or EWOULDBLOCK while another process holds the lock.
template <typename Take>
bool wait_for(const Take& take) {
  for (int tries = kTries;; --tries) {
    if (take()) return true;
    if ((errno != EWOULDBLOCK && errno != EACCES) || tries == 0) return false;
    std::this_thread::sleep_for(kPause);
  }
}

Failure lock_is_held(const std::string& what, int fd) {
  const std::string why = errno_text();
  struct stat file {};
  const std::string holder = ::fstat(fd, &file) == 0 ? holder_of(file) : "";
  return fail(
      ErrorCode::Busy,
      fmt::format("{} is locked by {}; end it, or try again later", what, holder.empty() ? "another process" : holder),
      why);
}

// Locks the whole file, as lockf(3) does.
bool set_lock(int fd, short kind) {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_SETLK, &whole) == 0;
}

bool is_roots_alone(const struct stat& file) { return S_ISREG(file.st_mode) && file.st_uid == 0 && file.st_nlink == 1; }

}  // namespace

Result<UniqueFd> lock_tree() {
  UniqueFd tree(::open(kResctrl, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!tree.valid()) {
    return fail(ErrorCode::Hardware, "the kernel rejected a change to a class of service", errno_text(kResctrl));
  }
  if (wait_for([&tree] { return ::flock(tree.get(), LOCK_EX | LOCK_NB) == 0; })) return tree;
  return lock_is_held("the resctrl tree", tree.get());
}

std::string holder_of_tree() {
  struct stat tree {};
  return ::stat(kResctrl, &tree) == 0 ? holder_of(tree) : "";
}

void guard_tree(mode_t mode) {
  struct stat tree {};
  if (mode == kKernelsMode || ::stat(kResctrl, &tree) != 0 || (tree.st_mode & 07777) != kKernelsMode) return;
  if (::chmod(kResctrl, mode) == 0) return;
  log::warning("RDT_TREE_MODE", "cannot set the mode of the resctrl tree; any local user can lock it",
               {{"DETAIL", errno_text()}});
}

void give_tree_back(mode_t mode) {
  struct stat tree {};
  if (::stat(kResctrl, &tree) == 0 && (tree.st_mode & 07777) == mode) ::chmod(kResctrl, kKernelsMode);
}

Result<LibraryLock> LibraryLock::open() {
  struct stat found {};
  if (::lstat(kLibraryLock, &found) == 0 && !is_roots_alone(found)) {
    log::warning("RDT_LOCK_FILE", "the libpqos lock file was not owned by root alone; replaced it",
                 {{"PATH", kLibraryLock}});
    ::unlink(kLibraryLock);
  }
  // With O_CREAT alone the kernel refuses a foreign file in a world-writable directory (fs.protected_regular).
  UniqueFd file(::open(kLibraryLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid())
    file = UniqueFd(::open(kLibraryLock, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kRootAlone));
  if (!file.valid() || ::fstat(file.get(), &found) != 0 || !is_roots_alone(found) ||
      ::fchmod(file.get(), kRootAlone) != 0) {
    return fail(ErrorCode::Hardware, "cannot use the libpqos lock file", errno_text(kLibraryLock));
  }
  return LibraryLock(std::move(file));
}

Result<void> LibraryLock::take() const {
  if (wait_for([this] { return set_lock(file_.get(), F_WRLCK); })) return {};
  return lock_is_held(kLibraryLock, file_.get());
}

void LibraryLock::let_go() const { set_lock(file_.get(), F_UNLCK); }

}  // namespace nrd::rdt
