// nrd-pam: one PAM transaction per process. nrd starts it for each login (pam_client.h), with a socket as standard
// input.
//
// It consists of two processes. The child calls PAM, so a crash or hang of a module affects one login only, and its
// memory is released on exit. The parent waits until the child exits or nrd closes the socket, then kills all processes
// that modules started, including those in other sessions (pam_exec creates its own).
//
// Core dumps and tracing are disabled for both, to protect the password.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <string>

#include "api/auth/pam.h"

namespace {

// Modules and their children inherit no descriptors: 0, 1 and 2 become /dev/null.
int take_socket() {
  const int socket = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return -1;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(nothing, fd) < 0) return -1;
  }
  return socket;
}

int answer(int socket) {
  nrd::Secret packet(nrd::auth::kPacketLimit);
  const ssize_t got = ::recv(socket, packet.bytes().data(), packet.bytes().size(), MSG_TRUNC);
  if (got <= 0 || static_cast<size_t>(got) > packet.bytes().size()) return 1;
  packet.shorten(static_cast<size_t>(got));
  const auto question = nrd::auth::question_in(packet.view());
  if (!question) return 1;
  const std::string said = nrd::auth::packet_of(nrd::auth::ask_pam(*question));
  return ::send(socket, said.data(), said.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(said.size()) ? 0 : 1;
}

void wait_for_end(int socket, pid_t asks) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, asks, 0));
  std::array<pollfd, 2> watched{pollfd{socket, 0, 0}, pollfd{process, POLLIN, 0}};
  ::poll(watched.data(), watched.size(), -1);  // POLLHUP is always reported
}

// The children of a killed process become children of this one (subreaper), so repeat until the list is empty. Skip
// processes that cannot be killed, for example in uninterruptible sleep on a lost network file system.
void end_all() {
  constexpr int kTries = 1000;
  constexpr useconds_t kPause = 1000;
  const std::string list = fmt::format("/proc/self/task/{}/children", ::getpid());
  for (int i = 0; i < kTries; ++i) {
    std::ifstream children(list);
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (::waitpid(-1, nullptr, WNOHANG) < 0) return;  // ECHILD: no children left
    ::usleep(kPause);
  }
}

}  // namespace

int main() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);

  const int socket = take_socket();
  const pid_t asks = ::fork();
  if (asks < 0) return 1;
  if (asks == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Not exit(): do not run atexit handlers of modules.
    ::_exit(answer(socket));
  }
  wait_for_end(socket, asks);
  end_all();
  ::_exit(0);
}
