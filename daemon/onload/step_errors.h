// Errors of Onload operation steps. Each is also logged.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/onload/host.h"
#include "hw/onload/load_failure.h"

namespace nrd::daemon {

onload::Acted failed(onload::StepError step_error);
onload::Acted failed(std::string cause, const Error& error);
onload::Acted failed(const onload::LoadFailure& failure);

}  // namespace nrd::daemon
