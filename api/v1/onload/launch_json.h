// JSON of the launch environment of an application.
#pragma once

#include <string_view>

#include "base/json/writer.h"
#include "engine/onload/allocation.h"

namespace nrd::v1 {

// Its members; `environment`: the key of the variables.
void render_launch(json::Writer& w, const onload::LaunchEnvironment& launch, std::string_view environment);

}  // namespace nrd::v1
