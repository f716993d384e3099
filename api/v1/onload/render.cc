

#include "api/v1/onload/parse.h"
#include "api/v1/workload_json.h"
#include "base/find_in.h"
#include "base/json/members.h"
#include "base/json/object.h"
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
constexpr auto kEach = [](Writer& w, const auto& item) { render(w, item); };

std::optional<std::string> time_or_null(const std::optional<Time>& time) {
  return time ? std::optional(render(*time)) : std::nullopt;
}

void render_step(Writer& w, const Step& step) {
  json::write_object(w, {{"act", step.act},
                         {"subject", step.subject},
                         {"progress", step.progress},
                         {"started", render(step.started)},
                         {"finished", time_or_null(step.finished)},
                         {"cause", step.cause},
                         {"message", step.message},
                         {"kernel", step.kernel}});
}

void render_condition(Writer& w, const Condition& condition) {
  json::write_object(w, {{"type", condition.type},
                         {"status", condition.status},
                         {"reason", condition.reason},
                         {"message", condition.message},
                         {"last_transition", render(condition.last_transition)}});
}

std::string_view device_access_of(const Status& view) {
  if (view.drained) return is_draining(view) ? "draining" : "drained";
  return view.device_access_open ? "open" : "closed";
}

void render_user(Writer& w, const User& user) {
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

void render_interface_before(Writer& w, const NotedInterface& noted) {
  json::write_object(w, {{"name", noted.name}, {"pci", or_null(noted.pci)}, {"mac", noted.mac}});
}

void render_check(Writer& w, const Check& check) {
  json::write_object(w, {{"name", check.name},
                         {"ok", !check.refusal},
                         {"detail", check.refusal ? check.refusal->message : check.detail}});
}

void render_server(Writer& w, const ControlPlaneServer& server) {
  json::write_object(w, {{"pid", server.process.pid},
                         {"exe", server.exe},
                         {"net_namespace", server.net_namespace},
                         {"age_seconds", server.age}});
}

void render_installed(Writer& w, const VersionModule& module) {
  json::write_object(w, {{"name", module.file.name},
                         {"version", or_null(module.file.version)},
                         {"build_id", module.file.build_id},
                         {"path", module.path}});
}

}  // namespace

void render(Writer& w, const onload::Spec& spec) { json::write_whole_object(w, spec); }

void render(Writer& w, const Generation& generation) {
  json::write_object(w, {{"generation", generation.number},
                         {"spec", [&](Writer& of) { render(of, generation.spec); }},
                         {"created", render(generation.created)},
                         {"verdict", generation.verdict},
                         {"verified", time_or_null(generation.verified)}});
}

void render(Writer& w, const DryRun& dry_run) {
  const auto render_next = [](Writer& of, const NextStep& step) {
    json::write_object(of, {{"act", step.act}, {"subject", step.subject}});
  };
  json::write_object(w, {{"ok", !refusal_of(dry_run)},
                         {"checks", array(dry_run.checks, render_check)},
                         {"steps", array(dry_run.steps, render_next)}});
}

void render_control_plane(Writer& w, const Status& view) {
  const Module* onload = find_in(view.observed.modules, "onload");
  const auto parameter = [onload](const char* name) {
    const Parameter* found = onload ? find_in(onload->parameters, name) : nullptr;
    return found ? found->value : std::nullopt;
  };
  json::write_object(w, {{"path", parameter("cplane_server_path")},
                         {"parameters", parameter("cplane_server_params")},
                         {"spawn", parameter("cplane_spawn_server")},
                         {"servers", array(view.observed.servers, render_server)}});
}

void render(Writer& w, const Operation& operation, std::optional<uint64_t> revision) {
  json::write_object(w, {{"revision", json::given(revision)},
                         {"id", operation.id},
                         {"kind", operation.kind},
                         {"generation", operation.generation},
                         {"fallback", operation.fallback},
                         {"outcome", operation.outcome},
                         {"started", render(operation.started)},
                         {"finished", time_or_null(operation.finished)},
                         {"cause", operation.cause},
                         {"message", operation.message},
                         {"steps", array(operation.steps, render_step)},
                         {"interfaces_before", array(operation.interfaces, render_interface_before)}});
}

void render(Writer& w, const Module& module) {
  const auto render_parameter = [](Writer& of, const Parameter& parameter) {
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
                         {"parameters", by_key(module.parameters, render_parameter)}});
}

void render(Writer& w, const Status& view) {
  const Generation* kept = effective(view);
  const Operation* under_way = running(view);
  const Module* onload = find_in(view.observed.modules, "onload");
  const auto render_spec = [&](Writer& of) {
    view.generations.empty() ? void(of.null()) : render(of, view.generations.back().spec);
  };
  const auto render_name = [](Writer& of, const auto& module) { of.string(module.first); };
  json::write_object(w, {{"revision", view.revision},
                         {"generation", last_generation(view)},
                         {"spec", render_spec},
                         {"effective_generation", kept == nullptr ? std::nullopt : std::optional(kept->number)},
                         {"operation", under_way == nullptr ? std::nullopt : std::optional(under_way->id)},
                         {"modules", array(view.observed.modules, render_name)},
                         {"version", onload ? or_null(onload->version) : std::nullopt},
                         {"current_files", or_null(view.observed.current)},
                         {"problem", or_null(view.problem)},
                         {"device_access", device_access_of(view)},
                         {"conditions", array(view.conditions, render_condition)}});
}

void render(Writer& w, const InUse& use) {
  json::write_object(w, {{"in_use", use.in_use()},
                         {"users", array(use.users, render_user)},
                         {"services", array(use.services, render_user)},
                         {"stacks", array(use.stacks, kEach)},
                         {"orphans", array(use.orphans, kEach)},
                         {"unexplained", by_key(use.unexplained)},
                         {"foreign_holders", by_key(use.foreign_holders)},
                         {"unknown", use.unknown}});
}

void render(Writer& w, const Version& version) {
  const auto render_modules = [](Writer& of, const auto& modules) { array(modules, render_installed)(of); };
  json::write_object(w, {{"name", version.name},
                         {"kernels", by_key(version.kernels, render_modules)},
                         {"control_plane", or_null(version.control_plane)},
                         {"library", or_null(version.library)}});
}

void render(Writer& w, const Verification& found) {
  const StepError error = found.step_error.value_or(StepError{});
  json::write_object(w, {{"generation", found.generation},
                         {"verified", !found.step_error},
                         {"cause", error.cause},
                         {"message", error.message},
                         {"kernel", error.kernel}});
}

void render(Writer& w, const Stack& stack) {
  json::write_object(w, {{"id", stack.id}, {"pid", stack.creator}, {"uid", stack.uid}, {"orphan", stack.orphan}});
}

void render(Writer& w, const ProfileEntry& entry) {
  json::write_object(w, {{"id", entry.id},
                         {"folder", entry.folder},
                         {"own", entry.is_own},
                         {"kind", entry.kind},
                         {"place", entry.place},
                         {"reason", entry.reason}});
}

void render(Writer& w, const Interface& interface, const InterfaceSpec* spec) {
  const InterfaceSpec wanted = spec == nullptr ? InterfaceSpec{} : *spec;
  const auto render_wanted = [&wanted](Writer& of) {
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
                         {"wanted", render_wanted},
                         {"uppers", interface.uppers},
                         {"addresses", interface.addresses},
                         {"default_route", interface.default_route},
                         {"vfs", interface.vfs}});
}

}  // namespace nrd::v1
