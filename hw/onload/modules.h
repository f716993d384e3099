// Loading and removing kernel modules. The home of libkmod.
//
// A module of a version tree is loaded from a descriptor that was checked (trusted_dir.h), with the parameters given
// and none else. That is finit_module(2) itself: libkmod would want a path to open again and would bring nothing, since
// no index, no alias and no modprobe.d has a say. Removing is delete_module(2) with O_NONBLOCK: it fails at once while
// the module is in use and never forces anything.
//
// What those modules need of the distribution (mtd, ptp, ...) is the node's own: libkmod finds it by the index that
// depmod made and loads it with the options of modprobe.d. A command that is configured to run instead of a module is
// never run, which takes a shell; it is often there to keep a module out, so it counts as a refusal.
//
// Each call may take as long as the module's own start or end. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/load_failure.h"
#include "hw/onload/module_file.h"

namespace nrd::onload {

using ParameterValues = std::map<std::string, std::string>;

// As the kernel takes them: `cplane_server_params="-K -s" phys_mode_gid=0`. Refused: a parameter that the module does
// not have, a value that cannot be written so (control characters, quotation marks, 1024 bytes and more).
tl::expected<std::string, LoadFailure> parameter_line(const ModuleFile& module, const ParameterValues& parameters);

// From the file that `module` was read from.
LoadResult insert_module(int file, const ModuleFile& module, const ParameterValues& parameters);
LoadResult remove_module(const std::string& name);

// The modules of the node itself, as modprobe sees them.
class SystemModules {
 public:
  // For modprobe's own places leave both empty: the modules of the running kernel, and /etc/modprobe.d and its like.
  explicit SystemModules(std::string modules = {}, std::vector<std::string> configuration = {})
      : modules_(std::move(modules)), configuration_(std::move(configuration)) {}

  // The file that would be loaded for this name.
  struct Found {
    std::string path;                // empty: the module is part of the kernel
    std::optional<ModuleFile> file;  // nullopt: it cannot be read (it is gone or compressed)
    friend bool operator==(const Found&, const Found&) = default;
  };
  // nullopt: modprobe knows no such module.
  Result<std::optional<Found>> find(const std::string& name) const;

  // With all that it needs, unless it is there already.
  LoadResult load(const std::string& name) const;

 private:
  std::string modules_;
  std::vector<std::string> configuration_;
};

}  // namespace nrd::onload
