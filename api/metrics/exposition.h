// Prometheus text format 0.0.4. Only this module uses prometheus-cpp, and only its serializer: a scrape builds the
// metric families from published state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nrd::metrics {

inline constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

enum class Kind { Counter, Gauge, Histogram };

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  double value = 0;
  Labels labels{};
};

// The data of a histogram.
struct Distribution {
  std::vector<std::pair<double, uint64_t>> buckets{};  // upper bound, cumulative count
  uint64_t count = 0;
  double sum = 0;
};

struct Family {
  // To a counter or gauge.
  template <typename Number>
  void add(Number value, Labels labels = {}) {
    samples.push_back({.value = static_cast<double>(value), .labels = std::move(labels)});
  }

  std::string name;  // with its unit: "nrd_commit_seconds"
  std::string help;
  Kind kind = Kind::Gauge;
  std::vector<Sample> samples{};  // of a counter or gauge; may be none
  Distribution distribution{};    // of a histogram
};

// A counter or gauge without labels; true is 1. Without a sample if there is no value.
template <typename Number>
Family one(Kind kind, const char* name, const char* help, std::optional<Number> value) {
  Family family{.name = name, .help = help, .kind = kind};
  if (value) family.add(*value);
  return family;
}
template <typename Number>
Family one(Kind kind, const char* name, const char* help, Number value) {
  return one(kind, name, help, std::optional(value));
}

std::string exposition(const std::vector<Family>& families);

}  // namespace nrd::metrics
