#include "cli/password.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/unique_fd.h"

namespace nrd::cli {
namespace {

constexpr size_t kLongest = 512;  // nrd takes no longer ones

Failure unusable(const std::string& what, const std::string& why) {
  return fail(ErrorCode::BadRequest, fmt::format("cannot read a password from {}: {}", what, why));
}

Failure unusable(const std::string& what, int error) { return unusable(what, errno_text(error)); }

Result<Secret> first_line_of(int fd, const std::string& what) {
  Secret line(kLongest + 1);
  size_t size = 0;
  while (size < line.view().size() && line.view().substr(0, size).find('\n') == std::string_view::npos) {
    const ssize_t got = ::read(fd, line.bytes().data() + size, line.bytes().size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(what, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  const size_t end = std::min(line.view().substr(0, size).find('\n'), size);
  if (end == 0) return unusable(what, "the first line is empty");
  if (end > kLongest) return unusable(what, fmt::format("longer than {} bytes", kLongest));
  line.shorten(end);
  return line;
}

Result<Secret> from_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat found {};
  if (!file.valid() || ::fstat(file.get(), &found) != 0) return unusable(path, errno);
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return unusable(path, "readable or writable by other users; run chmod 600 " + path);
  }
  return first_line_of(file.get(), path);
}

// Disable echo and defer Ctrl-C until echo is restored; otherwise the terminal would be left without echo.
class Silence {
 public:
  explicit Silence(int terminal) : terminal_(terminal) {
    sigemptyset(&ends_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) sigaddset(&ends_, number);
    ::sigprocmask(SIG_BLOCK, &ends_, &before_);
    is_on_ = ::tcgetattr(terminal, &shown_) == 0;
    termios silent = shown_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_on_ = is_on_ && ::tcsetattr(terminal, TCSAFLUSH, &silent) == 0;
  }
  Silence(const Silence&) = delete;
  ~Silence() {
    if (is_on_) ::tcsetattr(terminal_, TCSAFLUSH, &shown_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  bool is_on() const { return is_on_; }

  // False if a signal asks this process to end first.
  bool wait_for_line() const {
    constexpr int kLook = 100;  // milliseconds
    pollfd input{terminal_, POLLIN, 0};
    while (::poll(&input, 1, kLook) == 0) {
      sigset_t waiting;
      ::sigpending(&waiting);
      if (std::ranges::any_of(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP},
                              [&waiting](int number) { return sigismember(&waiting, number) == 1; })) {
        return false;
      }
    }
    return true;
  }

 private:
  const int terminal_;
  sigset_t ends_{};
  sigset_t before_{};
  termios shown_{};
  bool is_on_ = false;
};

Result<Secret> from_terminal(const std::string& user) {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  constexpr const char* kWhat = "the terminal";
  if (!terminal.valid()) return unusable(kWhat, "not available; use --password-file or --password-fd");
  const Silence silence(terminal.get());
  if (!silence.is_on()) return unusable(kWhat, errno);
  const std::string prompt = fmt::format("Password of {}: ", user);
  [[maybe_unused]] const ssize_t asked = ::write(terminal.get(), prompt.data(), prompt.size());
  if (!silence.wait_for_line()) return unusable(kWhat, "interrupted");
  Result<Secret> line = first_line_of(terminal.get(), kWhat);
  [[maybe_unused]] const ssize_t ended = ::write(terminal.get(), "\n", 1);
  return line;
}

}  // namespace

Result<Secret> read_password(const PasswordSource& from, const std::string& user) {
  if (!from.file.empty()) return from_file(from.file);
  if (from.fd) return first_line_of(*from.fd, fmt::format("descriptor {}", *from.fd));
  return from_terminal(user);
}

}  // namespace nrd::cli
