// How long the writer's slow steps took, since start: histograms that a reader gets with the published NodeState.
//
// Bounds are upper ones and inclusive, as Prometheus has them ("le"). A step that takes longer than the last bound is
// in the last bucket, so that nothing is left out of count().
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>

namespace nrd {

class Histogram {
 public:
  // A converge of one mask through libpqos takes a tenth of a millisecond, a commit to a disk that syncs some ten of
  // them.
  static constexpr std::array<std::chrono::microseconds, 16> kBounds = {
      {std::chrono::microseconds(100), std::chrono::microseconds(250), std::chrono::microseconds(500),
       std::chrono::microseconds(1000), std::chrono::microseconds(2500), std::chrono::microseconds(5000),
       std::chrono::microseconds(10'000), std::chrono::microseconds(25'000), std::chrono::microseconds(50'000),
       std::chrono::microseconds(100'000), std::chrono::microseconds(250'000), std::chrono::microseconds(500'000),
       std::chrono::microseconds(1'000'000), std::chrono::microseconds(2'500'000), std::chrono::microseconds(5'000'000),
       std::chrono::microseconds(10'000'000)}};
  // One for each bound, and one for all above.
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
  Histogram converge;  // each, also one that the hardware refused
  Histogram commit;    // each, whatever became of it
  friend bool operator==(const LatencyHistograms&, const LatencyHistograms&) = default;
};

}  // namespace nrd
