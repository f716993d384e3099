#include "daemon/onload/step_errors.h"

#include <fmt/core.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include <utility>

#include "base/log.h"

namespace nrd::daemon {

using namespace onload;

namespace {

Acted logged(StepError step_error) {
  log::warning("ONLOAD_STEP_FAILED", step_error.message, {{"CAUSE", step_error.cause}, {"DETAIL", step_error.detail}});
  return tl::unexpected(std::move(step_error));
}

}  // namespace

Acted failed(std::string cause, std::string message, std::string detail) {
  return logged({std::move(cause), std::move(message), std::move(detail), {}});
}

Acted failed(std::string cause, const Error& error) { return failed(std::move(cause), error.message, error.detail); }

Acted failed(const LoadFailure& failure) {
  // EPERM means either that modules are disabled or that this process lacks the capability; only the latter can be
  // fixed in the unit.
  const bool may = failure.cause != Cause::NotAllowed || ::prctl(PR_CAPBSET_READ, CAP_SYS_MODULE) == 1;
  const std::string why = may ? "" : "; nrd lacks CAP_SYS_MODULE, install the drop-in onload.conf";
  return logged({word_of(failure.cause), failure.message + why,
                 failure.error == 0 ? "" : fmt::format("errno {}", failure.error), failure.log});
}

}  // namespace nrd::daemon
