// Why a module could not be loaded or removed: a closed list, because what to do next depends on it.
//
// The errno alone does not say it. ENOENT of finit_module(2) is a symbol that nobody has, but also a module whose start
// did not find something; ENOEXEC is a file for another kernel as well as no module at all. What the kernel wrote into
// its log in the meantime tells them apart, so it is asked first. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace nrd::onload {

enum class Cause {
  InUse,             // remove: somebody holds it, or another module needs it
  InTransition,      // it is being loaded or removed just now, or cannot be removed at all
  NotLoaded,         // remove: there is no such module
  AlreadyLoaded,     // insert: a module of this name is there, maybe from another file
  NoFile,            // the node has no file for this name
  NotAModule,        // the kernel does not take the file for a module
  WrongKernel,       // built for another kernel
  UnknownSymbol,     // what it needs is not loaded, or is not what it was built with
  Signature,         // the kernel wants a signature by a key that it knows
  Lockdown,          // the kernel is locked down (Secure Boot)
  NotAllowed,        // modules are switched off, or nrd lacks CAP_SYS_MODULE
  UnknownParameter,  // it has no such parameter; the kernel would only mention that in its log
  BadParameter,      // it does not take the value
  OutOfMemory,
  SyscallTable,    // sfc_resource does not find the system calls of this kernel: too new for this Onload
  Ibt,             // sfc_resource wants the kernel to be started with ibt=off
  InstallCommand,  // the node's configuration wants a command to be run instead, and nrd runs none
  InitFailed,      // its own start failed; `error` says how
  Other,           // `error` says how
};

struct LoadFailure {
  Cause cause = Cause::Other;
  std::string module;
  std::string message;           // one line for the client
  int error = 0;                 // errno; 0: the kernel was not asked
  std::vector<std::string> log;  // what the kernel wrote meanwhile about this module and Onload
  friend bool operator==(const LoadFailure&, const LoadFailure&) = default;
};

using LoadResult = tl::expected<void, LoadFailure>;

// The cause that a line of the kernel's log tells; Other: none.
Cause cause_in(std::string_view line);

// After finit_module(2) and delete_module(2) failed with `error`.
LoadFailure insert_failure(std::string module, int error, std::vector<std::string> log);
LoadFailure remove_failure(std::string module, int error, std::vector<std::string> log);
// Without having asked the kernel.
LoadFailure refused(std::string module, Cause cause, const std::string& detail = {});

}  // namespace nrd::onload
