#include <doctest/doctest.h>

#include "engine/usage.h"

namespace nrd::usage_sampler_test {

using namespace std::chrono_literals;

namespace {

class TurnedClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(passed));
  }
  std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(passed);
  }
  std::chrono::nanoseconds passed = 1h;
};

rdt::Usages used(uint64_t total) {
  return {{ClosId{1}, {{{CacheId{3, 0}}, {.occupancy_bytes = 64, .total_bytes = total, .local_bytes = std::nullopt}}}}};
}

const CacheUsage& of(const UsageSample& sample) { return sample.classes.at(ClosId{1}).at({CacheId{3, 0}}); }

// A client of the sampler and all its answers.
struct Asker {
  std::vector<Result<std::shared_ptr<const UsageSample>>> answers;
  Sampler::Done done() {
    return [this](Result<std::shared_ptr<const UsageSample>> sample) { answers.push_back(std::move(sample)); };
  }
};

}  // namespace

TEST_CASE("the first request waits for a sample, and one within the interval gets the same at once") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  Asker asker;
  CHECK(!sampler.is_due());
  CHECK(sampler.ask(ClosId{1}, asker.done()));
  CHECK(asker.answers.empty());
  CHECK(sampler.is_due());
  sampler.take(used(5), {});
  REQUIRE(asker.answers.size() == 1);
  CHECK(!sampler.is_due());
  clock.passed += 1s;
  CHECK(!sampler.ask(ClosId{1}, asker.done()));
  REQUIRE(asker.answers.size() == 2);
  CHECK(*asker.answers[0] == *asker.answers[1]);
}

TEST_CASE("sampling continues for a while after the last request, then ends") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  Asker asker;
  sampler.ask(ClosId{1}, asker.done());
  int samples = 0;
  for (; sampler.next() && samples < 100; ++samples) {
    clock.passed = std::max(clock.passed, (*sampler.next()).time_since_epoch());
    sampler.take(used(5), {});
  }
  CHECK(samples == 1 + Sampler::kLinger / 1s);
}

TEST_CASE("a rate starts with the second sample, and not after a long pause") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  Asker asker;
  sampler.ask(ClosId{1}, asker.done());
  sampler.take(used(1000), {});
  clock.passed += 2s;
  sampler.take(used(5000), {});
  bool is_due = false;
  CHECK(of(*sampler.last(is_due)).total_bytes_per_second == 2000.0);
  CHECK(of(*sampler.last(is_due)).local_bytes_per_second == std::nullopt);
  CHECK(sampler.last(is_due)->since == 2s);
  clock.passed += 1h;
  sampler.take(used(9000), {});
  CHECK(of(*sampler.last(is_due)).total_bytes_per_second == std::nullopt);
  CHECK(sampler.last(is_due)->since == std::nullopt);
}

TEST_CASE("reading the last sample never waits, and requests one sample for the next read") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  bool is_due = false;
  CHECK(sampler.last(is_due) == nullptr);
  CHECK(is_due);
  CHECK(sampler.is_due());
  sampler.take(used(5), {});
  CHECK(sampler.last(is_due) != nullptr);
  CHECK(!is_due);
  CHECK(sampler.next() == std::nullopt);
}

TEST_CASE("without an interval nothing is sampled, and requests are refused with the reason") {
  TurnedClock clock;
  Sampler sampler(clock, 0s);
  Asker asker;
  CHECK(!sampler.ask(ClosId{1}, asker.done()));
  CHECK(asker.answers.at(0).error().code == ErrorCode::Unsupported);
  bool is_due = true;
  CHECK(sampler.last(is_due) == nullptr);
  CHECK(!is_due);
  CHECK(sampler.next() == std::nullopt);
}

TEST_CASE("a reload that switches monitoring off ends the sampling") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  Asker asker;
  sampler.ask(ClosId{1}, asker.done());
  sampler.take(used(1), {});
  REQUIRE(sampler.next());
  sampler.set_interval(0s);
  CHECK(sampler.next() == std::nullopt);
  CHECK(!sampler.is_due());
}

TEST_CASE("each request is answered once, also above the limit and after the end") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  Asker asker;
  for (size_t i = 0; i <= Sampler::kMost; ++i) sampler.ask(ClosId{1}, asker.done());
  REQUIRE(asker.answers.size() == 1);
  CHECK(asker.answers[0].error().code == ErrorCode::Busy);
  sampler.end();
  CHECK(asker.answers.size() == Sampler::kMost + 1);
  CHECK(!sampler.ask(ClosId{1}, asker.done()));
  CHECK(asker.answers.size() == Sampler::kMost + 2);
  CHECK(sampler.next() == std::nullopt);
}

TEST_CASE("a counter that is lower than before has no rate, one that stays has the rate 0") {
  const UsageSample first = next_sample(nullptr, used(9), {}, UsageSample::Steady(1s), {});
  CHECK(of(next_sample(&first, used(8), {}, UsageSample::Steady(2s), {})).total_bytes_per_second == std::nullopt);
  CHECK(of(next_sample(&first, used(9), {}, UsageSample::Steady(2s), {})).total_bytes_per_second == 0.0);
  CHECK(of(next_sample(&first, used(9), {}, UsageSample::Steady(1s), {})).total_bytes_per_second == std::nullopt);
}

TEST_CASE("a request about a class without counters takes a new sample") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  Asker asker;
  const std::map<ClosId, std::set<CacheId>> counted{{ClosId{1}, {}}, {ClosId{2}, {}}};
  sampler.ask(ClosId{2}, asker.done());
  CHECK(sampler.asked(counted) == std::set{ClosId{2}});
  CHECK(sampler.asked(counted).empty());
  rdt::Usages usages = used(5);
  usages[ClosId{1}][{CacheId{3, 0}}].is_unrequested = true;
  sampler.take(usages, {});
  CHECK(!sampler.ask(ClosId{2}, asker.done()));
  CHECK(sampler.ask(ClosId{1}, asker.done()));
  CHECK(sampler.asked(counted) == std::set{ClosId{1}, ClosId{2}});
  sampler.take(used(5), {});
  CHECK(asker.answers.size() == 3);
}

TEST_CASE("a scrape requests monitoring of all classes") {
  TurnedClock clock;
  Sampler sampler(clock, 1s);
  bool is_due = false;
  const std::map<ClosId, std::set<CacheId>> counted{{ClosId{1}, {}}, {ClosId{2}, {}}};
  sampler.last(is_due);
  CHECK(sampler.asked(counted) == std::set{ClosId{1}, ClosId{2}});
  rdt::Usages usages = used(5);
  usages[ClosId{1}][{CacheId{3, 0}}].is_unrequested = true;
  sampler.take(usages, {});
  sampler.last(is_due);
  CHECK(is_due);
  CHECK(sampler.asked(counted) == std::set{ClosId{1}, ClosId{2}});
}

}  // namespace nrd::usage_sampler_test
