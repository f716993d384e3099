#include "engine/owner_watcher.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "base/unique_fd.h"

namespace nrd {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr std::chrono::milliseconds kRetryInterval{1000};

struct Watched {
  Owner owner;
  const void* registrant;
  std::function<bool()> ended;
  UniqueFd process{};      // not valid: no descriptor available, or the process has exited
  bool has_ended = false;  // and `ended` has not succeeded yet
};

class ThreadedOwnerWatcher final : public OwnerWatcher {
 public:
  ThreadedOwnerWatcher(std::string boot_id, UniqueFd wake) : boot_id_(std::move(boot_id)), wake_(std::move(wake)) {
    thread_ = std::thread([this] { run(); });
  }
  ~ThreadedOwnerWatcher() override { stop(); }

  Result<Owner> identify(pid_t pid) const override {
    const std::optional<Process> process = TRY(open_process(pid));
    if (!process) {
      return fail_at(ErrorCode::BadRequest, "/owner/pid", fmt::format("there is no process {}", pid),
                     "the number of a process that runs on this node");
    }
    return Owner{.pid = pid, .start = process->start, .boot_id = boot_id_};
  }

  void watch(const Owner& owner, const void* registrant, std::function<bool()> ended) override {
    {
      const std::lock_guard hold(lock_);
      new_.push_back({.owner = owner, .registrant = registrant, .ended = std::move(ended)});
    }
    wake();
  }

  void stop() override {
    {
      const std::lock_guard hold(lock_);
      stopping_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void wake() const {
    const uint64_t one = 1;
    // Fails only if the counter is full, and then the thread is about to wake up anyway.
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-owners");
    while (take_new()) {
      std::erase_if(watched_, [this](Watched& watched) { return is_over(watched) && watched.ended(); });
      sleep();
    }
  }

  // False: stopping.
  bool take_new() {
    const std::lock_guard hold(lock_);
    for (Watched& added : new_) {
      const bool is_known = std::ranges::any_of(watched_, [&added](const Watched& watched) {
        return watched.owner == added.owner && watched.registrant == added.registrant;
      });
      if (!is_known) watched_.push_back(std::move(added));
    }
    new_.clear();
    return !stopping_;
  }

  bool is_over(Watched& watched) const {
    if (watched.has_ended) return true;
    if (watched.process.valid()) {
      pollfd ended{.fd = watched.process.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ended, 1, 0) == 1) watched.has_ended = true;
      return watched.has_ended;
    }
    if (watched.owner.boot_id != boot_id_) return watched.has_ended = true;
    Result<std::optional<Process>> process = open_process(watched.owner.pid);
    if (!process) return false;  // out of descriptors or memory for now
    watched.has_ended = !*process || (*process)->start != watched.owner.start;
    if (!watched.has_ended) watched.process = std::move((*process)->fd);
    return watched.has_ended;
  }

  // Until a process exits or a new one is added; at most a second if one must be polled.
  void sleep() const {
    std::vector<pollfd> events{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    bool must_poll = false;
    for (const Watched& watched : watched_) {
      if (watched.process.valid() && !watched.has_ended) {
        events.push_back({.fd = watched.process.get(), .events = POLLIN, .revents = 0});
      } else {
        must_poll = true;
      }
    }
    ::poll(events.data(), events.size(), must_poll ? static_cast<int>(kRetryInterval.count()) : -1);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken =
        ::read(wake_.get(), &count, sizeof count);  // EAGAIN: woken by a process or the timeout
  }

  const std::string boot_id_;
  const UniqueFd wake_;
  std::vector<Watched> watched_;  // used by the thread only

  std::mutex lock_;
  std::vector<Watched> new_;  // guarded by lock_
  bool stopping_ = false;     // guarded by lock_
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<OwnerWatcher>> OwnerWatcher::start() {
  const std::optional<std::string> boot_id = TRY(read_file(kBootId));
  if (!boot_id) return fail(ErrorCode::Hardware, "cannot read the boot id", kBootId);
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return fail(ErrorCode::Internal, "cannot create an eventfd", errno_text("eventfd"));
  }
  return std::make_unique<ThreadedOwnerWatcher>(std::string(trimmed(*boot_id)), std::move(wake));
}

}  // namespace nrd
