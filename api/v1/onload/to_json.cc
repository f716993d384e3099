

#include "api/v1/onload/parse.h"
#include "api/v1/workload_json.h"
#include "base/find_in.h"
#include "base/json/members.h"
#include "base/json/object.h"
#include "engine/onload/dry_run.h"
#include "engine/onload/profile_repository.h"
#include "engine/onload/spec_fields.h"

namespace nrd {

template <>
inline constexpr auto json::kNames<onload::Condition::Status> =
    std::array{std::pair{onload::Condition::Status::True, "True"}, std::pair{onload::Condition::Status::False, "False"},
               std::pair{onload::Condition::Status::Unknown, "Unknown"}};
template <>
inline constexpr auto json::kNames<onload::Use> =
    std::array{std::pair{onload::Use::Stack, "stack"}, std::pair{onload::Use::Epoll, "epoll"},
               std::pair{onload::Use::EfVi, "ef_vi"}, std::pair{onload::Use::PreloadOnly, "preload_only"},
               std::pair{onload::Use::Service, "service"}};
template <>
inline constexpr auto json::kNames<onload::ProfileEntry::Kind> = std::array{
    std::pair{onload::ProfileEntry::Kind::Static, "static"}, std::pair{onload::ProfileEntry::Kind::Dynamic, "dynamic"},
    std::pair{onload::ProfileEntry::Kind::Wrong, "wrong"}};

}  // namespace nrd

