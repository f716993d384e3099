#include "api/auth/pam_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "base/fair_queue.h"
#include "base/unique_fd.h"

namespace nrd::auth {
namespace {

using Time = std::chrono::steady_clock::time_point;

Failure unknown(const std::string& message, const std::string& detail = {}) {
  return fail(ErrorCode::Busy, "cannot check the password now: " + message, detail);
}

Failure unknown(const std::string& message, int error) { return unknown(message, errno_text(error)); }

// The child process. When the daemon's end of the socket closes, it kills all processes of modules and exits.
class Child {
 public:
  Child(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  Child(const Child&) = delete;
  ~Child() {
    socket_ = UniqueFd();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  int socket() const { return socket_.get(); }

 private:
  const pid_t pid_;
  UniqueFd socket_;
};

// Default signal mask and handlers: nrd blocks and ignores signals that modules may rely on.
class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Attributes(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class Actions {
 public:
  explicit Actions(int socket) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
  }
  Actions(const Actions&) = delete;
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Result<pid_t> spawn(const std::string& program, int socket) {
  std::array<char*, 2> argv{const_cast<char*>(program.c_str()), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), Actions(socket).get(), Attributes().get(), argv.data(), environment.data());
  if (error != 0) return unknown("cannot start nrd-pam", error);
  return pid;
}

int milliseconds_until(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count());
}

// `stop` becomes readable when the daemon stops.
PamOutcome wait_for_answer(int socket, int stop, Time deadline) {
  std::array<pollfd, 2> watched{pollfd{socket, POLLIN, 0}, pollfd{stop, POLLIN, 0}};
  int ready = 0;
  do {
    ready = ::poll(watched.data(), watched.size(), milliseconds_until(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return unknown("poll", errno);
  if (ready == 0) return unknown("PAM timed out", "killed at its deadline");
  if (watched[1].revents != 0) return unknown("nrd is stopping");
  std::array<char, kPacketLimit> packet{};
  const ssize_t got = ::recv(socket, packet.data(), packet.size(), 0);
  const auto answer = answer_in({packet.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))});
  if (!answer) return unknown("PAM ended without an answer", "nrd-pam or a PAM module crashed");
  return *answer;
}

PamOutcome ask_program(const std::string& program, const PamQuestion& question, int stop, Time deadline) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return unknown("socketpair", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  // Send before starting the program: a packet of this size fits into the socket buffer.
  const Secret packet = packet_of(question);
  if (::send(ours.get(), packet.view().data(), packet.view().size(), MSG_NOSIGNAL) < 0) return unknown("send", errno);
  const pid_t pid = TRY(spawn(program, theirs.get()));
  const Child child(pid, std::move(ours));
  theirs = UniqueFd();  // so that recv() sees the program exit
  return wait_for_answer(child.socket(), stop, deadline);
}

// Reports failures after their delay, on its own thread, so that the PAM threads do not wait.
class Failures {
 public:
  Failures() : thread_([this] { report(); }) {}
  ~Failures() {
    {
      const std::lock_guard hold(lock_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  // A login that PAM was asked about at `asked` and that has failed now.
  void add(Time asked, PamOutcome outcome, PamClient::Then then) {
    const Time now = std::chrono::steady_clock::now();
    const std::lock_guard hold(lock_);
    recent_[recorded_++ % recent_.size()] = now - asked;
    put(asked, now - asked, {std::move(outcome), std::move(then)});
  }
  // A login that fails without PAM, with the delay of a recent failure.
  void add_unasked(PamClient::Then then) {
    const std::lock_guard hold(lock_);
    const size_t known = std::clamp<size_t>(recorded_, 1, recent_.size());
    put(std::chrono::steady_clock::now(), recent_[picked_++ % known],
        {PamAnswer{kAuthenticationError, kAuthenticationFailure}, std::move(then)});
  }

 private:
  struct Failure {
    PamOutcome outcome;
    PamClient::Then then;
  };

  // Requires lock_. Reports at the end of the current step.
  void put(Time asked, Time::duration took, Failure failure) {
    waiting_.emplace(asked + (took / kFailureStep + 1) * kFailureStep, std::move(failure));
    wake_.notify_all();
  }

  void report() {
    std::unique_lock hold(lock_);
    while (!is_stopping_) {
      if (waiting_.empty()) {
        wake_.wait(hold);
      } else if (const Time due = waiting_.begin()->first; due > std::chrono::steady_clock::now()) {
        wake_.wait_until(hold, due);
      } else {
        const Failure failure = std::move(waiting_.extract(waiting_.begin()).mapped());
        hold.unlock();
        failure.then(failure.outcome);
        hold.lock();
      }
    }
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::multimap<Time, Failure> waiting_;     // lock_ guards this and all below; bounded by the login limits
  std::array<Time::duration, 16> recent_{};  // recent durations; few, to adapt quickly to load
  size_t recorded_ = 0;
  size_t picked_ = 0;
  bool is_stopping_ = false;
  std::thread thread_;
};

class PamClientThreads final : public PamClient {
 public:
  explicit PamClientThreads(std::string program) : program_(std::move(program)), stop_(::eventfd(0, EFD_CLOEXEC)) {}
  // Not in the constructor: if one thread does not start, the destructor has to end the others.
  void start() {
    for (size_t i = 0; i < kLoginsAtOnce; ++i) threads_.emplace_back([this] { serve(); });
  }

  ~PamClientThreads() override {
    {
      const std::lock_guard hold(lock_);
      is_stopping_ = true;
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
    has_job_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void ask(const Client& client, PamQuestion question, Then then) override {
    {
      const std::lock_guard hold(lock_);
      if (jobs_.has_room_for(client)) {
        jobs_.push(client, {client, std::move(question), std::move(then), std::chrono::steady_clock::now()});
        has_job_.notify_one();
        return;
      }
    }
    then(unknown("too many logins are queued"));
  }

  void refuse(Then then) override { failures_.add_unasked(std::move(then)); }

 private:
  struct Job {
    Client client;
    PamQuestion question;
    Then then;
    Time asked;
    Time deadline() const { return asked + kLoginDeadline; }
  };

  void serve() {
    for (;;) {
      std::unique_lock hold(lock_);
      has_job_.wait(hold, [this] { return is_stopping_ || !jobs_.empty(); });
      if (is_stopping_) return;
      Job job = *jobs_.pop();
      hold.unlock();
      answer(std::move(job));
    }
  }

  void answer(Job job) {
    if (job.client.is_gone()) return job.then(unknown("the client disconnected"));
    if (std::chrono::steady_clock::now() >= job.deadline()) return job.then(unknown("too many logins are queued"));
    PamOutcome outcome = ask_program(program_, job.question, stop_.get(), job.deadline());
    const bool has_failed = outcome && outcome->code != 0;
    if (!has_failed) return job.then(std::move(outcome));
    failures_.add(job.asked, std::move(outcome), std::move(job.then));
  }

  const std::string program_;
  const UniqueFd stop_;
  Failures failures_;
  std::mutex lock_;
  std::condition_variable has_job_;
  // Per host as many as may fail at once (login_limits.h).
  FairQueue<Job> jobs_{{.most = kLoginsWaiting, .reserve = kLoginsWaiting / 4, .share = 16}};
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<PamClient>> PamClient::start(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0) {
    return fail(ErrorCode::Internal, program + " is not executable", errno_text());
  }
  try {
    auto client = std::make_unique<PamClientThreads>(program);
    client->start();
    return client;
  } catch (const std::system_error& error) {  // the host has no process or memory left for a thread
    return fail(ErrorCode::Internal, "cannot start the threads that check passwords", error.what());
  }
}

}  // namespace nrd::auth
