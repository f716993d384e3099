// The control loop on recorded traces: each sample is the percentage of branch misses to hits in 200 ms.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "engine/model/workload.h"
#include "engine/plan/frequency_governor.h"

namespace nrd::plan_frequency_governor_test {

using namespace std::chrono_literals;
using plan::GovernorState;
using plan::Speed;
using pstate::BranchCounts;

namespace {

constexpr BranchMissThreshold kThreshold{3.0};
constexpr uint64_t kBranches = 100'000'000;  // of a busy CPU in one sample

BranchCounts with_percent(BranchCounts counts, double percent) {
  // percent = 100 * misses / (branches - misses)
  const auto misses = static_cast<uint64_t>(static_cast<double>(kBranches) * percent / (100 + percent));
  return {counts.branches + kBranches, counts.misses + misses};
}

class Trace {
 public:
  explicit Trace(BranchCounts start = {}) : counts_(start) { step(counts_); }

  Trace& run(double percent, int samples) {
    for (int i = 0; i < samples; ++i) {
      counts_ = with_percent(counts_, percent);
      step(counts_);
    }
    return *this;
  }
  Trace& idle(int samples) {
    for (int i = 0; i < samples; ++i) step(BranchCounts{++counts_.branches, counts_.misses});
    return *this;
  }
  Trace& offline(int samples) {
    for (int i = 0; i < samples; ++i) step(std::nullopt);
    return *this;
  }
  Trace& reopened() {
    counts_ = {};
    return *this;
  }

  const GovernorState& control() const { return control_; }
  // F and S by sample.
  const std::string& governors() const { return governors_; }
  std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch());
  }

 private:
  void step(const std::optional<BranchCounts>& counted) {
    control_ = plan::next(control_, kThreshold, counted, now_);
    now_ += plan::kSampleInterval;
    governors_ += control_.speed == Speed::Fast ? 'F' : 'S';
  }

  BranchCounts counts_;
  GovernorState control_;
  GovernorState::Time now_{};
  std::string governors_;
};

}  // namespace

TEST_CASE("a CPU starts fast and stays fast above the threshold") {
  CHECK(Trace().run(8, 10).governors() == "FFFFFFFFFFF");
}

TEST_CASE("a CPU slows down after three consecutive samples below the threshold") {
  const Trace trace = Trace().run(1, 12).run(8, 5);
  CHECK(trace.governors() == "FFFSSSSSSSSSSSSFFF");
  CHECK(trace.control().transitions == 2);
}

TEST_CASE("the ratio is misses in percent of hits") {
  Trace trace;
  trace.run(4, 1);
  REQUIRE(trace.control().percent);
  CHECK(*trace.control().percent == doctest::Approx(4.0).epsilon(0.001));
}

TEST_CASE("noise around the threshold changes nothing") {
  Trace trace;
  for (int i = 0; i < 200; ++i) trace.run(i % 2 == 0 ? 2.75 : 3.25, 1);
  CHECK(trace.control().transitions == 0);
  for (int i = 0; i < 200; ++i) trace.run(i % 3 == 0 ? 5.0 : 1.0, 1);  // beyond it, but never three times on end
  CHECK(trace.control().transitions == 0);
}

TEST_CASE("a square wave changes the speed once per half period, at most once per kMinInterval") {
  Trace slow;
  for (int half = 0; half < 20; ++half) slow.run(half % 2 == 0 ? 1 : 9, 25);  // 5 s each
  CHECK(slow.control().transitions == 20);
  // Half periods shorter than the rest: the bound holds whatever is run.
  Trace fast;
  for (int half = 0; half < 400; ++half) fast.run(half % 2 == 0 ? 1 : 9, 4);
  const auto most = static_cast<uint64_t>(fast.elapsed() / plan::kMinInterval + 1);
  CHECK(fast.control().transitions <= most);
  CHECK(fast.control().transitions > most / 4);
}

TEST_CASE("an idle CPU keeps its speed") {
  const Trace trace = Trace().run(1, 5).idle(100);
  CHECK(trace.control().speed == Speed::Slow);
  CHECK(*trace.control().percent == doctest::Approx(1.0).epsilon(0.001));
}

TEST_CASE("wrapping counters give valid samples") {
  const uint64_t nearly = std::numeric_limits<uint64_t>::max() - kBranches / 2;
  const Trace trace = Trace(BranchCounts{nearly, nearly}).run(1, 5);
  CHECK(trace.governors() == "FFFSSS");
}

TEST_CASE("a CPU starts a new sample after being offline or a counter reset") {
  Trace trace;
  trace.run(1, 2).offline(3).reopened().run(1, 2);
  CHECK(trace.control().speed == Speed::Fast);
  CHECK(trace.run(1, 2).control().speed == Speed::Slow);
  Trace reopened;
  reopened.run(8, 3).reopened().run(8, 5);
  CHECK(reopened.control().transitions == 0);
}

TEST_CASE("samples separated by idle time are not consecutive") {
  Trace trace;
  for (int i = 0; i < 5; ++i) trace.run(0.5, 1).idle(3000);
  CHECK(trace.control().transitions == 0);
}

}  // namespace nrd::plan_frequency_governor_test
