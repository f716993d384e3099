// Why a module could not be loaded or removed: a closed list, because the next step depends on it.
//
// The errno alone is ambiguous: ENOENT of finit_module(2) is an unknown symbol, or an initialization that did not find
// something; ENOEXEC is a file for another kernel, or not a module at all. So the kernel log decides first. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace nrd::onload {

enum class Cause {
  InUse,             // remove: a process or another module uses it
  InTransition,      // being loaded or removed, or cannot be removed at all
  NotLoaded,         // remove: no such module
  AlreadyLoaded,     // insert: a module of this name is loaded, maybe from another file
  NoFile,            // the node has no such module
  NotAModule,        // the kernel does not accept the file as a module
  WrongKernel,       // built for another kernel
  UnknownSymbol,     // a dependency is not loaded, or was built differently
  Signature,         // the kernel requires a signature by a trusted key
  Lockdown,          // the kernel is locked down (Secure Boot)
  NotAllowed,        // modules are disabled, or nrd lacks CAP_SYS_MODULE
  UnknownParameter,  // no such parameter; the kernel would only log that
  BadParameter,      // invalid value
  OutOfMemory,
  SyscallTable,    // sfc_resource cannot find the system call table: the kernel is too new for this Onload
  Ibt,             // sfc_resource requires the kernel parameter ibt=off
  InstallCommand,  // modprobe.d replaces the module by a command, which nrd never runs
  InitFailed,      // its initialization failed with `error`
  Other,           // see `error`
};

struct LoadFailure {
  Cause cause = Cause::Other;
  std::string module;
  std::string message;           // one line
  int error = 0;                 // errno; 0: no system call was made
  std::vector<std::string> log;  // kernel messages about this module and Onload meanwhile
  friend bool operator==(const LoadFailure&, const LoadFailure&) = default;
};

using LoadResult = tl::expected<void, LoadFailure>;

// "in_use": the cause of a failed step in the API.
const char* word_of(Cause cause);
// The cause in a line of the kernel log; Other: none.
Cause cause_in(std::string_view line);

// `error` is the errno of finit_module(2) or delete_module(2).
LoadFailure insert_failure(std::string module, int error, std::vector<std::string> log);
LoadFailure remove_failure(std::string module, int error, std::vector<std::string> log);
// Refused by nrd, before any system call.
LoadFailure refused(std::string module, Cause cause, const std::string& detail = {});

}  // namespace nrd::onload
