// How clients ask for Onload in a workload, and what they get: opaque outside of the folders named onload. The one
// place of the engine that names it, besides the description of a workload (engine/model) and the folder engine/onload.
#pragma once

#include <memory>

namespace nrd {

namespace onload {
struct RenderRequest;
struct LaunchEnvironment;
}  // namespace onload

// Null: without Onload.
using LaunchRequest = std::shared_ptr<const onload::RenderRequest>;
using Launch = std::shared_ptr<const onload::LaunchEnvironment>;

}  // namespace nrd
