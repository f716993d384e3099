#include "api/v1/parse_workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rmd/texts.h"
#include "api/rmd/wire_shape.h"
#include "api/v1/cpu_json.h"
#include "api/v1/frequency_json.h"
#include "api/v1/launch.h"
#include "api/v1/names_json.h"
#include "api/v1/owner_json.h"
#include "api/v1/workload_json.h"
#include "base/json/members.h"
#include "base/json/writer.h"
#include "base/number.h"
#include "base/task.h"
#include "engine/model/core_ids.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"
#include "engine/workload_service.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMaxCoreIds = CpuSet::kMaxCpus;
constexpr size_t kMaxTasks = 1024;
constexpr std::string_view kCoresExample = "a list of CPUs such as [\"0\", \"1-3\"]";
constexpr std::string_view kTasksExample = "a list of processes and threads such as [\"4711\", \"4712\"]";

// The meaning of null: absent on POST, as in RMD; on PATCH it removes the part.
enum class Null { IsAbsent, Removes };

// How the members of a body apply.
struct Mode {
  Null null;
  const Spec* before;  // what the answer in the body has, as far as it was not edited; nullptr: the body is no answer
};

enum class Use {
  Read,
  Text,         // a string set by nrd; the client's value is ignored
  Ignored,      // set by nrd; ignored, so that a response can be sent back
  ReadOnly,     // set by nrd; refused, because it would have no effect
  Unsupported,  // must be empty
};

struct Key {
  std::string_view name;
  Use on_post;
  Use on_patch;
  std::string_view why_not = {};  // for Unsupported and ReadOnly
};

constexpr std::array kKeys = {
    Key{"id", Use::Read, Use::Text},
    Key{"core_ids", Use::Read, Use::Read},
    Key{"task_ids", Use::Read, Use::Read},
    Key{"unit", Use::Read, Use::Ignored},
    Key{"cgroup", Use::Read, Use::Ignored},
    Key{"policy", Use::Read, Use::Read},
    Key{"status", Use::Text, Use::Text},
    Key{"cos_name", Use::Text, Use::Text},
    Key{"rdt", Use::Read, Use::Read},
    Key{"cache", Use::Read, Use::Read},
    Key{"cpu", Use::Read, Use::Read},
    Key{"cpu_request", Use::ReadOnly, Use::Ignored, "read-only; the request is cpu"},
    Key{"l2", Use::Read, Use::Read},
    Key{"pstate", Use::Read, Use::Read},
    Key{"plugins", Use::Read, Use::Read},
    Key{"uuid", Use::Read, Use::Text},
    Key{"name", Use::Read, Use::Read},
    Key{"labels", Use::Read, Use::Read},
    Key{"origin", Use::Text, Use::Text},
    Key{"owner", Use::Read, Use::Ignored},
    Key{kLaunchMember, Use::Read, Use::Read},
    Key{"backend_plugin_info", Use::Unsupported, Use::Unsupported, "plugins are not supported"},
    Key{"pool", Use::ReadOnly, Use::Ignored, "read-only; the pool follows from max and min of cache"},
    Key{"exclusive", Use::ReadOnly, Use::Ignored, "read-only; nrd observes which groups share the ways"},
    Key{"shared_with", Use::ReadOnly, Use::Ignored, "read-only; nrd observes which groups share the ways"},
    Key{"granted_ways", Use::ReadOnly, Use::Ignored, "read-only; nrd chooses the ways"},
    Key{"granted_l2_ways", Use::ReadOnly, Use::Ignored, "read-only; nrd chooses the ways"},
    Key{"granted_frequencies", Use::ReadOnly, Use::Ignored, "read-only; the grant follows from pstate"},
    Key{"granted_bandwidth", Use::ReadOnly, Use::Ignored, "read-only; the grant follows from mba"},
    Key{"throttled_siblings", Use::ReadOnly, Use::Ignored, "read-only; nrd observes which CPUs share a limit"},
    Key{"operation", Use::ReadOnly, Use::Ignored, "read-only; nrd begins operations"},
    Key{"created", Use::ReadOnly, Use::Ignored, "read-only; nrd sets the time"},
    Key{"updated", Use::ReadOnly, Use::Ignored, "read-only; nrd sets the time"},
};