namespace nrd::v1 {
namespace {

using namespace onload;
using json::array;
using json::by_key;
using json::or_null;
using json::Writer;

// Renders the items of an array or the members of a map.
constexpr auto kEach = [](Writer& w, const auto& item) { to_json(w, item); };

std::optional<std::string> time_or_null(const std::optional<Time>& time) {
  return time ? std::optional(timestamp(*time)) : std::nullopt;
}

void write_step(Writer& w, const Step& step) {
  json::write_object(w, {{"act", step.act},
                         {"subject", step.subject},
                         {"progress", step.progress},
                         {"started", timestamp(step.started)},
                         {"finished", time_or_null(step.finished)},
                         {"cause", step.cause},
                         {"message", step.message},
                         {"kernel", step.kernel}});
}

void write_condition(Writer& w, const Condition& condition) {
  json::write_object(w, {{"type", condition.type},
                         {"status", condition.status},
                         {"reason", condition.reason},
                         {"message", condition.message},
                         {"last_transition", timestamp(condition.last_transition)}});
}

std::string_view device_access_of(const Status& view) {
  if (view.drained) return is_draining(view) ? "draining" : "drained";
  return view.device_access_open ? "open" : "closed";
}

void write_user(Writer& w, const User& user) {
  json::write_object(w, {{"pid", user.process.pid},
                         {"start", user.process.start},
                         {"comm", user.comm},
                         {"exe", user.exe},
                         {"uid", user.uid},
                         {"unit", user.unit},
                         {"cgroup", user.cgroup},
                         {"uses", user.uses},
                         {"stacks", user.stacks},
                         {"library", user.library},
                         {"stale", user.stale}});
}

void write_interface_before(Writer& w, const NotedInterface& noted) {
  json::write_object(w, {{"name", noted.name}, {"pci", or_null(noted.pci)}, {"mac", noted.mac}});
}

void write_check(Writer& w, const Check& check) {
  json::write_object(w, {{"name", check.name},
                         {"ok", !check.refusal},
                         {"detail", check.refusal ? check.refusal->message : check.detail}});
}

void write_server(Writer& w, const ControlPlaneServer& server) {
  json::write_object(w, {{"pid", server.process.pid},
                         {"exe", server.exe},
                         {"net_namespace", server.net_namespace},
                         {"age_seconds", server.age}});
}

void write_installed(Writer& w, const VersionModule& module) {
  json::write_object(w, {{"name", module.file.name},
                         {"version", or_null(module.file.version)},
                         {"build_id", module.file.build_id},
                         {"path", module.path}});
}

}  // namespace

void to_json(Writer& w, const onload::Spec& spec) { json::write_whole_object(w, spec); }

void to_json(Writer& w, const Generation& generation) {
  json::write_object(w, {{"generation", generation.number},
                         {"spec", [&](Writer& of) { to_json(of, generation.spec); }},
                         {"created", timestamp(generation.created)},
                         {"verdict", generation.verdict},
                         {"verified", time_or_null(generation.verified)}});
}

void to_json(Writer& w, const DryRun& dry_run) {
  const auto write_next = [](Writer& of, const NextStep& step) {
    json::write_object(of, {{"act", step.act}, {"subject", step.subject}});
  };
  json::write_object(w, {{"ok", !refusal_of(dry_run)},
                         {"checks", array(dry_run.checks, write_check)},
                         {"steps", array(dry_run.steps, write_next)}});
}

void write_control_plane(Writer& w, const Status& view) {
  const Module* onload = find_in(view.observed.modules, "onload");
  const auto parameter = [onload](const char* name) {
    const Parameter* found = onload ? find_in(onload->parameters, name) : nullptr;
    return found ? found->value : std::nullopt;
  };
  json::write_object(w, {{"path", parameter("cplane_server_path")},
                         {"parameters", parameter("cplane_server_params")},
                         {"spawn", parameter("cplane_spawn_server")},
                         {"servers", array(view.observed.servers, write_server)}});
}

void to_json(Writer& w, const Operation& operation, std::optional<uint64_t> revision) {
  json::write_object(w, {{"revision", json::given(revision)},
                         {"id", operation.id},
                         {"kind", operation.kind},
                         {"generation", operation.generation},
                         {"fallback", operation.fallback},
                         {"outcome", operation.outcome},
                         {"started", timestamp(operation.started)},
                         {"finished", time_or_null(operation.finished)},
                         {"cause", operation.cause},
                         {"message", operation.message},
                         {"steps", array(operation.steps, write_step)},
                         {"interfaces_before", array(operation.interfaces, write_interface_before)}});
}

void to_json(Writer& w, const Module& module) {
  const auto write_parameter = [](Writer& of, const Parameter& parameter) {
    json::write_object(of, {{"value", parameter.value}, {"writable", parameter.writable}});
  };
  json::write_object(w, {{"name", module.name},
                         {"version", or_null(module.version)},
                         {"srcversion", or_null(module.srcversion)},
                         {"build_id", module.build_id},
                         {"refcnt", module.refcnt},
                         {"holders", module.holders},
                         {"in_tree", module.in_tree},
                         {"taint", module.taint},
                         {"parameters", by_key(module.parameters, write_parameter)}});
}

void to_json(Writer& w, const Status& view) {
  const Generation* kept = effective(view);
  const Operation* under_way = running(view);
  const Module* onload = find_in(view.observed.modules, "onload");
  const auto write_spec = [&](Writer& of) {
    view.generations.empty() ? void(of.null()) : to_json(of, view.generations.back().spec);
  };
  const auto write_name = [](Writer& of, const auto& module) { of.string(module.first); };
  json::write_object(w, {{"revision", view.revision},
                         {"generation", last_generation(view)},
                         {"spec", write_spec},
                         {"effective_generation", kept == nullptr ? std::nullopt : std::optional(kept->number)},
                         {"operation", under_way == nullptr ? std::nullopt : std::optional(under_way->id)},
                         {"modules", array(view.observed.modules, write_name)},
                         {"version", onload ? or_null(onload->version) : std::nullopt},
                         {"current_files", or_null(view.observed.current)},
                         {"problem", or_null(view.problem)},
                         {"device_access", device_access_of(view)},
                         {"conditions", array(view.conditions, write_condition)}});
}

void to_json(Writer& w, const InUse& use) {
  json::write_object(w, {{"in_use", use.in_use()},
                         {"users", array(use.users, write_user)},
                         {"services", array(use.services, write_user)},
                         {"stacks", array(use.stacks, kEach)},
                         {"orphans", array(use.orphans, kEach)},
                         {"unexplained", by_key(use.unexplained)},
                         {"foreign_holders", by_key(use.foreign_holders)},
                         {"unknown", use.unknown}});
}

void to_json(Writer& w, const Version& version) {
  const auto write_modules = [](Writer& of, const auto& modules) { array(modules, write_installed)(of); };
  json::write_object(w, {{"name", version.name},
                         {"kernels", by_key(version.kernels, write_modules)},
                         {"control_plane", or_null(version.control_plane)},
                         {"library", or_null(version.library)}});
}

void to_json(Writer& w, const Verification& found) {
  const StepError error = found.step_error.value_or(StepError{});
  json::write_object(w, {{"generation", found.generation},
                         {"verified", !found.step_error},
                         {"cause", error.cause},
                         {"message", error.message},
                         {"kernel", error.kernel}});
}

void to_json(Writer& w, const Stack& stack) {
  json::write_object(w, {{"id", stack.id}, {"pid", stack.creator}, {"uid", stack.uid}, {"orphan", stack.orphan}});
}

void to_json(Writer& w, const ProfileEntry& entry) {
  json::write_object(w, {{"id", entry.id},
                         {"folder", entry.folder},
                         {"own", entry.is_own},
                         {"kind", entry.kind},
                         {"place", entry.place},
                         {"reason", entry.reason}});
}

void to_json(Writer& w, const Interface& interface, const InterfaceSpec* spec) {
  const InterfaceSpec wanted = spec == nullptr ? InterfaceSpec{} : *spec;
  const auto write_wanted = [&wanted](Writer& of) {
    json::write_object(of, {{"accelerated", wanted.accelerated}, {"af_xdp", wanted.registered}});
  };
  json::write_object(w, {{"name", interface.name},
                         {"pci", or_null(interface.pci)},
                         {"solarflare", interface.solarflare},
                         {"mac", or_null(interface.mac)},
                         {"driver", or_null(interface.driver)},
                         {"driver_version", or_null(interface.driver_version)},
                         {"speed_mbps", interface.speed},
                         {"operstate", interface.operstate},
                         {"accelerated", interface.accelerated},
                         {"af_xdp", interface.afxdp},
                         {"wanted", write_wanted},
                         {"uppers", interface.uppers},
                         {"addresses", interface.addresses},
                         {"default_route", interface.default_route},
                         {"vfs", interface.vfs}});
}

}  // namespace nrd::v1
