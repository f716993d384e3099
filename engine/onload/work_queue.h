// What other threads ask a thread to do. Each is answered exactly once: with what came of it, or that there is too much
// of it, or that the thread stops.
//
// Changes and reads wait in queues of their own and take turns, so that neither waits for more than one of the other
// kind; in each, clients take turns (base/fair_queue.h). Reads that ask the same are one: what comes of it answers all
// who asked before it began.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/client.h"
#include "base/fair_queue.h"
#include "base/result.h"

namespace nrd::onload {

class WorkQueue {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  enum class Turn { Work, Refuse };
  using Task = std::function<void(Turn)>;

  // Reads that ask for the same, by what they ask: Question has ==. One for each kind of read.
  template <typename T, typename Question = std::tuple<>>
  class Shared {
   public:
    // True: the first one who asks this, for whom the read must be submitted.
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
    // Who comes from now on begins a new one.
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
    std::vector<Group> waiting_;  // as many as wait in the queue
  };

  // Any thread. `done` is called by whoever serves the task, or here if there is no room.
  template <typename T, typename Work>
  void change(Callback<T> done, Work work) {
    const Client client = done.client();
    const bool is_queued = add(changes_, client, [done, work = std::move(work)](Turn turn) {
      done(turn == Turn::Work ? work() : stopped<T>());
    });
    if (!is_queued) done(too_much());
  }

  // Likewise; `shared` must outlive this. Parameterless reads are nrd's own: there is one of each.
  template <typename T, typename Question, typename Work>
  void read(Shared<T, Question>& shared, const Question& question, Callback<T> done, Work work) {
    const Client client = std::is_same_v<Question, std::tuple<>> ? nrd_itself() : without_end(done.client());
    if (!shared.join(question, std::move(done))) return;
    const bool is_queued = add(reads_, client, [&shared, question, work = std::move(work)](Turn turn) {
      const std::vector<Callback<T>> callbacks = shared.take(question);
      answer(callbacks, turn == Turn::Work ? work() : stopped<T>());
    });
    if (!is_queued) answer(shared.take(question), Result<T>(too_much()));
  }

  // Any thread: from now on there is no next one.
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

  // The thread's own. nullopt: it stops, or `until` has come and there was none.
  std::optional<Task> next(Steady until) {
    std::unique_lock hold(lock_);
    wake_.wait_until(hold, until, [this] { return stopping_ || !is_empty(); });
    if (stopping_ || is_empty()) return std::nullopt;
    return pop();
  }

  // The thread's own: all that wait, once there is one; those that come meanwhile are the next turn's. So a turn has an
  // end, however fast somebody asks again. Empty: it stops, or `until` has come and there was none.
  std::deque<Task> take(Steady until) {
    std::unique_lock hold(lock_);
    wake_.wait_until(hold, until, [this] { return stopping_ || !is_empty(); });
    return stopping_ ? std::deque<Task>() : pop_all();
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

  static Failure too_much() { return fail(ErrorCode::Busy, "too much is asked about Onload at once; try again"); }
  template <typename T>
  static Result<T> stopped() {
    return fail(ErrorCode::Busy, "nrd stops, or the client has hung up");
  }
  // Others may wait for the same read.
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

  mutable std::mutex lock_;
  std::condition_variable wake_;
  Queue changes_{QueueLimits{}};  // guarded by lock_
  Queue reads_{QueueLimits{}};    // guarded by lock_
  bool is_reads_turn_ = false;    // guarded by lock_
  bool stopping_ = false;         // guarded by lock_
};

}  // namespace nrd::onload
