#include "engine/transaction/idempotency.h"

#include <doctest/doctest.h>

#include "engine/transaction/command.h"
#include "tests/unit/engine/fake_node.h"

namespace nrd::idempotency_test {

using namespace std::chrono_literals;
using nrd::testing::a_spec;

namespace {

const Time kNoon{std::chrono::milliseconds(1'700'000'000'000)};

IdempotencyKey a_key(const std::string& key, const std::string& request_hash = "f") {
  return {.key = key, .request_hash = request_hash};
}

void add(Idempotency& keys, const std::string& key, uint64_t workload, Time at) {
  keys.add(a_key(key), WorkloadId{workload}, at);
  keys.keep_added(at);
}

}  // namespace

TEST_CASE("a key leads to its workload for a day and to no other request") {
  Idempotency keys;
  add(keys, "a", 7, kNoon);
  CHECK(*keys.find(a_key("a"), kNoon + 23h) == WorkloadId{7});
  CHECK_FALSE(keys.find(a_key("b"), kNoon)->has_value());
  CHECK(keys.find(a_key("a", "other"), kNoon).error().code == ErrorCode::KeyReused);
  CHECK_FALSE(keys.find(a_key("a", "other"), kNoon + 24h)->has_value());
}

TEST_CASE("keys of a batch are found at once and forgotten if it is not stored") {
  Idempotency keys;
  keys.add(a_key("a"), WorkloadId{1}, kNoon);
  CHECK(*keys.find(a_key("a"), kNoon) == WorkloadId{1});
  keys.drop_added();
  CHECK_FALSE(keys.find(a_key("a"), kNoon)->has_value());
}

TEST_CASE("keys that are a day old and those beyond the limit are forgotten, the oldest first") {
  Idempotency keys;
  add(keys, "old", 1, kNoon);
  for (size_t i = 0; i < Idempotency::kMostKeys - 1; ++i) add(keys, "k" + std::to_string(i), 2, kNoon + 1h);
  keys.add(a_key("one more"), WorkloadId{3}, kNoon + 2h);
  store::Change change;
  keys.write_to(change, kNoon + 2h);
  CHECK(change.forgotten_keys == std::vector<std::string>{"old"});
  REQUIRE(change.keys.size() == 1);
  store::Change next_day;
  keys.write_to(next_day, kNoon + 25h);
  CHECK(next_day.forgotten_keys.size() == Idempotency::kMostKeys);
  keys.keep_added(kNoon + 25h);
  CHECK(*keys.find(a_key("one more"), kNoon + 25h) == WorkloadId{3});
}

TEST_CASE("a flood of keys evicts those of the same client, not those of others") {
  Idempotency keys;
  add(keys, "admin's", 2, kNoon);
  const auto flood = [&keys](size_t i) {
    keys.add({.key = std::to_string(i), .request_hash = "f", .client = "uid 1001"}, WorkloadId{3}, kNoon);
  };
  for (size_t i = 1; i < Idempotency::kMostKeys; ++i) flood(i);
  keys.keep_added(kNoon);
  for (size_t i = 1; i <= 10; ++i) {
    flood(Idempotency::kMostKeys + i);
    store::Change change;
    keys.write_to(change, kNoon);
    CHECK(change.forgotten_keys == std::vector{std::to_string(i)});
    keys.keep_added(kNoon);
  }
  CHECK(*keys.find(a_key("admin's"), kNoon) == WorkloadId{2});
}

TEST_CASE("a key that a clock far ahead has stored does not keep later ones from being used again") {
  Idempotency keys;
  add(keys, "ahead", 1, kNoon + 24h * 365);
  add(keys, "a", 2, kNoon);
  add(keys, "b", 3, kNoon + 1h);
  CHECK_FALSE(keys.find(a_key("a"), kNoon + 24h)->has_value());
  keys.add(a_key("a"), WorkloadId{4}, kNoon + 24h);
  store::Change change;
  keys.write_to(change, kNoon + 24h);
  CHECK(change.forgotten_keys == std::vector<std::string>{"a"});  // the store has each key once
  keys.keep_added(kNoon + 24h);
  CHECK(*keys.find(a_key("a"), kNoon + 24h) == WorkloadId{4});
  CHECK(*keys.find(a_key("b"), kNoon + 24h) == WorkloadId{3});
  CHECK(*keys.find(a_key("ahead"), kNoon + 24h) == WorkloadId{1});
}

}  // namespace nrd::idempotency_test
