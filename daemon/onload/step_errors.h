// Errors of Onload operation steps. Each is also logged.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/onload/host.h"
#include "hw/onload/load_failure.h"

namespace nrd::daemon {

onload::Acted failed(std::string cause, std::string message, std::string detail = {});
onload::Acted failed(std::string cause, const Error& error);
onload::Acted failed(const onload::LoadFailure& failure);

// A failure becomes an error with this cause.
template <typename T>
tl::expected<T, onload::StepError> step(const char* cause, Result<T> result) {
  return std::move(result).map_error([cause](const Error& error) { return failed(cause, error).error(); });
}

}  // namespace nrd::daemon
