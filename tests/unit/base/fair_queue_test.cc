#include "base/fair_queue.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/wait_list.h"

namespace nrd::fair_queue_test {

using nrd::Client;
using nrd::FairQueue;

namespace {

Client user(const std::string& key) { return {.client_key = key}; }
Client admin(const std::string& key) { return {.client_key = key, .is_privileged = true}; }

struct Waiter {
  Client client;
  bool is_evicted = false;
};

// Whether it was taken.
bool ask(FairQueue<std::string>& queue, const Client& client, const std::string& what) {
  if (!queue.has_room_for(client)) return false;
  queue.push(client, what);
  return true;
}

std::string served(FairQueue<std::string>& queue) {
  std::string all;
  while (const auto next = queue.pop()) all += (all.empty() ? "" : " ") + *next;
  return all;
}

}  // namespace

TEST_CASE("clients take turns, administrators first") {
  FairQueue<std::string> queue({});
  for (const char* what : {"a1", "a2", "a3", "b1", "b2"}) ask(queue, user(std::string(what, 1)), what);
  ask(queue, admin("c"), "c1");
  CHECK(served(queue) == "c1 a1 b1 a2 b2 a3");
  CHECK(queue.empty());
}

TEST_CASE("a client has its share, and the reserve is for administrators") {
  FairQueue<std::string> queue({.most = 6, .reserve = 2, .share = 3});
  for (int i = 0; i < 3; ++i) CHECK(ask(queue, user("a"), "a"));
  CHECK_FALSE(ask(queue, user("a"), "a"));
  CHECK(ask(queue, user("b"), "b"));
  CHECK_FALSE(ask(queue, user("c"), "c"));
  CHECK(ask(queue, admin("d"), "d"));
  CHECK(ask(queue, admin("e"), "e"));
  CHECK_FALSE(ask(queue, admin("f"), "f"));
  CHECK(ask(queue, nrd::nrd_itself(), "nrd"));
  CHECK(queue.pop() == "d");
}

TEST_CASE("at the limit the oldest waiter of the busiest client is evicted") {
  constexpr nrd::QueueLimits kLimits{.most = 6, .reserve = 2, .share = 3};
  const auto is_evicted = [&](const std::vector<Waiter>& waiting, const Client& newcomer) {
    return nrd::find_evicted(waiting, newcomer, kLimits);
  };
  const Waiter a{user("a")};
  const Waiter b{user("b")};
  const Waiter d{admin("d")};
  CHECK(is_evicted({}, user("a")) == std::nullopt);
  CHECK(is_evicted({b, a, a, a}, user("a")) == 1);  // its share
  CHECK(is_evicted({b, a, a}, user("c")) == std::nullopt);
  CHECK(is_evicted({b, a, b, b}, user("c")) == 0);  // all that users may have
  CHECK(is_evicted({b, a, b, b}, admin("d")) == std::nullopt);
  CHECK(is_evicted({d, d, a, b, a, b}, admin("e")) == 2);
  CHECK(is_evicted({d, d, d, {admin("e")}, {admin("e")}, {admin("e")}}, admin("f")) == 0);
  CHECK(is_evicted({d, d, d, {admin("e")}, {admin("e")}, {admin("e")}}, user("a")) == 6);  // the newcomer
}

TEST_CASE("each new waiter evicts another one") {
  std::vector<Waiter> waiting;
  for (int i = 0; i < 5; ++i) nrd::add_waiter(waiting, {user("a")}, {.share = 3});
  std::string leaving;
  for (const Waiter& waiter : waiting) leaving += waiter.is_evicted ? '1' : '0';
  CHECK(leaving == "11000");
}

TEST_CASE("disconnected clients hold no places") {
  const auto gone = std::make_shared<const std::atomic<bool>>(true);
  const Waiter left{{.client_key = "a", .hung_up = gone}};
  CHECK(nrd::find_evicted(std::vector<Waiter>{left, left, {user("a")}}, user("a"), {.share = 2}) == std::nullopt);
}

}  // namespace nrd::fair_queue_test
