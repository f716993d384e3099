#include "daemon/onload/host.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/joined.h"
#include "base/log.h"
#include "daemon/onload/control_plane.h"
#include "daemon/onload/preflight_checks.h"
#include "daemon/onload/step_errors.h"
#include "daemon/onload/target.h"
#include "daemon/onload/verify.h"
#include "daemon/onload/version_cache.h"
#include "engine/onload/next_step.h"
#include "hw/onload/control_plane.h"
#include "hw/onload/devices.h"
#include "hw/onload/interface_settings.h"
#include "hw/onload/interfaces.h"
#include "hw/onload/kernel_file.h"
#include "hw/onload/kernel_log.h"
#include "hw/onload/load_order.h"
#include "hw/onload/module_state.h"
#include "hw/onload/modules.h"
#include "hw/onload/stacks.h"
#include "hw/onload/stop_process.h"
#include "hw/onload/user_files.h"
#include "hw/onload/user_finder.h"
#include "hw/onload/versions.h"

namespace nrd::daemon {
namespace {

using namespace onload;
using onload::Spec;  // not nrd::Spec

std::string running_kernel() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "";
}

class OnloadHost final : public Host {
 public:
  OnloadHost(const LaunchConfig& config, const Access& devices, const Clock& clock)
      : config_(config), devices_(devices), clock_(clock), versions_({}, config_.versions), known_(versions_) {}

  Result<ObservedState> observe() override {
    ObservedState observed;
    observed.modules = TRY(read_modules());
    // Addresses need netlink, which nrd lacks without the drop-in systemd/onload.conf.
    observed.interfaces = TRY(read_interfaces(kRoot, {}));
    observed.devices = TRY(read_devices(kRoot));
    observed.servers = TRY(read_servers(kRoot));
    std::optional<std::string> current = TRY(versions_.current());
    observed.current = current.value_or("");
    if (observed.modules.contains("onload")) observed.library_fits = library_fits(observed.current);
    return observed;
  }

  InUse find_users() override { return users_.find({.library = current_library()}); }

  Result<onload::Target> target_of(const Spec& spec) override {
    if (spec.state != State::Loaded) return with_devices(target_without_modules(spec));
    const std::optional<Version> version = TRY(if_found(known_.read(spec.version)));
    if (!version) return unknown_version(spec.version);
    return daemon::target_of(spec, *version, running_kernel(), tree_of(spec.version), config_.parameters)
        .map([this](onload::Target target) { return with_devices(std::move(target)); });
  }

  std::vector<Check> examine(const Spec& spec) override {
    std::vector<Check> checks;
    if (spec.state == State::Loaded) checks = examine_version(versions_, spec.version, running_kernel());
    const bool is_there = std::ranges::none_of(checks, [](const Check& check) { return check.refusal.has_value(); });
    if (!is_there) return checks;
    const Result<onload::Target> target = target_of(spec);
    if (spec.state == State::Loaded) checks.push_back(check_of("parameters", target.map([](const onload::Target&) {})));
    if (target) checks.push_back(check_of("default_route", check_driver(*target)));
    return checks;
  }

  Result<void> may_remove_driver() override { return check_routes("sfc"); }

  Acted close_device_access() override { return set_device_access({.uid = 0, .gid = 0, .mode = 0}); }
  Acted open_device_access() override { return set_device_access(devices_); }

  Acted end_user(const ProcessId& process, Force force) override {
    return step("end_user", signal_process(process, force == Force::Term ? Signal::Term : Signal::Kill));
  }

  Acted stop_control_plane() override {
    TRY(stop_spawning(kRoot));
    return stop_servers(kRoot, find_users().services);
  }

  Acted remove(const std::string& module) override {
    log_.reset();
    if (is_of_driver(module)) {
      TRY(step("default_route", check_routes(module)));
    }
    if (module == "onload") {
      // Otherwise a server could restart while the module is being removed.
      TRY(stop_spawning(kRoot));
    }
    const LoadResult removed = remove_module(module);
    if (!removed && removed.error().cause != Cause::NotLoaded) return failed(removed.error());
    const std::optional<Module> left = TRY(step("unreadable", read_module(kRoot, module)));
    if (left) return failed("still_loaded", fmt::format("the module {} was loaded again", module));
    return {};
  }

  Acted switch_to(const std::string& version) override { return step("files", versions_.select(version)); }

