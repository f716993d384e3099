#include "hw/onload/load_failure.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/errno_text.h"

namespace nrd::onload {
namespace {

// Messages of kernel/module/{main,version,signing}.c, kernel/params.c, security/lockdown/lockdown.c and sfc_resource.
// Both texts must be in the line. The first match counts: a file for another kernel also has mismatched symbols.
struct LogPattern {
  std::string_view text;
  std::string_view also;
  Cause cause;
};
constexpr std::array kLogPatterns{
    LogPattern{"failed to find syscall table", "", Cause::SyscallTable},
    LogPattern{"ibt=off", "", Cause::Ibt},
    LogPattern{"version magic '", "should be '", Cause::WrongKernel},
    LogPattern{"disagrees about version of symbol module_layout", "", Cause::WrongKernel},
    LogPattern{"disagrees about version of symbol", "", Cause::UnknownSymbol},
    LogPattern{"Unknown symbol", "", Cause::UnknownSymbol},
    LogPattern{"Lockdown:", "module", Cause::Lockdown},
    LogPattern{"oading of ", "is rejected", Cause::Signature},
    LogPattern{"invalid for parameter `", "", Cause::BadParameter},
    LogPattern{"too large for parameter `", "", Cause::BadParameter},
};

// The word for programs and the description for people.
struct CauseText {
  Cause cause;
  const char* word;
  const char* description;
};
constexpr std::array kCauseTexts{
    CauseText{Cause::InUse, "in_use", "it is in use"},
    CauseText{Cause::InTransition, "in_transition", "it is being loaded or removed, or cannot be removed at all"},
    CauseText{Cause::NotLoaded, "not_loaded", "it is not loaded"},
    CauseText{Cause::AlreadyLoaded, "already_loaded", "a module of this name is already loaded"},
    CauseText{Cause::NoFile, "no_file", "no such module is installed on this node"},
    CauseText{Cause::NotAModule, "not_a_module", "the kernel does not accept the file as a module"},
    CauseText{Cause::WrongKernel, "wrong_kernel", "it was built for another kernel"},
    CauseText{Cause::UnknownSymbol, "unknown_symbol", "a module it depends on is not loaded or was built differently"},
    CauseText{Cause::Signature, "signature", "the kernel requires a signature by a trusted key"},
    CauseText{Cause::Lockdown, "lockdown", "the kernel is locked down"},
    CauseText{Cause::NotAllowed, "not_allowed", "loading and removing modules is not permitted on this node"},
    CauseText{Cause::UnknownParameter, "unknown_parameter", "it has no such parameter"},
    CauseText{Cause::BadParameter, "bad_parameter", "invalid parameter value"},
    CauseText{Cause::OutOfMemory, "out_of_memory", "out of memory"},
    CauseText{Cause::SyscallTable, "syscall_table",
              "it cannot find the system call table; this Onload version does not support the kernel"},
    CauseText{Cause::Ibt, "ibt", "the kernel must be started with ibt=off"},
    CauseText{Cause::InstallCommand, "install_command",
              "modprobe is configured to run an install command instead, which nrd never does"},
    CauseText{Cause::InitFailed, "init_failed", "its initialization failed"},
    CauseText{Cause::Other, "other", "the kernel refused"},
};

size_t rank_of(Cause cause) {
  const auto* const at = std::ranges::find(kLogPatterns, cause, &LogPattern::cause);
  return static_cast<size_t>(at - kLogPatterns.begin());
}

Cause cause_in(const std::vector<std::string>& log) {
  Cause best = Cause::Other;
  for (const std::string& line : log) {
    const Cause cause = onload::cause_in(std::string_view(line));
    if (rank_of(cause) < rank_of(best)) best = cause;
  }
  return best;
}

Cause insert_cause(int error) {
  switch (error) {
    case EEXIST: return Cause::AlreadyLoaded;
    case EBUSY: return Cause::InTransition;
    case ENOEXEC: return Cause::NotAModule;
    case ENOMEM: return Cause::OutOfMemory;
    case ENOSYS:  // a kernel without modules
    case EPERM: return Cause::NotAllowed;
    case EKEYREJECTED:
    case ENOKEY:
    case EBADMSG: return Cause::Signature;
    default: return Cause::InitFailed;
  }
}

Cause remove_cause(int error) {
  switch (error) {
    case EAGAIN: return Cause::InUse;
    case EBUSY: return Cause::InTransition;
    case ENOENT: return Cause::NotLoaded;
    case ENOSYS:
    case EPERM: return Cause::NotAllowed;
    default: return Cause::Other;
  }
}

const CauseText& text_of(Cause cause) { return *std::ranges::find(kCauseTexts, cause, &CauseText::cause); }

LoadFailure failure(std::string module, const char* what, Cause cause, int error, std::vector<std::string> log) {
  std::string message = module + what + text_of(cause).description;
  if (cause == Cause::InitFailed || cause == Cause::Other) message += ": " + errno_text(error);
  return {cause, std::move(module), std::move(message), error, std::move(log)};
}

}  // namespace

const char* word_of(Cause cause) { return text_of(cause).word; }

Cause cause_in(std::string_view line) {
  for (const LogPattern& pattern : kLogPatterns) {
    if (line.find(pattern.text) != std::string_view::npos && line.find(pattern.also) != std::string_view::npos) {
      return pattern.cause;
    }
  }
  return Cause::Other;
}

LoadFailure insert_failure(std::string module, int error, std::vector<std::string> log) {
  // A loaded module was not initialized again, so the log is about something else.
  const Cause logged = error == EEXIST ? Cause::Other : cause_in(log);
  const Cause cause = logged == Cause::Other ? insert_cause(error) : logged;
  return failure(std::move(module), " cannot be loaded: ", cause, error, std::move(log));
}

LoadFailure remove_failure(std::string module, int error, std::vector<std::string> log) {
  return failure(std::move(module), " cannot be removed: ", remove_cause(error), error, std::move(log));
}

LoadFailure refused(std::string module, Cause cause, const std::string& detail) {
  LoadFailure failure = onload::failure(std::move(module), " cannot be loaded: ", cause, 0, {});
  if (!detail.empty()) failure.message += ": " + detail;
  return failure;
}

}  // namespace nrd::onload
