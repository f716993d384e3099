// For whom something waits in a queue, and how it is answered.
//
// Places in queues are counted by client, so that one that asks much keeps neither others nor administrators waiting
// (fair_queue.h, wait_list.h). What a client does not wait for any more is not begun.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"

namespace nrd {

struct Client {
  std::string client_key;                              // the same for all requests of one client; empty: nrd itself
  bool is_privileged = false;                          // administrators, also those of local sockets
  std::shared_ptr<const std::atomic<bool>> hung_up{};  // null: it never does
  bool is_gone() const { return hung_up && *hung_up; }
  bool is_nrd() const { return client_key.empty(); }
};

// What nrd asks of itself.
inline Client nrd_itself() { return {.client_key = {}, .is_privileged = true}; }

// The answer to one question: called exactly once by whoever serves it. A plain function is an answer to nrd itself.
template <typename T>
class Callback {
 public:
  using Answer = std::function<void(Result<T>)>;
  template <typename Function>
  requires std::is_convertible_v<Function, Answer> Callback(
      Function answer, Client client = nrd_itself())  // NOLINT(google-explicit-constructor): as std::function
      : answer_(std::move(answer)), client_(std::move(client)) {}

  void operator()(Result<T> result) const { answer_(std::move(result)); }
  const Client& client() const { return client_; }

 private:
  Answer answer_;
  Client client_;
};

}  // namespace nrd
