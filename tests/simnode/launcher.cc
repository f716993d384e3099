#include "launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "control.h"
#include "fuse_host.h"
#include "mounts.h"

namespace nrd::simnode {
namespace {

constexpr int kCannotStart = 125;

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

int listen_on(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("--control: the path is too long");
  std::strcpy(address.sun_path, path.c_str());
  const int listener = must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  unlink(path.c_str());
  must(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), path);
  must(listen(listener, 16), "listen");
  return listener;
}

// Runs in the child. Errors are printed to standard error; the parent sees the exit status.
[[noreturn]] void become_command(const Options& options, int device, pid_t parent, int started) {
  try {
    must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
    if (getppid() != parent) _exit(kCannotStart);
    enter_simulated_node(device, options.shape);
    const sigset_t signals = watched_signals();
    sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    std::vector<char*> argv;
    for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    fcntl(started, F_SETFD, FD_CLOEXEC);
    execvp(argv[0], argv.data());
    must(-1, argv[0]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "nrd-simnode: cannot start the command: %s\n", failure.what());
  }
  // Said before the pipe closes with us, so that its end always means a command that runs.
  (void)!write(started, "x", 1);
  _exit(kCannotStart);
}

class Launcher {
 public:
  Launcher(const Options& options, Node& node);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  int serve_until_the_end();

 private:
  void start_command(const Options& options);
  std::vector<pollfd> sources() const;
  void attend(const pollfd& source);
  void on_started();
  void on_signal();
  void reap();
  void talk(int client);
  void kill_the_rest();

  Node& node_;
  std::string control_path_;
  int device_;
  int signals_;
  int started_ = -1;  // end of file: the command runs; a byte: it could not
  int listener_ = -1;
  pid_t command_ = -1;
  std::optional<int> status_;
  std::map<int, std::string> clients_;  // what each has sent of a line so far
  FuseHost fuse_;
};

Launcher::Launcher(const Options& options, Node& node)
    : node_(node),
      control_path_(options.control),
      device_(must(open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK), "/dev/fuse")),
      signals_(-1),
      fuse_(node, device_) {
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = must(signalfd(-1, &signals, SFD_CLOEXEC), "signalfd");
  // Orphans of the command come to us, so that none is left when we end.
  must(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  if (!control_path_.empty()) listener_ = listen_on(control_path_);
  start_command(options);
}

Launcher::~Launcher() {
  kill_the_rest();
  if (listener_ >= 0) unlink(control_path_.c_str());
}

void Launcher::start_command(const Options& options) {
  int pipe_ends[2];
  must(pipe2(pipe_ends, O_CLOEXEC), "pipe");
  const pid_t parent = getpid();
  command_ = must(fork(), "fork");
  if (command_ == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    become_command(options, device_, parent, pipe_ends[1]);
  }
  close(pipe_ends[1]);
  started_ = pipe_ends[0];
}

std::vector<pollfd> Launcher::sources() const {
  std::vector<pollfd> found = {{device_, POLLIN, 0}, {signals_, POLLIN, 0}};
  if (started_ >= 0) {
    // No request is answered before the command runs, so a client with an answer can rely on the mounts.
    found.push_back({started_, POLLIN, 0});
    return found;
  }
  if (listener_ >= 0) found.push_back({listener_, POLLIN, 0});
  for (const auto& [client, line] : clients_) found.push_back({client, POLLIN, 0});
  return found;
}

int Launcher::serve_until_the_end() {
  while (!status_) {
    std::vector<pollfd> ready = sources();
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) must(-1, "poll");
    for (const pollfd& source : ready) {
      // /dev/fuse reports POLLERR until it is mounted; there is nothing to read from it then.
      if (source.revents != 0 && (source.fd != device_ || (source.revents & POLLIN))) attend(source);
    }
  }
  return *status_;
}

void Launcher::attend(const pollfd& source) {
  if (source.fd == device_) {
    fuse_.serve_pending();
  } else if (source.fd == signals_) {
    on_signal();
  } else if (source.fd == started_) {
    on_started();
  } else if (source.fd == listener_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) clients_[client];
  } else {
    talk(source.fd);
  }
}

void Launcher::on_started() {
  char failed = 0;
  if (read(started_, &failed, 1) == 1) {
    waitpid(command_, nullptr, 0);
    status_ = kCannotStart;
  }
  close(started_);
  started_ = -1;
}

void Launcher::on_signal() {
  signalfd_siginfo signal = {};
  if (read(signals_, &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo == SIGCHLD) {
    reap();
  } else {
    kill(command_, static_cast<int>(signal.ssi_signo));
  }
}

void Launcher::reap() {
  int status = 0;
  while (const pid_t ended = waitpid(-1, &status, WNOHANG)) {
    if (ended < 0) return;
    if (ended == command_) status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

void Launcher::talk(int client) {
  char received[4096];
  const ssize_t size = recv(client, received, sizeof received, 0);
  if (size <= 0) {
    clients_.erase(client);
    close(client);
    return;
  }
  std::string& pending = clients_[client].append(received, static_cast<size_t>(size));
  for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
    const std::string answer = answer_control(node_, command_, pending.substr(0, end)) + "\n";
    pending.erase(0, end + 1);
    (void)!write(client, answer.data(), answer.size());
  }
}

// A killed process gives its children to us, so the list is looked at until it is empty.
void Launcher::kill_the_rest() {
  const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/children";
  while (true) {
    std::ifstream children(path);
    pid_t child = 0;
    if (!(children >> child)) return;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace

int run(const Options& options, Node& node) { return Launcher(options, node).serve_until_the_end(); }

}  // namespace nrd::simnode
