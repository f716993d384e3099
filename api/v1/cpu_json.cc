#include "api/v1/cpu_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/find_in.h"
#include "base/json/members.h"
#include "base/json/object.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMostNames = 16;

// Of a response.
constexpr std::array<std::string_view, 7> kReadOnly{"exclusive", "shared", "idle_siblings", "mems",
                                                    "zone",      "reason", "enforced"};

Value without_read_only(const Value& object) {
  if (!object.is_object()) return object;
  std::vector<json::Member> members;
  for (const json::Member& member : object.members()) {
    if (std::ranges::find(kReadOnly, member.key) == kReadOnly.end()) members.push_back(member);
  }
  return Value::object(std::move(members));
}

// Of one pool.
bool is_unedited(const Value& cpu) {
  if (!is_granted_cpu(cpu) || !cpu.find("cpus") || !cpu.find("shared")) return false;
  const bool is_whole = std::ranges::all_of(cpu.members(), [](const json::Member& member) {
    return member.key == "pool" || member.key == "cpus" || std::ranges::find(kReadOnly, member.key) != kReadOnly.end();
  });
  return is_whole && (*cpu.find("cpus") == *cpu.find("exclusive") || *cpu.find("cpus") == *cpu.find("shared"));
}

Result<void> check_size(const std::string& at, const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return {};
  return fail_at(ErrorCode::BadRequest, at, fmt::format("has {} items", names.size()),
                 fmt::format("at most {}", kMostNames));
}

// Where the targets run now; empty: there is none.
CpuSet effective_cpus(const NodeState& state, const Workload& workload) {
  CpuSet effective;
  for (const cpuset::Target& target : targets_of(workload)) {
    const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, target);
    if (!masks) continue;
    effective |= masks->cpus;
    for (const auto& [thread, cpus] : masks->exceptions) effective |= cpus;
  }
  return effective;
}

// By what, and its name.
std::pair<const char*, std::string> enforcement_of(const Workload& workload) {
  const Spec& spec = workload.spec;
  if (is_enforced_by_runtime(workload)) return {"runtime", spec.cgroup};
  if (spec.has_group()) return spec.unit.empty() ? std::pair{"cgroup", spec.cgroup} : std::pair{"unit", spec.unit};
  if (workload.grant.cpu->has_scope) return {"scope", name_of_scope(workload)};
  return {"affinity", ""};
}

// As last read, of the first target that has one; null: none has.
template <typename Observed>
const Observed* first_of(const std::map<cpuset::Target, Observed>& observed, const Workload& workload) {
  for (const cpuset::Target& target : targets_of(workload)) {
    if (const Observed* found = find_in(observed, target)) return found;
  }
  return nullptr;
}

void write_enforced(json::Writer& w, const NodeState& state, const Workload& workload) {
  const CpuSet effective = effective_cpus(state, workload);
  if (effective.empty()) return;
  const cpuset::Observed& observed = state.observed.cpuset;
  const auto [by, name] = enforcement_of(workload);
  w.key("enforced").begin_object();
  json::write_members(w, {{"by", by}, {"name", json::given(name)}, {"effective", effective}});
  if (const auto* share = share_of(workload) ? first_of(observed.shares, workload) : nullptr) {
    w.key("weight").number(share->weight);
    if (share->quota_us > 0) w.key("limit_milli").number(milli_of(*share));
  }
  if (const auto* memory = memory_of(workload) ? first_of(observed.memory, workload) : nullptr)
    json::write(w.key("mems"), memory->nodes);
  w.end_object();
}

// Of a request after the first.
Result<CpuRequest> parse_further(const Value& item, const std::string& at) {
  const auto request = TRY(json::parse_members<CpuRequest>(without_read_only(item), at));
  for (const char* member : {"near", "strict", "apart", "level", "among", "enforce", "memory", "migrate"}) {
    if (json::has(request, member))
      return fail_at(ErrorCode::BadRequest, at + "/" + member, "counts for all pools", "this in the first item");
  }
  CpuRequest further;
  json::assign(request, further);
  return further;
}

}  // namespace

Result<Change<json::Partial<CpuRequest>>> parse_cpu(const Value& object, const std::string& at) {
  const auto request = TRY(json::parse_members<CpuRequest>(without_read_only(object), at));
  TRY(check_size(at + "/near", request.values.near));
  TRY(check_size(at + "/apart", request.values.apart));
  return request.given == 0 ? Change<json::Partial<CpuRequest>>() : Change<json::Partial<CpuRequest>>(request);
}

bool is_granted_cpu(const Value& cpu) { return cpu.is_object() && cpu.find("exclusive"); }

bool is_unedited_grant(const Value& cpu) {
  if (cpu.kind() == Value::Kind::Array) return !cpu.items().empty() && std::ranges::all_of(cpu.items(), is_unedited);
  return is_unedited(cpu);
}

Result<void> parse_cpu_list(const Value& list, const std::string& at, SpecPatch& patch) {
  const std::vector<Value>& items = list.items();
  if (items.empty() || items.size() > kMostCpuPools)
    return fail_at(ErrorCode::BadRequest, at, fmt::format("has {} items", items.size()),
                   fmt::format("1 to {}", kMostCpuPools));
  patch.cpu = TRY(parse_cpu(items.front(), at + "/0"));
  if (!patch.cpu) return fail_at(ErrorCode::BadRequest, at + "/0", "is empty", "an item with count, for example");
  std::vector<CpuRequest> further;
  for (size_t i = 1; i < items.size(); ++i) {
    CpuRequest request = TRY(parse_further(items[i], json::pointer(at, i)));
    further.push_back(std::move(request));
  }
  patch.further_cpus = std::move(further);
  return {};
}

void write_cpu(json::Writer& w, const NodeState& state, const Workload& workload) {
  const std::span<const CpuGrant> grants = cpu_grants_of(workload);
  if (grants.size() > 1) w.begin_array();
  for (const CpuGrant& grant : grants) {
    const CpuSet allowed = allowed_cpus(state, grant);
    w.begin_object();
    json::write_members(w, {{"pool", grant.pool},
                            {"cpus", grant.exclusive | allowed},
                            {"exclusive", grant.exclusive},
                            {"shared", allowed - grant.exclusive},
                            {"idle_siblings", grant.idle_siblings},
                            {"mems", json::given(grant.memory_nodes)},
                            {"zone", grant.zone},
                            {"reason", grant.reason}});
    if (&grant == &grants.front()) write_enforced(w, state, workload);
    w.end_object();
  }
  if (grants.size() > 1) w.end_array();
}

void write_cpu_request(json::Writer& w, const Workload& workload) {
  const std::vector<const CpuRequest*> requests = cpu_requests_of(workload.spec);
  if (requests.size() > 1) w.begin_array();
  for (const CpuRequest* request : requests) json::write_object(w, *request);
  if (requests.size() > 1) w.end_array();
}

}  // namespace nrd::v1
