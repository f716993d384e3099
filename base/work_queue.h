// Tasks for one thread, queued by others. Each is answered exactly once: with its result, or with Busy if the queue is
// full or the thread stops.
//
// Changes and reads have separate queues and alternate, so neither waits for more than one of the other kind; within
// each, clients take turns (base/fair_queue.h). Equal reads are merged: one result answers all who asked before it
// started.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/client.h"
#include "base/fair_queue.h"
#include "base/result.h"

namespace nrd {

class WorkQueue {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  enum class Turn { Work, Refuse };
  using Task = std::function<void(Turn)>;

  // `what` is queued, in the plural, for refusals: "too many pending <what>; try again".
  explicit WorkQueue(std::string what, QueueLimits limits = {})
      : what_(std::move(what)), changes_(limits), reads_(limits) {}

  // Pending reads, merged by their parameters (Question has ==). One object per kind of read.
  template <typename T, typename Question = std::tuple<>>
  class Shared {
   public:
    // True: the first read with these parameters; the caller must submit it.
    bool join(const Question& question, Callback<T> done) {
      const std::lock_guard hold(lock_);
      const auto same = std::ranges::find(waiting_, question, &Group::question);
      if (same != waiting_.end()) {
        same->callbacks.push_back(std::move(done));
        return false;
      }
      waiting_.push_back({question, {std::move(done)}});
      return true;
    }
    // Takes the callbacks; later reads start a new group.
    std::vector<Callback<T>> take(const Question& question) {
      const std::lock_guard hold(lock_);
      const auto same = std::ranges::find(waiting_, question, &Group::question);
      if (same == waiting_.end()) return {};
      std::vector<Callback<T>> callbacks = std::move(same->callbacks);
      waiting_.erase(same);
      return callbacks;
    }

   private:
    struct Group {
      Question question;
      std::vector<Callback<T>> callbacks;
    };
    std::mutex lock_;
    std::vector<Group> waiting_;  // bounded by the queue
  };

  // Any thread. `done` is called by the thread that runs the task, or here if the queue is full.
  template <typename T, typename Work>
  void change(Callback<T> done, Work work) {
    const Client& client = done.client();
    const bool is_queued = add(changes_, client, [done, work = std::move(work)](Turn turn) {
      done(turn == Turn::Work ? work() : stopped<T>());
    });
    if (!is_queued) done(not_queued());
  }

  // Likewise; `shared` must outlive this. Reads without parameters are accounted to nrd itself: at most one each is
  // queued.
  template <typename T, typename Question, typename Work>
  void read(Shared<T, Question>& shared, const Question& question, Callback<T> done, Work work) {
    const Client client = std::is_same_v<Question, std::tuple<>> ? nrd_itself() : without_end(done.client());
    if (!shared.join(question, std::move(done))) return;
    const bool is_queued = add(reads_, client, [&shared, question, work = std::move(work)](Turn turn) {
      const std::vector<Callback<T>> callbacks = shared.take(question);
      answer(callbacks, turn == Turn::Work ? work() : stopped<T>());
    });
    if (!is_queued) answer(shared.take(question), Result<T>(not_queued()));
  }

  // Any thread: no further task is handed out.
  void stop() {
    {
      const std::lock_guard hold(lock_);
      stopping_ = true;
    }
    wake_.notify_one();
  }

  bool stopping() const {
    const std::lock_guard hold(lock_);
    return stopping_;
  }

  // Worker thread only. nullopt: stopping, or no task arrived before `until`.
  std::optional<Task> next(Steady until) {
    std::unique_lock hold(lock_);
    wake_.wait_until(hold, until, [this] { return stopping_ || !is_empty(); });
    if (stopping_ || is_empty()) return std::nullopt;
    return pop();
  }

  // Worker thread only: waits for a task, then takes all that are queued; later tasks go to the next batch, so a batch
  // ends however fast clients ask. Empty: stopping, or no task arrived before `until`.
  std::deque<Task> take(Steady until) {
    std::unique_lock hold(lock_);
    wake_.wait_until(hold, until, [this] { return stopping_ || !is_empty(); });
    return stopping_ ? std::deque<Task>() : pop_all();
  }

  // Worker thread only: runs tasks until stop(), and refuses what is left.
  void run() {
    while (const std::optional<Task> task = next(Steady::max())) (*task)(Turn::Work);
    refuse_all();
  }

  void refuse_all() {
    std::deque<Task> left;
    {
      const std::lock_guard hold(lock_);
      left = pop_all();
    }
    for (const Task& task : left) task(Turn::Refuse);
  }

 private:
  struct Waiting {
    Client client;
    Task task;
  };
  using Queue = FairQueue<Waiting>;

  Failure not_queued() const {
    return fail(ErrorCode::Busy, stopping() ? "nrd is stopping" : "too many pending " + what_ + "; try again");
  }
  template <typename T>
  static Result<T> stopped() {
    return fail(ErrorCode::Busy, "nrd is stopping or the client disconnected");
  }
  // Other clients may wait for the same read.
  static Client without_end(Client client) {
    client.hung_up.reset();
    return client;
  }
  template <typename T>
  static void answer(const std::vector<Callback<T>>& callbacks, const Result<T>& result) {
    for (const Callback<T>& done : callbacks) done(result);
  }

  bool add(Queue& queue, const Client& client, Task task) {
    {
      const std::lock_guard hold(lock_);
      if (stopping_ || !queue.has_room_for(client)) return false;
      queue.push(client, {client, std::move(task)});
    }
    wake_.notify_one();
    return true;
  }

  bool is_empty() const { return changes_.empty() && reads_.empty(); }

  Task pop() {
    is_reads_turn_ = !reads_.empty() && (is_reads_turn_ || changes_.empty());
    Waiting waiting = *(is_reads_turn_ ? reads_ : changes_).pop();
    is_reads_turn_ = !is_reads_turn_;
    if (!waiting.client.is_gone()) return std::move(waiting.task);
    return [task = std::move(waiting.task)](Turn) { task(Turn::Refuse); };
  }

  std::deque<Task> pop_all() {
    std::deque<Task> all;
    while (!is_empty()) all.push_back(pop());
    return all;
  }

  const std::string what_;
  mutable std::mutex lock_;
  std::condition_variable wake_;
  Queue changes_;               // guarded by lock_
  Queue reads_;                 // guarded by lock_
  bool is_reads_turn_ = false;  // guarded by lock_
  bool stopping_ = false;       // guarded by lock_
};

}  // namespace nrd
