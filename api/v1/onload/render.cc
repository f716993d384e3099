#include "api/v1/onload/parse.h"
#include "api/v1/workload_json.h"
#include "base/json/fields.h"
#include "engine/onload/enum_names.h"

namespace nrd::v1 {
namespace {

using namespace onload;

void optional_time(json::Writer& w, std::string_view key, const std::optional<onload::Time>& time) {
  w.key(key);
  time ? w.string(render(*time)) : w.null();
}

void render_step(json::Writer& w, const Step& step) {
  w.begin_object();
  w.key("act").string(word_of(step.act));
  w.key("subject").string(step.subject);
  w.key("progress").string(word_of(step.progress));
  w.key("started").string(render(step.started));
  optional_time(w, "finished", step.finished);
  w.key("cause").string(step.cause);
  w.key("message").string(step.message);
  json::write(w.key("kernel"), step.kernel);
  w.end_object();
}

std::string_view word_of_status(Condition::Status status) {
  switch (status) {
    case Condition::Status::True: return "True";
    case Condition::Status::False: return "False";
    case Condition::Status::Unknown: return "Unknown";
  }
  return "";
}

void render_condition(json::Writer& w, const Condition& condition) {
  w.begin_object();
  w.key("type").string(condition.type);
  w.key("status").string(word_of_status(condition.status));
  w.key("reason").string(condition.reason);
  w.key("message").string(condition.message);
  w.key("last_transition").string(render(condition.last_transition));
  w.end_object();
}

std::string_view word_of_door(const Status& view) {
  if (view.drained) return is_draining(view) ? "draining" : "drained";
  return view.device_access_open ? "open" : "shut";
}

std::string_view word_of_use(Use use) {
  switch (use) {
    case Use::Stack: return "stack";
    case Use::Epoll: return "epoll";
    case Use::EfVi: return "ef_vi";
    case Use::PreloadOnly: return "preload_only";
    case Use::Service: return "service";
  }
  return "";
}

void render_user(json::Writer& w, const User& user) {
  w.begin_object();
  w.key("pid").number(static_cast<uint64_t>(user.process.pid));
  w.key("start").number(user.process.start);
  w.key("comm").string(user.comm);
  w.key("exe").string(user.exe);
  w.key("uid").number(user.uid);
  w.key("unit").string(user.unit);
  w.key("cgroup").string(user.cgroup);
  w.key("uses").begin_array();
  for (const Use use : user.uses) w.string(word_of_use(use));
  w.end_array();
  w.key("stacks").begin_array();
  for (const uint32_t stack : user.stacks) w.number(stack);
  w.end_array();
  w.key("library").string(user.library);
  w.key("stale").boolean(user.stale);
  w.end_object();
}

void render_stacks(json::Writer& w, std::string_view key, const std::vector<Stack>& stacks) {
  w.key(key).begin_array();
  for (const Stack& stack : stacks) render(w, stack);
  w.end_array();
}

void render_members(json::Writer& w, const Operation& operation) {
  w.key("id").number(operation.id);
  w.key("errand").string(word_of(operation.kind));
  w.key("generation").number(operation.generation);
  w.key("fallback").number_or_null(operation.fallback);
  w.key("outcome").string(word_of(operation.outcome));
  w.key("started").string(render(operation.started));
  optional_time(w, "finished", operation.finished);
  w.key("cause").string(operation.cause);
  w.key("message").string(operation.message);
  w.key("steps").begin_array();
  for (const Step& step : operation.steps) render_step(w, step);
  w.end_array();
  w.key("interfaces_before").begin_array();
  for (const NotedInterface& noted : operation.interfaces) {
    w.begin_object();
    w.key("name").string(noted.name);
    w.key("pci").string_or_null(noted.pci);
    w.key("mac").string(noted.mac);
    w.end_object();
  }
  w.end_array();
}

}  // namespace

void render(json::Writer& w, const onload::Spec& spec) {
  w.begin_object();
  w.key("state").string(word_of(spec.state));
  if (!spec.version.empty()) w.key("version").string(spec.version);
  w.key("sfc").string(word_of(spec.sfc));
  w.key("parameters").begin_object();
  for (const auto& [module, values] : spec.parameters) {
    w.key(module).begin_object();
    for (const auto& [name, value] : values) w.key(name).string(value);
    w.end_object();
  }
  w.end_object();
  json::write(w.key("control_plane"), spec.control_plane);
  w.key("users_policy").string(word_of(spec.users));
  w.key("drain_seconds").number(static_cast<uint64_t>(spec.drain.count()));
  w.key("on_failure").string(word_of(spec.on_failure));
  w.end_object();
}

void render(json::Writer& w, const Generation& generation) {
  w.begin_object();
  w.key("generation").number(generation.number);
  w.key("desired");
  render(w, generation.spec);
  w.key("created").string(render(generation.created));
  w.key("verdict").string(word_of(generation.verdict));
  optional_time(w, "verified", generation.verified);
  w.end_object();
}

void render(json::Writer& w, const DryRun& dry_run) {
  w.begin_object();
  w.key("ok").boolean(!refusal_of(dry_run));
  w.key("checks").begin_array();
  for (const Check& check : dry_run.checks) {
    w.begin_object();
    w.key("name").string(check.name);
    w.key("ok").boolean(!check.refusal);
    w.key("detail").string(check.refusal ? check.refusal->message : check.detail);
    w.end_object();
  }
  w.end_array();
  w.key("stages").begin_array();
  for (const NextStep& step : dry_run.steps) {
    w.begin_object();
    w.key("act").string(word_of(step.act));
    w.key("subject").string(step.subject);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void render_control_plane(json::Writer& w, const Status& view) {
  const auto onload = view.observed.modules.find("onload");
  const auto parameter = [&](std::string_view key, const std::string& name) {
    w.key(key);
    if (onload == view.observed.modules.end()) return void(w.null());
    const auto found = onload->second.parameters.find(name);
    const bool is_told = found != onload->second.parameters.end() && found->second.value;
    is_told ? w.string(*found->second.value) : w.null();
  };
  w.begin_object();
  parameter("path", "cplane_server_path");
  parameter("parameters", "cplane_server_params");
  parameter("spawn", "cplane_spawn_server");
  w.key("servers").begin_array();
  for (const ControlPlaneServer& server : view.observed.servers) {
    w.begin_object();
    w.key("pid").number(static_cast<uint64_t>(server.process.pid));
    w.key("exe").string(server.exe);
    w.key("net_namespace").number(server.net_namespace);
    w.key("age_seconds").number(static_cast<uint64_t>(server.age.count()));
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void render(json::Writer& w, const Operation& operation, uint64_t revision) {
  w.begin_object();
  w.key("revision").number(revision);
  render_members(w, operation);
  w.end_object();
}

void render(json::Writer& w, const Operation& operation) {
  w.begin_object();
  render_members(w, operation);
  w.end_object();
}

void render(json::Writer& w, const Module& module) {
  w.begin_object();
  w.key("name").string(module.name);
  w.key("version").string_or_null(module.version);
  w.key("srcversion").string_or_null(module.srcversion);
  w.key("build_id").string(module.build_id);
  w.key("refcnt").number_or_null(module.refcnt);
  json::write(w.key("holders"), module.holders);
  w.key("in_tree").boolean(module.in_tree);
  w.key("taint").string(module.taint);
  w.key("parameters").begin_object();
  for (const auto& [name, parameter] : module.parameters) {
    w.key(name).begin_object();
    w.key("value");
    parameter.value ? w.string(*parameter.value) : w.null();
    w.key("writable").boolean(parameter.writable);
    w.end_object();
  }
  w.end_object();
  w.end_object();
}

void render(json::Writer& w, const Status& view) {
  const Generation* kept = effective(view);
  const Operation* under_way = running(view);
  w.begin_object();
  w.key("revision").number(view.revision);
  w.key("generation").number(view.generations.empty() ? 0 : view.generations.back().number);
  w.key("desired");
  if (view.generations.empty()) {
    w.null();
  } else {
    render(w, view.generations.back().spec);
  }
  w.key("effective_generation");
  kept == nullptr ? w.null() : w.number(kept->number);
  w.key("operation");
  under_way == nullptr ? w.null() : w.number(under_way->id);
  w.key("modules").begin_array();
  for (const auto& [name, module] : view.observed.modules) w.string(name);
  w.end_array();
  w.key("version").string_or_null(view.observed.modules.contains("onload") ? view.observed.modules.at("onload").version
                                                                           : "");
  w.key("current_files").string_or_null(view.observed.current);
  w.key("problem").string_or_null(view.problem);
  w.key("door").string(word_of_door(view));
  w.key("conditions").begin_array();
  for (const Condition& condition : view.conditions) render_condition(w, condition);
  w.end_array();
  w.end_object();
}

void render(json::Writer& w, const InUse& use) {
  w.begin_object();
  w.key("in_use").boolean(use.in_use());
  for (const auto& [key, users] : {std::pair{"users", &use.users}, std::pair{"services", &use.services}}) {
    w.key(key).begin_array();
    for (const User& user : *users) render_user(w, user);
    w.end_array();
  }
  render_stacks(w, "stacks", use.stacks);
  render_stacks(w, "orphans", use.orphans);
  w.key("unexplained").begin_object();
  for (const auto& [module, count] : use.unexplained) w.key(module).number(count);
  w.end_object();
  w.key("foreign_holders").begin_object();
  for (const auto& [module, holders] : use.foreign_holders) json::write(w.key(module), holders);
  w.end_object();
  json::write(w.key("unknown"), use.unknown);
  w.end_object();
}

void render(json::Writer& w, const InstalledVersion& version) {
  w.begin_object();
  w.key("name").string(version.name);
  w.key("kernels").begin_object();
  for (const auto& [kernel, modules] : version.kernels) {
    w.key(kernel).begin_array();
    for (const InstalledModule& module : modules) {
      w.begin_object();
      w.key("name").string(module.name);
      w.key("version").string_or_null(module.version);
      w.key("build_id").string(module.build_id);
      w.key("path").string(module.path);
      w.end_object();
    }
    w.end_array();
  }
  w.end_object();
  w.key("control_plane").string_or_null(version.control_plane);
  w.key("library").string_or_null(version.library);
  w.end_object();
}

void render(json::Writer& w, const Verification& found) {
  const StepError error = found.step_error.value_or(StepError{});
  w.begin_object();
  w.key("generation").number(found.generation);
  w.key("verified").boolean(!found.step_error);
  w.key("cause").string(error.cause);
  w.key("message").string(error.message);
  json::write(w.key("kernel"), error.kernel);
  w.end_object();
}

void render(json::Writer& w, const Stack& stack) {
  w.begin_object();
  w.key("id").number(stack.id);
  w.key("pid").number(static_cast<uint64_t>(stack.creator));
  w.key("uid").number(stack.uid);
  w.key("orphan").boolean(stack.orphan);
  w.end_object();
}

void render(json::Writer& w, const Interface& interface, const InterfaceSpec* spec) {
  w.begin_object();
  w.key("name").string(interface.name);
  w.key("pci").string_or_null(interface.pci);
  w.key("solarflare").boolean(interface.solarflare);
  w.key("mac").string_or_null(interface.mac);
  w.key("driver").string_or_null(interface.driver);
  w.key("driver_version").string_or_null(interface.driver_version);
  w.key("speed_mbps").number_or_null(interface.speed);
  w.key("operstate").string(interface.operstate);
  w.key("accelerated").boolean_or_null(interface.accelerated);
  w.key("af_xdp").boolean(interface.afxdp);
  w.key("wanted").begin_object();
  w.key("accelerated").boolean_or_null(spec == nullptr ? std::nullopt : spec->accelerated);
  w.key("af_xdp").boolean_or_null(spec == nullptr ? std::nullopt : spec->registered);
  w.end_object();
  json::write(w.key("uppers"), interface.uppers);
  json::write(w.key("addresses"), interface.addresses);
  w.key("default_route").boolean(interface.default_route);
  w.key("vfs").number(interface.vfs);
  w.end_object();
}

}  // namespace nrd::v1
