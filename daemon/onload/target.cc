#include "daemon/onload/target.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "base/joined.h"
#include "base/number.h"
#include "hw/onload/modules.h"

namespace nrd::daemon {
namespace {

using namespace onload;
using onload::Spec;  // not nrd::Spec

// The module prints these ids into seven bytes.
constexpr uint32_t kMostId = 999999;

ParameterValues with_ours(const Spec& spec, const Version& version, const ModuleFile& file, const std::string& tree) {
  ParameterValues values;
  const auto ours = [&](const std::string& name, const std::string& value) {
    if (std::ranges::find(file.parameters, name) != file.parameters.end()) values[name] = value;
  };
  if (file.name == "onload") {
    if (!version.control_plane.empty()) ours("cplane_server_path", tree + "/" + version.control_plane);
    ours("cplane_server_params", joined(spec.control_plane, " "));
    ours("cplane_spawn_server", "Y");
  }
  if (const auto* asked = find_in(spec.parameters, file.name)) {
    for (const auto& [name, value] : *asked) values[name] = value;
  }
  return values;
}

Result<void> check_ids(const Spec& spec) {
  const auto* asked = find_in(spec.parameters, "onload");
  if (!asked) return {};
  for (const char* name : {"cplane_server_uid", "cplane_server_gid"}) {
    const std::string* value = find_in(*asked, name);
    if (!value) continue;
    const auto id = parse_number<uint32_t>(*value);
    if (id && *id <= kMostId) continue;
    return fail_at(ErrorCode::BadRequest, std::string("/parameters/onload/") + name, "is out of range for the module",
                   "0 to 999999");
  }
  return {};
}

// Reject parameters for modules that are not loaded: they would have no effect.
Result<void> check_modules(const Spec& spec, const Target& target) {
  for (const auto& [module, values] : spec.parameters) {
    if (std::ranges::find(target.modules, module, &TargetModule::name) != target.modules.end()) continue;
    return fail_at(ErrorCode::BadRequest, "/parameters/" + module,
                   is_of_driver(module) ? "the driver is not managed by nrd (sfc)" : "the version has no such module");
  }
  return {};
}

}  // namespace

Result<std::vector<VersionModule>> modules_for(const Version& version, const std::string& kernel) {
  const std::vector<VersionModule>* modules = find_in(version.kernels, kernel);
  const auto is_onload = [](const VersionModule& module) { return module.file.name == "onload"; };
  if (modules && std::ranges::any_of(*modules, is_onload)) return *modules;
  const std::string others = joined(version.kernels, ", ", [](const auto& entry) { return entry.first; });
  return fail_at(ErrorCode::BadRequest, "/version",
                 fmt::format("{} has no modules for kernel {}", version.name, kernel),
                 "a version for this kernel; this version supports: " + (others.empty() ? "none" : others));
}

Target target_without_modules(const Spec& spec) {
  return {.state = spec.state,
          .sfc = spec.sfc,
          .users = spec.users,
          .drain = spec.drain,
          .device_access = spec.state == State::Unmanaged ? DeviceAccess::Unchanged : DeviceAccess::Open};
}

Result<Target> target_of(const Spec& spec, const Version& version, const std::string& kernel, const std::string& tree,
                         const std::vector<AllowedParameter>& allowed) {
  const std::vector<VersionModule> modules = TRY(modules_for(version, kernel));
  TRY(check_ids(spec));
  TRY(check_parameters(spec.parameters, allowed, tree));
  Target target = target_without_modules(spec);
  target.version = version.name;
  for (const auto& [path, file] : modules) {
    if (is_of_driver(file.name) && spec.sfc == Sfc::External) continue;
    ParameterValues values = with_ours(spec, version, file, tree);
    if (const auto line = parameter_line(file, values); !line) {
      return fail_at(ErrorCode::BadRequest, "/parameters/" + file.name, line.error().message);
    }
    target.modules.push_back({file.name, file.build_id, std::move(values)});
  }
  TRY(check_modules(spec, target));
  return target;
}

}  // namespace nrd::daemon