  Acted insert(const std::string& version, const TargetModule& module) override {
    if (!log_) {
      if (Result<KernelLog> log = KernelLog::open()) log_ = *std::move(log);
    }
    Acted inserted = insert_file(version, module);
    if (!inserted) {
      log_.reset();
      return inserted;
    }
    // The kernel creates the nodes for all users, and the verification, before which nrd opens nothing, takes seconds.
    // It also reports nodes that cannot be changed.
    for (const char* device : kDevices) (void)set_access(kRoot, device, devices_);
    return {};
  }

  Acted insert_system_module(const std::string& module) override {
    const LoadResult loaded = load_system_module(module);
    return loaded ? Acted() : failed(loaded.error());
  }

  Acted set_parameter(const std::string& module, const std::string& parameter, const std::string& value) override {
    if (module == "onload") return set_onload_parameter(kRoot, parameter, value, clock_);
    return step("parameter", write_parameter(kRoot, module, parameter, value));
  }

  Result<void> set_interface(const std::string& interface, InterfaceSwitch what, SwitchState to) override {
    return what == InterfaceSwitch::Acceleration ? write_acceleration(kRoot, interface, to)
                                                 : write_registration(kRoot, interface, to);
  }

  Acted verify(const onload::Target& target, const std::vector<NotedInterface>& before) override {
    const Version version = TRY(step("files", known_.read(target.version)));
    Expected expected{
        .target = target, .before = before, .library_fits = library_fits(target.version), .release = {}, .kernel = {}};
    for (const auto& [path, file] : version.kernels.at(running_kernel())) {
      if (file.name == "onload") expected.release = file.version;
    }
    if (log_) {
      std::vector<std::string> names;
      for (const TargetModule& module : target.modules) names.push_back(module.name);
      if (Result<std::vector<LogLine>> lines = log_->read(names)) expected.kernel = *std::move(lines);
      log_.reset();
    }
    return verify_onload(expected, clock_);
  }

  Result<std::vector<Version>> versions() override {
    const std::vector<std::string> names = TRY(versions_.names());
    std::vector<Version> all;
    for (const std::string& name : names) {
      Result<Version> version = versions_.read(name);
      if (!version) return damaged(name, std::move(version.error()));
      all.push_back(*std::move(version));
    }
    return all;
  }

  Result<Version> import(const std::string& name, const std::string& source) override {
    if (!source.starts_with(config_.imports + "/") || !parts_of(source.substr(config_.imports.size() + 1))) {
      return fail_at(ErrorCode::BadRequest, "/source", "must be below " + config_.imports,
                     "a directory or tar archive below onload.imports (nrd.toml)");
    }
    Result<Version> version = versions_.import(name, source);
    if (!version) return source_at_fault(version.error(), source);
    return version;
  }

  Result<void> remove_version(const std::string& name) override {
    const std::string tree = tree_of(name) + "/";
    const InUse use = find_users();
    if (use.ended_early) {
      return fail(ErrorCode::Conflict, fmt::format("cannot tell who uses version {}: {}", name, use.unknown.back()));
    }
    for (const auto* users : {&use.users, &use.services}) {
      for (const User& user : *users) {
        if (!user.library.starts_with(tree) && !user.exe.starts_with(tree)) continue;
        return fail(ErrorCode::Conflict,
                    fmt::format("{} (pid {}) uses the files of version {}", user.comm, user.process.pid, name));
      }
    }
    return versions_.remove(name);
  }

  Result<std::vector<Stack>> stacks() override { return read_stacks(kRoot); }

  Result<std::vector<Interface>> interfaces() override {
    return addresses_of_host().and_then([](const Addresses& addresses) { return read_interfaces(kRoot, addresses); });
  }

 private:
  std::string tree_of(const std::string& version) const { return tree_of_version(config_.versions, version); }

  std::string current_library() {
    const Result<std::optional<std::string>> current = versions_.current();
    if (!current || !*current) return {};
    const Result<Version> version = known_.read(**current);
    return version && !version->library.empty() ? tree_of(**current) + "/" + version->library : "";
  }

  Failure unknown_version(const std::string& name) const {
    const std::string known = joined(versions_.names().value_or(std::vector<std::string>{}), ", ");
    return fail_at(ErrorCode::BadRequest, "/version", fmt::format("version {} not found", name),
                   known.empty() ? "none installed; use POST /v1/onload/versions" : known);
  }

  // Not the client's fault, whatever is wrong with the files.
  static Failure damaged(const std::string& name, Error error) {
    error.code = ErrorCode::Store;
    return fail_of("version " + name, std::move(error));
  }

  onload::Target with_devices(onload::Target target) const {
    target.devices = devices_;
    return target;
  }

