// The spec of a request.
#pragma once

#include <string>
#include <utility>

#include "engine/model/workload.h"

namespace nrd::testing {

// a_spec("4-5").ways(2, 3): the spec a client would send.
struct SpecBuilder {
  Spec spec;
  SpecBuilder ways(uint32_t max, uint32_t min) && {
    spec.cache = CacheRequest{.max = max, .min = min};
    return std::move(*this);
  }
  SpecBuilder no_cache() && {
    spec.cache.reset();
    return std::move(*this);
  }
  SpecBuilder frequency(FrequencyRequest request) && {
    spec.frequency = std::move(request);
    return std::move(*this);
  }
  operator Spec() && { return std::move(spec); }
};

inline SpecBuilder a_spec(const std::string& cpus) {
  SpecBuilder builder;
  builder.spec.core_ids = {cpus};
  builder.spec.cpus = *CpuSet::parse(cpus);
  builder.spec.cache = CacheRequest{};
  return builder;
}

}  // namespace nrd::testing
