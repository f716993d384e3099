// The conditions of a status, and what they say.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/find_in.h"
#include "engine/onload/status.h"

namespace nrd::onload {
namespace {

Condition yes(std::string reason, std::string message = {}) {
  return {.status = Condition::Status::True, .reason = std::move(reason), .message = std::move(message)};
}
Condition no(std::string reason, std::string message = {}) {
  return {.status = Condition::Status::False, .reason = std::move(reason), .message = std::move(message)};
}
Condition unknown(std::string reason, std::string message = {}) {
  return {.status = Condition::Status::Unknown, .reason = std::move(reason), .message = std::move(message)};
}

// "in_use" -> "InUse": converts a cause to a condition reason.
std::string as_reason(const std::string& cause) {
  std::string reason;
  bool begins = true;
  for (const char c : cause) {
    if (c != '_') reason += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return reason.empty() ? "Failed" : reason;
}

const Module* loaded(const Status& status, const std::string& name) { return find_in(status.observed.modules, name); }

bool wants_loaded(const Status& status) { return status.target && status.target->state == State::Loaded; }

Condition is_loaded(const Status& status) {
  const Module* onload = loaded(status, "onload");
  if (onload == nullptr) return no("NotLoaded", "the module onload is not loaded");
  if (onload->state != ModuleState::Live) return no("NotLive", "the module onload is being loaded or unloaded");
  return yes("Loaded", onload->version);
}

Condition has_version(const Status& status) {
  if (!wants_loaded(status)) return unknown("NotRequested");
  for (const TargetModule& wanted : status.target->modules) {
    const Module* module = loaded(status, wanted.name);
    if (module == nullptr) return no("NotLoaded", fmt::format("the module {} is not loaded", wanted.name));
    if (module->build_id == wanted.build_id) continue;
    return no("OtherModule", fmt::format("the module {} was not loaded from the file of version {}", wanted.name,
                                         status.target->version));
  }
  return yes("Matches", status.target->version);
}

Condition has_library(const Status& status) {
  if (!status.observed.library_fits) return unknown("NotComparable", "no module or no current version to compare");
  if (*status.observed.library_fits) return yes("SameInterface");
  return no("OtherInterface",
            fmt::format("libonload.so of version {} does not match the interface of the loaded module",
                        status.observed.current));
}

Condition has_control_plane(const Status& status) {
  if (loaded(status, "onload") == nullptr) return no("NotLoaded", "no control plane server runs");
  if (status.observed.servers.empty()) return no("NoServer", "no control plane server runs");
  if (!wants_loaded(status)) return yes("Running");
  const TargetModule* wanted = find_module(*status.target, "onload");
  const std::string* path = wanted ? find_in(wanted->parameters, "cplane_server_path") : nullptr;
  const auto runs_it = [path](const ControlPlaneServer& server) { return server.exe == *path; };
  if (path == nullptr || std::ranges::any_of(status.observed.servers, runs_it)) return yes("Running");
  return no("OtherServer", "the control plane server that runs is " + status.observed.servers.front().exe);
}

Condition has_devices(const Status& status) {
  if (loaded(status, "onload") == nullptr) return no("NotLoaded");
  const std::string wrong = wrong_device(status);
  return wrong.empty() ? yes("Ready") : no("WrongDevice", wrong);
}

Condition has_nic(const Status& status) {
  std::string names;
  bool has_link = false;
  bool is_off = false;
  for (const Interface& interface : status.observed.interfaces) {
    if (interface.accelerated == false) is_off = true;
    if (interface.accelerated == false || (interface.accelerated != true && !interface.afxdp)) continue;
    names += (names.empty() ? "" : ", ") + interface.name;
    has_link = has_link || interface.operstate == "up" || interface.operstate == "unknown";
  }
  if (names.empty() && is_off) return no("Disabled", "acceleration is switched off on all interfaces");
  if (names.empty()) return no("NoInterface", "no interface is supported by Onload or registered through AF_XDP");
  return has_link ? yes("Available", names) : no("NoLink", "no accelerated interface is up: " + names);
}

Condition is_verified(const Status& status) {
  if (status.generations.empty()) return unknown("NoGeneration");
  const Generation& last = status.generations.back();
  const std::string name = fmt::format("generation {}", last.number);
  if (running(status) != nullptr) return unknown("InProgress", name);
  const Operation* change = last_change(status);
  const bool has_failed =
      change != nullptr && change->outcome != Outcome::Succeeded && change->generation == last.number;
  if (has_failed) return no(as_reason(change->cause), change->message);
  switch (last.verdict) {
    case Verdict::Pending: return unknown("Pending", name);
    case Verdict::Verified: return yes("Verified", name);
    case Verdict::Failed: break;
  }
  return no("Failed", name);
}

Condition is_frozen(const Status& status) {
  return status.freeze.frozen ? yes("Frozen", status.freeze.reason) : no("NotFrozen");
}

Condition is_progressing(const Status& status) {
  const Operation* operation = running(status);
  return operation == nullptr ? no("Idle") : yes("InProgress", fmt::format("operation {}", operation->id));
}

Condition is_drifted(const Status& status) {
  if (!status.problem.empty()) return unknown("Unreadable", status.problem);
  return status.drift.empty() ? no("NoDrift") : yes("ChangedByOthers", status.drift);
}

// A module was stuck in the last operation and is still loaded. A reboot removes it.
Condition needs_boot(const Status& status) {
  constexpr const char* kStuck = "in_transition";
  if (status.operations.empty() || status.operations.back().outcome == Outcome::Running) return no("NotNeeded");
  for (const Step& step : status.operations.back().steps) {
    if (step.cause == kStuck && loaded(status, step.subject) != nullptr) return yes("ModuleStuck", step.message);
  }
  return no("NotNeeded");
}

Condition is_open(const Status& status) {
  return status.device_access_open ? yes("Open") : no("Closed", "nrd accepts no new Onload users");
}

}  // namespace

std::string wrong_device(const std::vector<DeviceNode>& devices, const std::optional<Access>& open) {
  for (const DeviceNode& device : devices) {
    const std::string path = "/dev/" + device.name;
    if (!device.number) return fmt::format("the device {} does not exist", device.name);
    if (!device.node) return path + " does not exist";
    if (!device.leads_to_device()) return path + " has the wrong device number";
    if (open && device.node->access != *open) return path + " has an owner or mode other than configured";
  }
  return {};
}

std::string wrong_device(const Status& status) {
  const bool is_open = wants_loaded(status) && status.device_access_open;
  return wrong_device(status.observed.devices, is_open ? std::optional(status.target->devices) : std::nullopt);
}

std::vector<Condition> conditions_of(const Status& status, const std::vector<Condition>& before, Time now) {
  struct Question {
    const char* type;
    Condition (*answer)(const Status&);
  };
  constexpr Question kQuestions[] = {{"Loaded", is_loaded},           {"VersionMatch", has_version},
                                     {"UserspaceMatch", has_library}, {"ControlPlaneReady", has_control_plane},
                                     {"DevicesReady", has_devices},   {"NicAvailable", has_nic},
                                     {"Verified", is_verified},       {"Frozen", is_frozen},
                                     {"Progressing", is_progressing}, {"Drifted", is_drifted},
                                     {"RebootRequired", needs_boot},  {"DeviceAccessOpen", is_open}};
  std::vector<Condition> conditions;
  for (const auto& [type, answer] : kQuestions) {
    Condition found = answer(status);
    found.type = type;
    const Condition* last = first_with(before, &Condition::type, std::string_view(type));
    found.last_transition = last && last->status == found.status ? last->last_transition : now;
    conditions.push_back(std::move(found));
  }
  return conditions;
}

}  // namespace nrd::onload