Result<void> check_member(const json::Member& member, const Key& key, Use use) {
  const std::string field = json::pointer("", member.key);
  switch (use) {
    case Use::Read:
    case Use::Ignored: return {};
    case Use::Text:
      if (member.value.as_string() || member.value.is_null()) return {};
      return wrong_type(field, member.value, "a string");
    case Use::ReadOnly: return fail_at(ErrorCode::BadRequest, field, std::string(key.why_not));
    case Use::Unsupported:
      if (is_absent(member.value)) return {};
      return fail_at(ErrorCode::Unsupported, field, std::string(key.why_not));
  }
  return {};
}

// Unlike cache, which RMD has in both places.
Failure mba_outside_rdt() {
  return fail_at(ErrorCode::BadRequest, "/mba", "unknown key \"mba\"; memory bandwidth is requested in rdt",
                 "{\"rdt\": {\"mba\": {\"percentage\": 50}}}");
}

Result<void> check_top_level(const Value& body, Use Key::*use) {
  TRY(require_object("", body, "an object that describes a workload"));
  std::vector<std::string_view> known;
  for (const Key& key : kKeys) known.push_back(key.name);
  for (const json::Member& member : body.members()) {
    const auto key = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& k) { return k.name == member.key; });
    if (key == kKeys.end() && member.key == "mba") return mba_outside_rdt();
    if (key == kKeys.end()) return json::unknown_key("", member.key, known);
    TRY(check_member(member, *key, (*key).*use));
  }
  return {};
}

struct Cores {
  std::vector<std::string> ids;
  CpuSet cpus;
};

Result<Cores> parse_cores(const Value& value, CpuId last) {
  constexpr std::string_view kField = "/core_ids";
  if (value.kind() != Value::Kind::Array) return wrong_type(std::string(kField), value, kCoresExample);
  if (value.items().empty()) return rmd::no_cores();
  if (value.items().size() > kMaxCoreIds) {
    return fail_at(ErrorCode::BadRequest, std::string(kField), "too many items",
                   fmt::format("at most {}", kMaxCoreIds));
  }
  Cores cores;
  for (size_t i = 0; i < value.items().size(); ++i) {
    const Value& item = value.items()[i];
    const std::string field = json::pointer(kField, i);
    const std::string* text = item.as_string();
    if (!text) return wrong_type(field, item, "a CPU list as a string such as \"4\" or \"0-3,8\"");
    cores.ids.push_back(*text);
  }
  return parse_core_ids(cores.ids, last).map([&cores](CpuSet cpus) {
    cores.cpus = std::move(cpus);
    return std::move(cores);
  });
}

// As the kernel formats PIDs: no sign, no blank, no leading zero.
std::optional<pid_t> pid_in(const std::string& text) {
  const auto number = parse_number<pid_t>(text);
  if (!number || *number < 1 || *number > kLargestPid || text.starts_with('0')) return std::nullopt;
  return number;
}

// nullopt if absent. Empty if null removes the tasks.
Result<std::optional<std::vector<pid_t>>> parse_task_ids(const Value& body, Null null) {
  using Tasks = std::optional<std::vector<pid_t>>;
  const Value* value = body.find("task_ids");
  if (!value) return Tasks();
  if (value->is_null()) return null == Null::Removes ? Tasks(std::in_place) : Tasks();
  if (value->kind() != Value::Kind::Array) return wrong_type("/task_ids", *value, kTasksExample);
  if (value->items().empty()) return Tasks();
  if (value->items().size() > kMaxTasks) {
    return fail_at(ErrorCode::BadRequest, "/task_ids", "too many items", fmt::format("at most {}", kMaxTasks));
  }
  std::vector<pid_t> ids;
  for (size_t i = 0; i < value->items().size(); ++i) {
    const Value& item = value->items()[i];
    const std::string field = json::pointer("/task_ids", i);
    const std::string* text = item.as_string();
    if (!text) return wrong_type(field, item, "a process or thread ID as a string such as \"4711\"");
    const std::optional<pid_t> id = pid_in(*text);
    if (!id) {
      return fail_at(ErrorCode::BadRequest, field, "expected a process or thread ID, found " + shown(item),
                     fmt::format("\"1\" to \"{}\"", kLargestPid));
    }
    ids.push_back(*id);
  }
  return Tasks(std::move(ids));
}

template <typename T>
Result<Change<json::Partial<T>>> parse_some(const Value& object, const std::string& at) {
  const json::Partial<T> members = TRY(json::parse_members<T>(object, at));
  return members.given == 0 ? Change<json::Partial<T>>() : Change<json::Partial<T>>(members);
}

