#include "api/metrics/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>

namespace nrd::metrics {
namespace {

prometheus::MetricType type_of(Kind kind) {
  switch (kind) {
    case Kind::Counter: return prometheus::MetricType::Counter;
    case Kind::Gauge: return prometheus::MetricType::Gauge;
    case Kind::Histogram: return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric metric_of(Kind kind, const Sample& sample) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
  (kind == Kind::Counter ? metric.counter.value : metric.gauge.value) = sample.value;
  return metric;
}

prometheus::ClientMetric metric_of(const Distribution& distribution) {
  prometheus::ClientMetric metric;
  for (const auto& [bound, count] : distribution.buckets) metric.histogram.bucket.push_back({count, bound});
  metric.histogram.bucket.push_back({distribution.count, std::numeric_limits<double>::infinity()});
  metric.histogram.sample_count = distribution.count;
  metric.histogram.sample_sum = distribution.sum;
  return metric;
}

prometheus::MetricFamily family_of(const Family& family) {
  prometheus::MetricFamily out{.name = family.name, .help = family.help, .type = type_of(family.kind), .metric = {}};
  for (const Sample& sample : family.samples) out.metric.push_back(metric_of(family.kind, sample));
  if (family.kind == Kind::Histogram) out.metric.push_back(metric_of(family.distribution));
  return out;
}

}  // namespace

std::string exposition(const std::vector<Family>& families) {
  std::vector<prometheus::MetricFamily> out;
  for (const Family& family : families) out.push_back(family_of(family));
  const prometheus::TextSerializer serializer;
  return serializer.Serialize(out);
}

}  // namespace nrd::metrics
