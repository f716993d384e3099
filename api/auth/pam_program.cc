// nrd-pam: asks PAM one question and ends. Started by nrd for each login (logins.h), with a socket as standard input.
//
// Whatever a module does happens here: a crash or a hang costs one login its answer, and what stays in memory goes with
// the process. It leaves no core file and cannot be traced, so that no password comes out that way.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "api/auth/pam.h"

namespace {

// Modules and what they start get nothing of ours: 0, 1 and 2 are /dev/null from here on.
int take_socket() {
  const int socket = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return -1;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(nothing, fd) < 0) return -1;
  }
  return socket;
}

}  // namespace

int main() {
  // The thread that has started us is gone only when nrd is.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);

  const int socket = take_socket();
  nrd::Secret packet(nrd::auth::kPacketLimit);
  const ssize_t got = ::recv(socket, packet.bytes().data(), packet.bytes().size(), MSG_TRUNC);
  if (got <= 0 || static_cast<size_t>(got) > packet.bytes().size()) return 1;
  packet.shorten(static_cast<size_t>(got));
  const auto question = nrd::auth::question_in(packet.view());
  if (!question) return 1;
  const std::string answer = nrd::auth::packet_of(nrd::auth::ask_pam(*question));
  return ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(answer.size()) ? 0 : 1;
}