  static Result<std::map<std::string, Module>> read_modules() {
    std::map<std::string, Module> modules;
    for (const std::string& name : TRY(list_directory(std::string(kRoot) + "/sys/module"))) {
      if (!is_onload_module(name)) continue;
      std::optional<Module> module = TRY(read_module(kRoot, name));
      if (module) modules.emplace(name, *std::move(module));
    }
    return modules;
  }

  // nullopt: no library, or no module to compare with. Cached by name, because a version never changes.
  std::optional<bool> library_fits(const std::string& version) {
    const Result<std::optional<InterfaceVersion>> listed = read_interface_version(kRoot);
    if (version.empty() || !listed || !*listed || (*listed)->user_kernel.empty()) return std::nullopt;
    const std::pair<std::string, std::string> pair(version, (*listed)->user_kernel);
    if (fits_ && fits_->first == pair) return fits_->second;
    const Result<Version> tree = known_.read(version);
    if (!tree || tree->library.empty()) return std::nullopt;
    const Result<UniqueFd> file = versions_.open(version, tree->library);
    const Result<bool> holds = file ? contains_text(file->get(), pair.second) : Failure(file.error());
    if (!holds) {
      log::warning("ONLOAD_LIBRARY_UNREADABLE", holds.error().message, {{"DETAIL", holds.error().detail}});
      return std::nullopt;
    }
    fits_ = {pair, *holds};
    return *holds;
  }

  // Compare with the modules loaded now.
  Result<void> check_driver(const onload::Target& target) const {
    std::map<std::string, Module> modules = TRY(read_modules());
    const std::vector<std::string> removed = removals(target, {.modules = std::move(modules)});
    for (const std::string& module : removed) {
      if (is_of_driver(module)) TRY(check_routes(module));
    }
    return {};
  }

  // Removing the driver would cut the connection to this node.
  Result<void> check_routes(const std::string& module) const {
    if (!config_.protect_default_route) return {};
    for (const Interface& interface : TRY(read_interfaces(kRoot, {}))) {
      if (!interface.default_route || interface.driver_module != module) continue;
      return fail(ErrorCode::Conflict,
                  fmt::format("driver {} would be removed, but its interface {} carries this node's default route; set "
                              "onload.protect_default_route in nrd.toml to allow it",
                              module, interface.name));
    }
    return {};
  }

  Acted set_device_access(const Access& access) const {
    for (const char* device : kDevices) {
      const Result<void> set = set_access(kRoot, device, access);
      if (!set && set.error().code != ErrorCode::NotFound) return failed("device", set.error());
    }
    return {};
  }

  Acted insert_file(const std::string& version, const TargetModule& module) {
    const Version tree = TRY(step("files", known_.read(version)));
    const auto modules = tree.kernels.find(running_kernel());
    if (modules == tree.kernels.end()) return failed("wrong_kernel", version + " has no modules for this kernel");
    const auto of_module = [&](const VersionModule& one) { return one.file.name == module.name; };
    const auto found = std::ranges::find_if(modules->second, of_module);
    if (found == modules->second.end()) return failed("no_file", fmt::format("{} has no {}", version, module.name));

    for (const std::string& needed : needed_of_system(modules->second)) {
      if (std::ranges::find(found->file.depends, needed) == found->file.depends.end()) continue;
      if (const LoadResult loaded = load_system_module(needed); !loaded) return failed(loaded.error());
    }
    const UniqueFd file = TRY(step("files", versions_.open(version, found->path)));
    const LoadResult inserted = insert_module(file.get(), found->file, module.parameters);
    return inserted ? Acted() : failed(inserted.error());
  }

  const LaunchConfig config_;
  const Access devices_;
  const Clock& clock_;
  const Versions versions_;
  VersionCache known_;
  UserFinder users_{kRoot, std::chrono::seconds(5)};
  // Whether the library of a version matches a module interface: the last result.
  std::optional<std::pair<std::pair<std::string, std::string>, bool>> fits_;
  std::optional<KernelLog> log_;  // opened before the first module is inserted
};

}  // namespace

std::unique_ptr<Host> open_onload_host(const LaunchConfig& config, const Access& devices, const Clock& clock) {
  if (const Result<void> swept = Versions({}, config.versions).sweep(); !swept) {
    log::warning("ONLOAD_LEFTOVERS", swept.error().message, {{"DETAIL", swept.error().detail}});
  }
  return std::make_unique<OnloadHost>(config, devices, clock);
}

}  // namespace nrd::daemon
