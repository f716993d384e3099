#include "engine/model/workload.h"

#include "base/find_in.h"
#include "base/json/members.h"
#include "engine/model/workload_fields.h"

namespace nrd {
namespace {

template <typename T>
void change_part(const Change<T>& change, std::optional<T>& part) {
  if (change) part = *change;
}

template <typename T>
void change_part(const Change<json::Partial<T>>& change, std::optional<T>& part) {
  if (!change) return;
  if (!*change) return part.reset();
  json::assign(**change, part ? *part : part.emplace());
}

void change_cpu(const SpecPatch& patch, Spec& spec) {
  if (!patch.cpu) return;
  if (patch.further_cpus || !*patch.cpu) {
    spec.cpu.reset();
    spec.near_cpus.clear();
    spec.further_cpus = patch.further_cpus.value_or(std::vector<CpuRequest>());
  }
  if (const auto& request = *patch.cpu; !request || json::has(*request, "near")) spec.near_cpus = patch.near_cpus;
  if (*patch.cpu && spec.cpu) {
    const auto& request = **patch.cpu;
    const bool has_number = json::has(request, "count") || json::has(request, "cores") || json::has(request, "cpus");
    if (has_number || json::has(request, "request_milli")) {
      spec.cpu->count = spec.cpu->cores = 0;
      spec.cpu->cpus = {};
    }
    if (has_number) spec.cpu->request_milli = spec.cpu->limit_milli = 0;
    if (json::has(request, "memory")) spec.cpu->migrate = false;  // it says how this is done
  }
  change_part(patch.cpu, spec.cpu);
}

}  // namespace

Spec patched(Spec spec, const SpecPatch& patch) {
  if (patch.core_ids) spec.core_ids = *patch.core_ids;
  if (patch.cpus) spec.cpus = *patch.cpus;
  change_part(patch.cache, spec.cache);
  change_part(patch.l2, spec.l2);
  if (spec.l2 == L2Request{}) spec.l2.reset();
  change_part(patch.mba, spec.mba);
  change_part(patch.frequency, spec.frequency);
  change_part(patch.onload, spec.onload);
  change_cpu(patch, spec);
  if (patch.tasks && *patch.tasks != spec.tasks) {
    spec.tasks = *patch.tasks;
    spec.task_cpus = patch.task_cpus;
  }
  if (patch.name) spec.name = *patch.name;
  if (patch.labels && !*patch.labels) spec.labels.clear();
  if (patch.labels && *patch.labels) {
    for (const auto& [key, value] : **patch.labels) {
      spec.labels.erase(key);
      if (value) spec.labels.emplace(key, *value);
    }
  }
  return spec;
}

bool requests_same(Spec a, Spec b) {
  for (Spec* spec : {&a, &b}) {
    spec->name.clear();
    spec->uuid.clear();
    spec->labels.clear();
    if (spec->cgroup_owner) *spec->cgroup_owner = CgroupOwner{.within_seconds = spec->cgroup_owner->within_seconds};
  }
  return a == b;
}

std::vector<const CpuRequest*> cpu_requests_of(const Spec& spec) {
  std::vector<const CpuRequest*> requests;
  if (spec.cpu) requests.push_back(&*spec.cpu);
  for (const CpuRequest& request : spec.further_cpus) requests.push_back(&request);
  return requests;
}

std::span<const CpuGrant> cpu_grants_of(const Workload& workload) {
  if (!workload.grant.cpu_by_pool.empty()) return workload.grant.cpu_by_pool;
  return workload.grant.cpu ? std::span(&*workload.grant.cpu, 1) : std::span<const CpuGrant>();
}

CpuSet reserved_cpus_of(const Workload& workload) {
  return workload.grant.cpu ? workload.grant.cpu->exclusive | workload.grant.cpu->idle_siblings : workload.spec.cpus;
}

bool is_of_l2(const Workload& workload, CacheId cache) { return workload.spec.l2 && cache.level == 2; }

// Code has the lowest ways: best effort grows and shrinks at its upper end.
std::optional<rdt::Split> split_of(const Workload& workload, CacheId cache) {
  const WayMask* granted = find_in(workload.grant.ways, cache);
  const uint32_t ways =
      is_of_l2(workload, cache) ? workload.spec.l2->code : workload.spec.cache.value_or(CacheRequest{}).code;
  if (!granted || ways == 0) return std::nullopt;
  const WayMask code = WayMask::run(granted->lowest(), ways);
  return rdt::Split{.code = code, .data = *granted - code};
}

std::string id_text(const Workload& workload) {
  return workload.spec.given_id.empty() ? std::to_string(workload.id.value) : workload.spec.given_id;
}

const char* to_string(Pool pool) { return json::name_of(pool).data(); }

}  // namespace nrd
