// The client of a queued request, and how to answer it.
//
// Queue places are counted by client, so that one client with many requests delays neither others nor administrators
// (fair_queue.h, wait_list.h). A request whose client has disconnected is not begun.
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

// The answer to one request: called exactly once. A plain function is an answer to nrd itself.
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
