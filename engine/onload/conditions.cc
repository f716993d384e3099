#include "engine/onload/conditions.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

#include "engine/onload/view.h"

namespace nrd::onload {
namespace {

using Status = Condition::Status;

struct Found {
  Status status;
  std::string reason;
  std::string message;
};

Found yes(std::string reason, std::string message = {}) {
  return {Status::True, std::move(reason), std::move(message)};
}
Found no(std::string reason, std::string message = {}) {
  return {Status::False, std::move(reason), std::move(message)};
}
Found unknown(std::string reason, std::string message = {}) {
  return {Status::Unknown, std::move(reason), std::move(message)};
}

// "in_use" -> "InUse": a cause as a reason.
std::string as_reason(const std::string& cause) {
  std::string reason;
  bool begins = true;
  for (const char c : cause) {
    if (c != '_') reason += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return reason.empty() ? "Failed" : reason;
}

const Module* loaded(const View& view, const std::string& name) {
  const auto found = view.seen.modules.find(name);
  return found == view.seen.modules.end() ? nullptr : &found->second;
}

bool wants_loaded(const View& view) { return view.target && view.target->state == State::Loaded; }

Found is_loaded(const View& view) {
  const Module* onload = loaded(view, "onload");
  if (onload == nullptr) return no("NotLoaded", "the module onload is not loaded");
  if (onload->state != ModuleState::Live) return no("NotLive", "the module onload is on its way");
  return yes("Loaded", onload->version);
}

Found has_version(const View& view) {
  if (!wants_loaded(view)) return unknown("NothingWanted");
  for (const TargetModule& wanted : view.target->modules) {
    const Module* module = loaded(view, wanted.name);
    if (module == nullptr) return no("NotLoaded", "the module " + wanted.name + " is not loaded");
    if (module->build_id == wanted.build_id) continue;
    return no("OtherModule", "the module " + wanted.name + " was loaded from another file than that of version " +
                                 view.target->version);
  }
  return yes("AsWanted", view.target->version);
}

Found has_library(const View& view) {
  if (!view.seen.library_fits) return unknown("NothingToCompare", "the module or a current version is not there");
  if (*view.seen.library_fits) return yes("SameInterface");
  return no("OtherInterface", "libonload.so of version " + view.seen.current + " does not speak to the loaded module");
}

Found has_control_plane(const View& view) {
  if (loaded(view, "onload") == nullptr) return no("NotLoaded", "no control plane server runs");
  if (view.seen.servers.empty()) return no("NoServer", "no control plane server runs");
  if (!wants_loaded(view)) return yes("Running");
  const auto wanted = std::ranges::find(view.target->modules, "onload", &TargetModule::name);
  if (wanted == view.target->modules.end()) return yes("Running");
  const auto path = wanted->parameters.find("cplane_server_path");
  const bool is_it =
      path == wanted->parameters.end() ||
      std::ranges::any_of(view.seen.servers, [&](const auto& server) { return server.exe == path->second; });
  if (is_it) return yes("Running");
  return no("OtherServer", "the control plane server that runs is " + view.seen.servers.front().exe);
}

Found has_devices(const View& view) {
  if (loaded(view, "onload") == nullptr) return no("NotLoaded");
  const std::string wrong = wrong_device(view);
  return wrong.empty() ? yes("Ready") : no("WrongNode", wrong);
}

Found has_nic(const View& view) {
  std::string names;
  bool has_link = false;
  bool is_off = false;
  for (const Interface& interface : view.seen.interfaces) {
    if (interface.accelerated == false) is_off = true;
    if (interface.accelerated == false || (interface.accelerated != true && !interface.afxdp)) continue;
    names += (names.empty() ? "" : ", ") + interface.name;
    has_link = has_link || interface.operstate == "up" || interface.operstate == "unknown";
  }
  if (names.empty() && is_off) return no("SwitchedOff", "acceleration is switched off on all interfaces");
  if (names.empty()) return no("NoInterface", "no interface is Onload's or registered through AF_XDP");
  return has_link ? yes("Available", names) : no("NoLink", "none is up: " + names);
}

Found is_verified(const View& view) {
  if (view.generations.empty()) return unknown("NothingWanted");
  const Generation& last = view.generations.back();
  const std::string name = "generation " + std::to_string(last.number);
  if (running(view) != nullptr) return unknown("UnderWay", name);
  const bool has_failed = !view.operations.empty() && view.operations.back().outcome != Outcome::Succeeded &&
                          view.operations.back().generation == last.number;
  if (has_failed) return no(as_reason(view.operations.back().cause), view.operations.back().message);
  switch (last.verdict) {
    case Verdict::Pending: return unknown("Pending", name);
    case Verdict::Verified: return yes("Verified", name);
    case Verdict::Failed: break;
  }
  return no("Failed", name);
}

Found is_frozen(const View& view) { return view.freeze.frozen ? yes("Frozen", view.freeze.reason) : no("NotFrozen"); }

Found is_progressing(const View& view) {
  const Operation* operation = running(view);
  return operation == nullptr ? no("NothingToDo") : yes("UnderWay", "operation " + std::to_string(operation->id));
}

Found is_drifted(const View& view) {
  if (!view.problem.empty()) return unknown("Unreadable", view.problem);
  return view.drift.empty() ? no("AsWanted") : yes("ChangedByOthers", view.drift);
}

// A module that could not be moved in the last operation and is there still. A boot takes it away.
Found needs_boot(const View& view) {
  constexpr const char* kStuck = "in_transition";
  if (view.operations.empty() || view.operations.back().outcome == Outcome::Running) return no("NotNeeded");
  for (const Step& step : view.operations.back().steps) {
    if (step.cause == kStuck && loaded(view, step.subject) != nullptr) return yes("ModuleStuck", step.message);
  }
  return no("NotNeeded");
}

Found is_open(const View& view) {
  return view.door_open ? yes("Open") : no("Shut", "nrd gives out nothing to start with Onload");
}

}  // namespace

std::string wrong_device(const View& view) {
  for (const DeviceNode& device : view.seen.devices) {
    const std::string path = "/dev/" + device.name;
    if (!device.number) return "the device " + device.name + " is not there";
    if (!device.node) return path + " is not there";
    if (!device.leads_to_device()) return path + " does not lead to its device";
    if (wants_loaded(view) && view.door_open && device.node->access != view.target->devices) {
      return path + " has not the owner or the permissions that the configuration says";
    }
  }
  return {};
}

std::vector<Condition> conditions_of(const View& view, const std::vector<Condition>& before, Time now) {
  struct Question {
    const char* type;
    Found (*answer)(const View&);
  };
  constexpr Question kQuestions[] = {{"Loaded", is_loaded},           {"VersionMatch", has_version},
                                     {"UserspaceMatch", has_library}, {"ControlPlaneReady", has_control_plane},
                                     {"DevicesReady", has_devices},   {"NicAvailable", has_nic},
                                     {"Verified", is_verified},       {"Frozen", is_frozen},
                                     {"Progressing", is_progressing}, {"Drifted", is_drifted},
                                     {"RebootRequired", needs_boot},  {"DoorOpen", is_open}};
  std::vector<Condition> conditions;
  for (const auto& [type, answer] : kQuestions) {
    Found found = answer(view);
    const auto last = std::ranges::find(before, type, &Condition::type);
    const bool is_as_before = last != before.end() && last->status == found.status;
    conditions.push_back({type, found.status, std::move(found.reason), std::move(found.message),
                          is_as_before ? last->last_transition : now});
  }
  return conditions;
}

}  // namespace nrd::onload
