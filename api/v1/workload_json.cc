#include "api/v1/workload_json.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <map>

#include "api/v1/cpu_json.h"
#include "api/v1/frequency_json.h"
#include "api/v1/launch.h"
#include "api/v1/owner_json.h"
#include "base/json/members.h"
#include "base/json/object.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"
#include "engine/plan/bandwidth.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

// {} without a value.
template <typename T>
void write_part(json::Writer& w, const std::optional<T>& part) {
  part ? json::write_object(w, *part) : void(w.begin_object().end_object());
}

void write_granted_ways(json::Writer& w, const Workload& workload, bool of_l2) {
  w.begin_object();
  for (const auto& [id, ways] : workload.grant.ways) {
    if (is_of_l2(workload, id) != of_l2) continue;
    w.key(std::to_string(id.value));
    to_json(w, ways, split_of(workload, id));
  }
  w.end_object();
}

// {"0": {"percentage": 50}}: by cache, in the units of requests.
void write_granted_bandwidth(json::Writer& w, const std::map<CacheId, rdt::Bandwidth>& granted) {
  constexpr uint64_t kMbpsOfEighth = 125;  // an eighth of a GB/s
  w.begin_object();
  for (const auto& [cache, limit] : granted) {
    const bool is_percent = limit.unit == rdt::MbaUnit::Percent;
    const uint64_t factor = limit.unit == rdt::MbaUnit::EighthsOfGbps ? kMbpsOfEighth : 1;
    json::write_object(w.key(std::to_string(cache.value)),
                       {{is_percent ? "percentage" : "mbps", factor * limit.value}});
  }
  w.end_object();
}

// Only for workloads with cache ways.
void write_exclusive(json::Writer& w, const NodeState& state, const Workload& workload) {
  if (!workload.grant.has_class()) return;
  w.key("exclusive").boolean(is_exclusive(state, workload));
  json::write(w.key("shared_with"), sharing_groups(state, workload));
}

// RMD's keys, in RMD's order, up to its newer shape.
void write_as_rmd(json::Writer& w, const NodeState& state, const Workload& workload, const JsonOptions& options) {
  const Spec& spec = workload.spec;
  const bool is_new = options.is_dry_run && !state.workloads.contains(workload.id);
  const auto write_task = [](json::Writer& of, const Task& task) { of.string(std::to_string(task.id)); };
  const auto write_rdt = [&spec](json::Writer& of) {
    of.begin_object();
    write_part(of.key("cache"), spec.cache);
    write_part(of.key("mba"), spec.mba);
    of.end_object();
  };
  json::write_members(w,
                      {{"id", is_new ? spec.given_id : id_text(workload)}, {"core_ids", json::given(spec.core_ids)}});
  if (!spec.tasks.empty()) json::array(spec.tasks, write_task)(w.key("task_ids"));
  // "Failed": the hardware setting differs from the grant, after an external change or a failed write at startup.
  const char* status = options.is_dry_run ? "None" : is_applied(state, workload) ? "Successful" : "Failed";
  json::write_members(w, {{"unit", json::given(spec.unit)},
                          {"cgroup", json::given(spec.cgroup)},
                          {"policy", json::given(spec.policy)},
                          {"status", status},
                          {"cos_name", workload.grant.has_class() ? text_of(workload.grant.clos) : ""},
                          {"rdt", write_rdt},
                          {"uuid", json::given(spec.uuid)},
                          {"origin", workload.origin}});
  if (!spec.frequency) return;
  w.key("plugins").begin_object();
  to_json(w.key("pstate"), *spec.frequency, options.ratio);
  w.end_object();
}

