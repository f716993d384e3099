#include "engine/model/latency_histogram.h"

#include <doctest/doctest.h>

namespace nrd::latency_histogram_test {

using namespace std::chrono_literals;

TEST_CASE("histogram bounds are inclusive and the last bucket counts all longer times") {
  Histogram histogram;
  histogram.add(100us);
  histogram.add(100us + 1ns);
  histogram.add(1h);
  Histogram::Buckets expected{};
  expected.front() = 1;
  expected[1] = 1;
  expected.back() = 1;
  CHECK(histogram.buckets() == expected);
  CHECK(histogram.count() == 3);
  CHECK(histogram.sum() == 1h + 200us + 1ns);
}

}  // namespace nrd::latency_histogram_test
