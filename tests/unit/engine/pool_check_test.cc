#include "engine/pool_check.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "engine/model/cpu_noise.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::pool_check_test {

using nrd::testing::a_process;
using nrd::testing::CpuPoolFixture;
using nrd::testing::for_cpus;

TEST_CASE("a check is about the online CPUs of the pool and its settings") {
  CpuPoolFixture f;
  CpuPool pool{.name = "fast", .cpus = *CpuSet::parse("2-7,90"), .latency_us = 2, .low_noise = true};
  const cpuset::CheckQuery query = check_query_of(f.state(), pool);
  CHECK(query.cpus == *CpuSet::parse("2-7"));
  CHECK(query.low_noise);
  CHECK(query.latency_us == 2);
  CHECK(query.use.exclusive == query.cpus);
}

TEST_CASE("siblings disturb if others may use them") {
  CpuPoolFixture f;
  CpuPool pool = f.state().config->cpu_pools.front();
  CHECK(busy_siblings(f.state(), pool).empty());  // whole cores
  pool.threads = CpuPool::Threads::Any;
  const auto any = busy_siblings(f.state(), pool);
  REQUIRE(any.size() == 1);
  CHECK(any[0].cpus == pool.cpus);
  CHECK(any[0].text == "another thread of the same core may be used at the same time");
  pool.cpus = CpuSet{2};  // without its sibling
  CHECK(busy_siblings(f.state(), pool)[0].text ==
        "another thread of the same core is not in the pool, and may run other tasks");
}

TEST_CASE("siblings that are kept idle do not disturb") {
  CpuPoolFixture f;
  const auto workload = f.create(for_cpus({.pool = "fast", .count = 1}, {a_process(10)}));
  REQUIRE(workload);
  CpuPool pool = f.state().config->cpu_pools.front();
  pool.threads = CpuPool::Threads::Any;
  const CpuGrant& grant = *workload->grant.cpu;
  CHECK(busy_siblings(f.state(), pool)[0].cpus == pool.cpus - grant.exclusive - grant.idle_siblings);
}

TEST_CASE("checks run one after the other, and too many of a client are refused") {
  std::promise<void> begun, go;
  std::atomic<int> number = 0;
  PoolCheck checks([&](const cpuset::CheckQuery&) {
    if (++number == 1) {
      begun.set_value();
      go.get_future().wait();
    }
    return PoolCheck::Disturbances();
  });
  std::vector<std::promise<bool>> answers(12);
  for (std::promise<bool>& answer : answers) {
    checks.run({}, {[&answer](const Result<PoolCheck::Disturbances>& found) { answer.set_value(found.has_value()); },
                    Client{.client_key = "uid 1001"}});
    if (&answer == &answers.front()) begun.get_future().wait();
  }
  // One runs, 4 wait.
  for (size_t i = 5; i < answers.size(); ++i) CHECK_FALSE(answers[i].get_future().get());
  go.set_value();
  for (size_t i = 0; i < 5; ++i) CHECK(answers[i].get_future().get());
  CHECK(number == 5);
}

TEST_CASE("a check whose client has disconnected is not begun") {
  std::atomic<int> begun = 0;
  std::promise<bool> answered;
  PoolCheck checks([&begun](const cpuset::CheckQuery&) {
    ++begun;
    return PoolCheck::Disturbances();
  });
  const auto gone = std::make_shared<const std::atomic<bool>>(true);
  checks.run({},
             {[&answered](const Result<PoolCheck::Disturbances>& result) { answered.set_value(result.has_value()); },
              Client{.client_key = "uid 1001", .is_privileged = false, .hung_up = gone}});
  CHECK_FALSE(answered.get_future().get());
  CHECK(begun == 0);
}

}  // namespace nrd::pool_check_test
