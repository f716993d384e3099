// Metrics of Onload: the loaded version, its users as last counted, and operations.
#pragma once

#include <vector>

#include "api/metrics/exposition.h"
#include "api/routing/call.h"

namespace nrd::v1 {

void add_onload(std::vector<metrics::Family>& families, const routing::Call& call);

}  // namespace nrd::v1