// The unit that the node supports, as RMD's message names it.
const char* unit_of(const NodeState& state) {
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  return !mba ? "none" : mba->unit == rdt::MbaUnit::Percent ? "percentage" : "mbps";
}

Result<Change<MbaRequest>> parse_mba(const Value& object, const std::string& at, const NodeState& state) {
  const auto members = TRY(json::parse_members<MbaRequest>(object, at));
  if (!has(members, "percentage") || !has(members, "mbps")) {
    return members.given == 0 ? Change<MbaRequest>() : Change<MbaRequest>(members.values);
  }
  const std::string unit = unit_of(state);
  return Failure(Error{.code = ErrorCode::BadRequest,
                       .field = at,
                       .message = "has both percentage and mbps",
                       .detail = {},
                       .allowed = unit == "none" ? "either percentage or mbps" : unit,
                       .subject = unit});
}

// The request of the workload if the body is its present answer, edited or not. One that is older, such as in a
// repeated request, does not say which of two different parts was edited.
const Spec* answered_in(const Value& body, const Workload& workload) {
  const Value* updated = body.find("updated");
  const std::string* time = updated ? updated->as_string() : nullptr;
  return time && *time == timestamp(workload.updated) ? &workload.spec : nullptr;
}

// True if a PATCH with this part alone changes nothing.
template <typename T>
bool is_as_before(const std::optional<T>& part, Change<T> SpecPatch::*member, const Spec* before) {
  SpecPatch patch;
  (patch.*member).emplace(part);
  return before && patched(*before, patch) == *before;
}

// All places must have the same value; one without a value is ignored. A response that is sent back has a part in both
// shapes, of which clients of RMD edit the one they know: the other one, unchanged, is ignored as well.
template <typename T, typename Parse>
Result<void> parse_part(const std::vector<rmd::Part>& places, const Mode& mode, SpecPatch& patch,
                        Change<T> SpecPatch::*member, Parse parse) {
  Change<T>& part = patch.*member;
  for (const rmd::Part& place : places) {
    if (place.value->is_null() && mode.null == Null::IsAbsent) continue;
    Change<T> found = std::optional<T>();
    if (!place.value->is_null()) found = TRY(parse(*place.value, place.pointer));
    if (!found || part == found || (part && is_as_before(*found, member, mode.before))) continue;
    if (part && !is_as_before(*part, member, mode.before)) {
      return fail_at(ErrorCode::BadRequest, places.front().pointer, "differs from " + place.pointer,
                     "either one, or both with the same value");
    }
    part = std::move(found);
  }
  return {};
}

Result<void> parse_parts(const Value& body, const NodeState& state, const Mode& mode, SpecPatch& patch) {
  const rmd::Parts parts = TRY(rmd::parts_of(body));
  TRY(parse_part(parts.cache, mode, patch, &SpecPatch::cache, parse_some<CacheRequest>));
  TRY(parse_part(parts.pstate, mode, patch, &SpecPatch::frequency, parse_pstate));
  TRY(parse_part(parts.mba, mode, patch, &SpecPatch::mba,
                 [&](const Value& mba, const std::string& at) { return parse_mba(mba, at, state); }));
  if (const Value* l2 = body.find("l2")) {
    TRY(parse_part({{"/l2", l2}}, mode, patch, &SpecPatch::l2, parse_some<L2Request>));
  }
  const Value* cpu = body.find("cpu");
  if (cpu && patch.core_ids && is_granted_cpu(*cpu)) return {};
  const std::string member = cpu_member_of(body);
  const std::string at = "/" + member;
  if (cpu) cpu = body.find(member);
  if (cpu && cpu->kind() == Value::Kind::Array) return parse_cpu_list(*cpu, at, patch);
  if (cpu) TRY(parse_part({{at, cpu}}, mode, patch, &SpecPatch::cpu, parse_cpu));
  return {};
}

// The highest possible one, or of all if the node reports none.
CpuId last_cpu(const NodeState& state) {
  const std::vector<CpuId> possible = state.facts.rdt.possible.members();
  return possible.empty() ? CpuId{CpuSet::kMaxCpus - 1} : possible.back();
}

