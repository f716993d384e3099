#include "cli/granted_cpus.h"

#include <sched.h>

#include <memory>
#include <utility>

#include "base/joined.h"

namespace nrd::cli {
namespace {

OrStop<CpuSet> cpus_in(const json::Value& cpu, const char* member) {
  const std::string list = text_in(part(cpu, member));
  return list.empty() ? CpuSet() : or_stop(CpuSet::parse(list), kUnreachable);
}

OrStop<GrantedCpus::OfPool> of_pool(const json::Value& cpu) {
  CpuSet exclusive = TRY(cpus_in(cpu, "exclusive"));
  CpuSet shared = TRY(cpus_in(cpu, "shared"));
  return GrantedCpus::OfPool{text_in(part(cpu, "pool")), std::move(exclusive), std::move(shared)};
}

std::string listed(const CpuSet& cpus) {
  return joined(cpus.members(), ",", [](CpuId cpu) { return std::to_string(cpu.value); });
}

}  // namespace

CpuSet GrantedCpus::exclusive() const {
  CpuSet cpus;
  for (const OfPool& each : by_pool) cpus |= each.exclusive;
  return cpus;
}

CpuSet GrantedCpus::shared() const {
  CpuSet cpus;
  for (const OfPool& each : by_pool) cpus |= each.shared;
  return cpus;
}

OrStop<GrantedCpus> granted_cpus(const Answer& answer) {
  const json::Value workload = TRY(parsed(answer.body));
  const json::Value& cpu = part(workload, "cpu");
  const json::Value& first = cpu.items().empty() ? cpu : cpu.items().front();
  GrantedCpus granted{.workload = text_in(part(workload, "id")), .by_pool = {}};
  granted.has_scope = text_in(part(part(first, "enforced"), "by")) == "scope";
  if (cpu.items().empty()) granted.by_pool.push_back(TRY(of_pool(cpu)));
  for (const json::Value& each : cpu.items()) granted.by_pool.push_back(TRY(of_pool(each)));
  return granted;
}

void set_variables(Environment& environment, const GrantedCpus& granted) {
  const CpuSet exclusive = granted.exclusive();
  const CpuSet shared = granted.shared();
  environment["NRD_WORKLOAD"] = granted.workload;
  environment["NRD_CPUS"] = exclusive.to_string();
  environment["NRD_CPUS_SHARED"] = shared.to_string();
  environment["EXCLUSIVE_CPUS"] = listed(exclusive);
  environment["SHARED_CPUS"] = listed(shared);
  environment["NRD_POOLS"] = joined(granted.by_pool, ";", [](const GrantedCpus::OfPool& each) {
    return each.pool + "=" + (each.exclusive | each.shared).to_string();
  });
  environment["CPU_POOLS"] = exclusive.empty() ? "shared" : shared.empty() ? "exclusive" : "exclusive&shared";
}

int set_affinity(const CpuSet& cpus) {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(CpuSet::kMaxCpus),
                                                              [](cpu_set_t* set) { CPU_FREE(set); });
  const size_t size = CPU_ALLOC_SIZE(CpuSet::kMaxCpus);
  CPU_ZERO_S(size, mask.get());
  for (const CpuId cpu : cpus.members()) CPU_SET_S(cpu.value, size, mask.get());
  return ::sched_setaffinity(0, size, mask.get());
}

void run_anywhere_within() { [[maybe_unused]] const int set = set_affinity(CpuSet::first(CpuSet::kMaxCpus)); }

}  // namespace nrd::cli
