// Durations of the transaction's slow steps since start: histograms that readers get with the published NodeState.
//
// Bounds are inclusive upper bounds, as in Prometheus ("le"). A step longer than the last bound counts in the last
// bucket, so count() includes it.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>

namespace nrd {

class Histogram {
 public:
  // Writing one mask through libpqos takes about 0.1 ms, a commit to a disk that syncs about 10 ms.
  static constexpr std::array<std::chrono::microseconds, 16> kBounds = {
      {std::chrono::microseconds(100), std::chrono::microseconds(250), std::chrono::microseconds(500),
       std::chrono::microseconds(1000), std::chrono::microseconds(2500), std::chrono::microseconds(5000),
       std::chrono::microseconds(10'000), std::chrono::microseconds(25'000), std::chrono::microseconds(50'000),
       std::chrono::microseconds(100'000), std::chrono::microseconds(250'000), std::chrono::microseconds(500'000),
       std::chrono::microseconds(1'000'000), std::chrono::microseconds(2'500'000), std::chrono::microseconds(5'000'000),
       std::chrono::microseconds(10'000'000)}};
  // One bucket for each bound, and one above the last.
  using Buckets = std::array<uint64_t, kBounds.size() + 1>;

  void add(std::chrono::nanoseconds took) {
    const auto bound = std::ranges::find_if(kBounds, [took](std::chrono::microseconds most) { return took <= most; });
    ++buckets_[static_cast<size_t>(bound - kBounds.begin())];
    sum_ += took;
  }
  const Buckets& buckets() const { return buckets_; }
  uint64_t count() const { return std::accumulate(buckets_.begin(), buckets_.end(), uint64_t{0}); }
  std::chrono::nanoseconds sum() const { return sum_; }
  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  Buckets buckets_{};
  std::chrono::nanoseconds sum_{0};
};

struct LatencyHistograms {
  Histogram converge;  // every attempt, including failed ones
  Histogram commit;    // every attempt, whatever its outcome
  friend bool operator==(const LatencyHistograms&, const LatencyHistograms&) = default;
};

}  // namespace nrd
