// Long polls: clients that wait for news. They block no thread of the HTTP service.
//
// A waiter is answered once: when there is news for it, on timeout, when it is evicted (wait_list.h), or when the
// service stops. Runs its own thread, because the others may be busy for seconds when a waiter's time ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/client.h"
#include "base/clock.h"

namespace nrd {

class LongPoll {
 public:
  // `name`: of its thread. `clock` must outlive it.
  LongPoll(const char* name, const Clock& clock);
  ~LongPoll();
  LongPoll(const LongPoll&) = delete;
  LongPoll& operator=(const LongPoll&) = delete;

  // Any thread. Calls `answer` on the long-poll thread, or here if there is news already. `has_news` is called by one
  // thread at a time; it must not block.
  void wait(const Client& client, std::chrono::milliseconds longest, std::function<bool()> has_news,
            std::function<void()> answer);
  // Call after publishing; does not block.
  void notify();
  // Answers all waiters before it returns; later ones are answered at once.
  void stop();

 private:
  struct Waiter {
    Client client;
    std::chrono::steady_clock::time_point until;
    std::function<bool()> has_news;
    std::function<void()> answer;
    bool is_evicted = false;  // to be answered next
  };

  void run(const char* name) noexcept;
  // With the lock held: removes waiters that are due.
  std::vector<Waiter> take_due();

  const Clock& clock_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Waiter> waiting_;  // guarded by lock_
  bool is_notified_ = false;     // guarded by lock_
  bool is_stopping_ = false;     // guarded by lock_
  std::thread thread_;           // last: uses the members above
};

}  // namespace nrd
