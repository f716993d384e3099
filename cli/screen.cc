#include "cli/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/number.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

using Steady = std::chrono::steady_clock;

// xterm sequences: alternate screen, hidden cursor, no line wrap.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kRestOfLine = "\x1b[K";
constexpr const char* kRestOfScreen = "\x1b[J";

void write_now(const std::string& text) {
  print_drawn(text);
  flush();
}

bool asks_to_leave() {
  std::array<char, 64> keys;
  const ssize_t got = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (got <= 0) return true;
  return std::any_of(keys.begin(), keys.begin() + got, [](char key) { return key == 'q' || key == 'Q'; });
}

}  // namespace

size_t columns_of_terminal() {
  const char* columns = std::getenv("COLUMNS");
  if (const auto number = parse_number<uint16_t>(columns == nullptr ? "" : columns); number && *number > 0) {
    return *number;
  }
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Screen::Screen() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  ::sigprocmask(SIG_BLOCK, &ends, &mask_before_);
  signals_ = UniqueFd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  termios keys{};
  if (::tcgetattr(STDIN_FILENO, &keys) == 0) {
    before_ = keys;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  write_now(kEnter);
}

Screen::~Screen() {
  write_now(kLeave);
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  // Pending signals are dropped here: leaving the screen has handled them.
  std::array<char, sizeof(signalfd_siginfo) * 4> taken;
  while (::read(signals_.get(), taken.data(), taken.size()) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

size_t Screen::rows() const {
  constexpr size_t kUsual = 24;
  constexpr size_t kLeast = 3;
  winsize size{};
  const bool is_told = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return std::max(is_told ? size_t{size.ws_row} : kUsual, kLeast);
}

void Screen::show(const std::string& text) {
  std::string frame = kHome;
  for (const char c : text) {
    if (c == '\n') frame += kRestOfLine;
    frame += c;
  }
  write_now(frame + kRestOfLine + kRestOfScreen);
}

bool Screen::is_left_within(std::chrono::milliseconds time) {
  const auto end = Steady::now() + time;
  // Without a terminal, poll() ignores the -1 descriptor.
  std::array<pollfd, 2> sources = {{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                    {.fd = before_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}}};
  for (;;) {
    const auto left = std::max<std::chrono::milliseconds>(
        std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now()), std::chrono::milliseconds(0));
    const bool has_news = ::poll(sources.data(), sources.size(), static_cast<int>(left.count())) > 0;
    if (has_news && sources[0].revents != 0) return true;
    if (has_news && sources[1].revents != 0 && asks_to_leave()) return true;
    if (Steady::now() >= end) return false;
  }
}

}  // namespace nrd::cli
