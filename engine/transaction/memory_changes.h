// Changes the memory nodes of running targets without keeping the engine thread, which the kernel would stop for
// seconds: moves, which are operations (engine/model/memory_move.h), and releases of what no workload binds any more.
// One at a time. Engine thread.
//
// The store says what holds before a move and, from the commit that ends it, after it. A daemon that dies in between
// leaves a target whose value to restore is stored, and which no workload binds: the next start releases it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "engine/hardware.h"
#include "engine/model/memory_move.h"
#include "engine/transaction/command.h"

namespace nrd {

class Claims;
class Commits;
class HardwareSync;

// Changes the memory nodes of targets with processes, one at a time, on a thread of its own: the kernel moves pages
// inside the write.
//
// The end of this object does not wait for the kernel. The thread then ends with the process, or once the kernel has
// moved the pages, and its result is dropped: the next start makes the targets match the stored state.
class MemoryWorker {
 public:
  // `ended` is called on the other thread when a change has ended; it must not block.
  MemoryWorker(ChangeMemory change, std::function<void()> ended);
  ~MemoryWorker() { abandon(); }
  MemoryWorker(const MemoryWorker&) = delete;
  MemoryWorker& operator=(const MemoryWorker&) = delete;

  // Started, and the result not taken.
  bool is_busy() const { return is_busy_; }
  void start(const cpuset::MemoryChange& change);
  bool has_ended() const;
  // nullopt: it has not ended.
  std::optional<Result<void>> take();
  // Returns when the change has ended, or at `until`.
  void wait(std::chrono::steady_clock::time_point until);
  // `ended` is not called any more.
  void abandon();

 private:
  // Of both threads: the other one may outlive this object.
  struct Shared {
    ChangeMemory change;
    std::mutex lock;
    std::condition_variable has_ended;
    std::function<void()> ended;           // guarded by lock
    std::optional<Result<void>> result{};  // guarded by lock
    void end(Result<void> how);
  };

  bool is_busy_ = false;
  std::shared_ptr<Shared> shared_;
};

class MemoryChanges {
 public:
  // What has ended.
  struct Ended {
    std::optional<uint64_t> operation{};  // nullopt: a release, or a return after a failure
    std::optional<Command> command{};     // of an operation: to apply now, if `result` is a success
    cpuset::MemoryChange change{};
    Result<void> result{};
  };

  // `ended` is called by another thread when take_ended() has news.
  MemoryChanges(Hardware& hardware, const Clock& clock, NodeState& state, HardwareSync& sync, Commits& commits,
                Claims& claims, std::function<void()> ended)
      : clock_(clock),
        state_(state),
        sync_(sync),
        commits_(commits),
        claims_(claims),
        worker_(hardware.memory_changer(), std::move(ended)) {}

  // Conflict if memory of the workload moves and `command` would change its CPUs, memory or whole request; or any other
  // part of it, if a whole change waits, which would overwrite that part.
  Result<void> check(const Command& command, WorkloadId id) const;
  // Busy: too many operations wait.
  Result<void> check_room() const;
  // The id of the operation, which may have failed already.
  uint64_t begin(WorkloadId id, Deferred deferred);
  // At the next drift check.
  void retry_releases() { failed_.clear(); }
  // Starts what is due, releases included, unless something runs.
  void start_next();

  bool has_ended() const { return worker_.has_ended(); }
  std::optional<Ended> take_ended();
  void finish(uint64_t operation, const Result<void>& done);
  void finish_release(const Ended& release);

  // Finishes releases, which take no time, but not moves. Nothing is reported any more afterwards.
  void stop(std::chrono::steady_clock::time_point until);

 private:
  struct Waiting {
    uint64_t operation = 0;
    Deferred deferred;
  };
  Result<void> claim(const cpuset::MemoryChange& move);
  // Operations that wait for workloads that have been deleted.
  void cancel_deleted();
  std::optional<cpuset::MemoryChange> next_release() const;
  void end(uint64_t operation, MemoryMove::State state, const Error& why = {});

  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  std::deque<Waiting> waiting_;
  std::deque<cpuset::MemoryChange> returns_;  // after failed operations
  std::optional<Ended> running_;
  std::set<cpuset::Target> failed_;  // not released; tried again at the next drift check
  MemoryWorker worker_;
};

}  // namespace nrd
