#include "daemon/onload/step_errors.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <string_view>
#include <utility>

#include "base/log.h"

namespace nrd::daemon {
namespace {

using namespace onload;

std::string_view word_of(Cause cause) {
  switch (cause) {
    case Cause::InUse: return "in_use";
    case Cause::InTransition: return "in_transition";
    case Cause::NotLoaded: return "not_loaded";
    case Cause::AlreadyLoaded: return "already_loaded";
    case Cause::NoFile: return "no_file";
    case Cause::NotAModule: return "not_a_module";
    case Cause::WrongKernel: return "wrong_kernel";
    case Cause::UnknownSymbol: return "unknown_symbol";
    case Cause::Signature: return "signature";
    case Cause::Lockdown: return "lockdown";
    case Cause::NotAllowed: return "not_allowed";
    case Cause::UnknownParameter: return "unknown_parameter";
    case Cause::BadParameter: return "bad_parameter";
    case Cause::OutOfMemory: return "out_of_memory";
    case Cause::SyscallTable: return "syscall_table";
    case Cause::Ibt: return "ibt";
    case Cause::InstallCommand: return "install_command";
    case Cause::InitFailed: return "init_failed";
    case Cause::Other: return "other";
  }
  return "other";
}

}  // namespace

Acted failed(StepError step_error) {
  log::warning("ONLOAD_STAGE_FAILED", step_error.message, {{"CAUSE", step_error.cause}, {"DETAIL", step_error.detail}});
  return tl::unexpected(std::move(step_error));
}

Acted failed(std::string cause, const Error& error) {
  return failed(StepError{std::move(cause), error.message, error.detail, {}});
}

Acted failed(const LoadFailure& failure) {
  // EPERM means either that modules are disabled or that this process lacks the capability; only the latter can be
  // fixed in the unit.
  const bool may = failure.cause != Cause::NotAllowed || ::prctl(PR_CAPBSET_READ, CAP_SYS_MODULE) == 1;
  const std::string why = may ? "" : "; nrd lacks CAP_SYS_MODULE, install the drop-in onload.conf";
  return failed(StepError{std::string(word_of(failure.cause)), failure.message + why,
                          failure.error == 0 ? "" : "errno " + std::to_string(failure.error), failure.log});
}

}  // namespace nrd::daemon