// The members that POST and PATCH have in common.
Result<WorkloadPatch> parse_common(const Value& body, const NodeState& state, const Mode& mode) {
  WorkloadPatch parsed{.id = {}, .patch = {}};
  parsed.task_ids = TRY(parse_task_ids(body, mode.null));
  // As in RMD, null means absent: CPUs can be replaced but not removed.
  const Value* core_ids = body.find("core_ids");
  const bool is_tasks_alone = mode.null == Null::IsAbsent && parsed.task_ids && core_ids && is_absent(*core_ids);
  if (core_ids && !core_ids->is_null() && !is_tasks_alone) {
    Cores cores = TRY(parse_cores(*core_ids, last_cpu(state)));
    parsed.patch.core_ids = std::move(cores.ids);
    parsed.patch.cpus = std::move(cores.cpus);
  }
  TRY(parse_parts(body, state, mode, parsed.patch));
  parsed.patch.policy = TRY(parse_text(body, kPolicy));
  parsed.patch.name = TRY(parse_name(body));
  parsed.patch.labels = TRY(parse_labels(body));
  parsed.launch = TRY(parse_launch(body, parsed.patch));
  return parsed;
}

// What a workload needs in addition to what a patch may have.
Result<void> check_is_whole(const WorkloadPatch& parsed, const Spec& spec, const NodeState& state) {
  const SpecPatch& patch = parsed.patch;
  if (!patch.core_ids && !parsed.task_ids && !patch.cpu && !spec.has_group()) return rmd::no_cores();
  if (patch.cache && !is_whole(**patch.cache)) return rmd::half_a_cache();
  if (patch.l2 && !is_whole(**patch.l2)) {
    return fail_at(ErrorCode::BadRequest, "/l2/ways", "is required with code", "both ways and code");
  }
  const bool is_empty =
      !spec.cpu && !spec.cache && !spec.l2 && !spec.mba && !spec.frequency && spec.policy.empty() && !parsed.launch;
  // For some clients the engine adds the default pool, and refuses the others.
  const bool may_get_pool = !state.config->default_pool.empty() && !patch.core_ids;
  return is_empty && !may_get_pool ? Result<void>(rmd::no_parameters()) : Result<void>();
}

// A whole workload; `use`: the keys that it may have.
Result<NewWorkload> parse_whole(const Value& body, const NodeState& state, Use Key::*use, const Spec* before) {
  TRY(check_top_level(body, use));
  WorkloadPatch parsed = TRY(parse_common(body, state, {Null::IsAbsent, before}));
  Spec spec = patched({}, parsed.patch);
  spec.policy = parsed.patch.policy;
  spec.unit = TRY(parse_text(body, kUnit));
  spec.cgroup = TRY(parse_text(body, kCgroup));
  TRY(check_is_whole(parsed, spec, state));
  spec.uuid = TRY(parse_text(body, kUuid));
  spec.given_id = TRY(parse_text(body, kGivenId));
  const std::optional<OwnerRequest> owner = TRY(parse_owner(body));
  return NewWorkload{.spec = std::move(spec),
                     .task_ids = std::move(parsed.task_ids),
                     .owner = owner,
                     .launch = std::move(parsed.launch)};
}

}  // namespace

std::string cpu_member_of(const Value& body) {
  const Value* cpu = body.find("cpu");
  return cpu && body.find("cpu_request") && is_unedited_grant(*cpu) ? "cpu_request" : "cpu";
}

Result<NewWorkload> parse_workload(const Value& body, const NodeState& state) {
  return parse_whole(body, state, &Key::on_post, nullptr);
}

Result<NewWorkload> parse_replacement(const Value& body, const NodeState& state, const std::string& id) {
  TRY(check_given_id(id));
  const Workload* replaced = workload_with_id(state, id);
  NewWorkload workload =
      TRY(parse_whole(body, state, &Key::on_patch, replaced ? answered_in(body, *replaced) : nullptr));
  if (!workload.spec.given_id.empty() && workload.spec.given_id != id) {
    return fail_at(ErrorCode::BadRequest, "/id", "differs from the id of the path", "the same id, or none");
  }
  workload.spec.given_id = id;
  return workload;
}

Result<WorkloadPatch> parse_workload_patch(const Value& body, const NodeState& state, const Workload& workload) {
  TRY(check_top_level(body, &Key::on_patch));
  return parse_common(body, state, {Null::Removes, answered_in(body, workload)});
}

}  // namespace nrd::v1
