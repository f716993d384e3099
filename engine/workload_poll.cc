#include "engine/workload_poll.h"

#include <algorithm>
#include <utility>

#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"

namespace nrd {

bool WorkloadPoll::shows_same(const std::shared_ptr<const NodeState>& seen,
                              const std::shared_ptr<const NodeState>& now) {
  if (seen == now) return true;
  if (last_.seen != seen || last_.now != now) {
    const auto is_as_before = [&](const auto& entry) {
      return is_applied(*seen, entry.second) == is_applied(*now, entry.second);
    };
    last_ = {seen, now, seen->workloads == now->workloads && std::ranges::all_of(seen->workloads, is_as_before)};
  }
  return last_.is_same;
}

void WorkloadPoll::wait(const Client& client, const Engine& engine, std::shared_ptr<const NodeState> seen,
                        std::chrono::milliseconds longest,
                        std::function<void(const std::shared_ptr<const NodeState>&)> answer) {
  // A state that shows the same replaces the one seen, so that the next comparison is one for all clients.
  const auto has_news = [this, &engine, seen = std::move(seen)]() mutable {
    std::shared_ptr<const NodeState> now = engine.state();
    if (!shows_same(seen, now)) return true;
    seen = std::move(now);
    return false;
  };
  poll_.wait(client, longest, has_news, [&engine, answer = std::move(answer)] { answer(engine.state()); });
}

void WorkloadPoll::wait_until(const Client& client, const Engine& engine, std::function<bool(const NodeState&)> is_due,
                              std::chrono::milliseconds longest,
                              std::function<void(const std::shared_ptr<const NodeState>&)> answer) {
  poll_.wait(
      client, longest, [&engine, is_due = std::move(is_due)] { return is_due(*engine.state()); },
      [&engine, answer = std::move(answer)] { answer(engine.state()); });
}

}  // namespace nrd