void write_grant(json::Writer& w, const NodeState& state, const Workload& workload) {
  if (workload.grant.cpu) {
    write_cpu(w.key("cpu"), state, workload);
    if (workload.spec.cpu) write_cpu_request(w.key("cpu_request"), workload);
  }
  w.key("pool").string(to_string(workload.grant.pool));
  write_exclusive(w, state, workload);
  write_granted_ways(w.key("granted_ways"), workload, false);
  if (workload.spec.l2) {
    json::write_object(w.key("l2"), *workload.spec.l2);
    write_granted_ways(w.key("granted_l2_ways"), workload, true);
  }
  if (!workload.grant.bandwidth.empty()) write_granted_bandwidth(w.key("granted_bandwidth"), workload.grant.bandwidth);
  if (const CpuSet siblings = plan::throttled_siblings(state, workload); !siblings.empty())
    w.key("throttled_siblings").string(siblings.to_string());
  if (workload.spec.frequency) write_granted_frequencies(w.key("granted_frequencies"), state, workload);
}

// The one that a change of it waits for, if any.
void write_operation(json::Writer& w, const NodeState& state, const Workload& workload, const JsonOptions& options) {
  const std::optional<uint64_t> id = options.operation ? options.operation : open_operation_of(state, workload);
  if (!id) return;
  const MemoryMove& move = state.memory_moves.at(*id);
  json::write_object(w.key("operation"),
                     {{"id", *id}, {"state", to_string(move.state)}, {"from", move.from}, {"to", move.to}});
}

void write_knob_change(json::Writer& w, const KnobChange& change) {
  json::write_object(w, {{"knob", change.knob}, {"from", change.from}, {"to", change.to}});
}

}  // namespace

void to_json(json::Writer& w, WayMask ways, const std::optional<rdt::Split>& split) {
  w.begin_object();
  json::write_members(w, {{"mask", ways.hex()}, {"ways", ways.count()}});
  if (split) json::write_members(w, {{"code", split->code}, {"data", split->data}});
  w.end_object();
}

std::string timestamp(Time time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(second.time_since_epoch().count()), (time - second).count());
}

void to_json(json::Writer& w, const NodeState& state, const Workload& workload, const JsonOptions& options) {
  const Spec& spec = workload.spec;
  w.begin_object();
  write_as_rmd(w, state, workload, options);
  // RMD 0.2's shape, then nrd's own keys.
  write_part(w.key("cache"), spec.cache);
  if (spec.frequency) to_json(w.key("pstate"), *spec.frequency, options.ratio);
  if (!spec.name.empty()) w.key("name").string(spec.name);
  if (!spec.labels.empty()) json::by_key(spec.labels)(w.key("labels"));
  write_grant(w, state, workload);
  write_operation(w, state, workload, options);
  if (spec.owner) to_json(w.key("owner"), *spec.owner);
  if (spec.cgroup_owner) to_json(w.key("owner"), *spec.cgroup_owner);
  write_launch(w, spec, options.launch);
  w.key("created").string(timestamp(workload.created));
  w.key("updated").string(timestamp(workload.updated));
  w.end_object();
}

std::string workload_json(const NodeState& state, const Workload& workload, const JsonOptions& options) {
  return json::document([&](json::Writer& w) { to_json(w, state, workload, options); });
}

std::string dry_run_json(const Done& dry_run) {
  const auto write_granted = [&dry_run](json::Writer& w) {
    to_json(w, *dry_run.state, dry_run.workload, {.is_dry_run = true});
  };
  return json::document({{"workload", write_granted}, {"changes", json::array(dry_run.changes, write_knob_change)}});
}

bool Selection::matches(const Workload& workload) const {
  const Spec& spec = workload.spec;
  const auto has = [&spec](const auto& label) {
    const auto found = spec.labels.find(label.first);
    return found != spec.labels.end() && (!label.second || found->second == *label.second);
  };
  return (!uuid || spec.uuid == *uuid) && (!origin || workload.origin == *origin) && (!name || spec.name == *name) &&
         std::ranges::all_of(labels, has);
}

std::string workloads_json(const NodeState& state) { return selection_json(state, {}); }

std::string selection_json(const NodeState& state, const Selection& selection) {
  json::Writer w;
  w.begin_array();
  for (const auto& [id, workload] : state.workloads) {
    if (selection.matches(workload)) to_json(w, state, workload);
  }
  w.end_array();
  return w.take();
}

}  // namespace nrd::v1
