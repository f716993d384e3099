#include "engine/plan/cpus/slots.h"

#include <optional>

namespace nrd::plan {
namespace {

class SlotFinder {
 public:
  SlotFinder(const Situation& situation, const CpuRequest& request)
      : situation_(situation), request_(request), free_(situation.free & situation.pool.cpus) {
    eligible_ = free_ - zones_of_apart(situation, request);
    if (request.strict) eligible_ &= near_all(situation);
  }

  std::vector<Slot> slots() {
    const bool whole = takes_whole_cores(situation_.pool, request_);
    for (uint32_t first = 0; first < tree().size(); first = tree().core_at(first).second) {
      const auto [begin, end] = tree().core_at(first);
      if (whole) {
        add_core(begin, end);
      } else if (situation_.pool.threads == CpuPool::Threads::One) {
        add_one(begin, end);
      } else {
        add_each(begin, end);
      }
    }
    return std::move(slots_);
  }

 private:
  const ZoneTree& tree() const { return situation_.tree; }

  void add_core(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (!eligible_.contains(tree().cpu_at(i))) return;
    }
    slots_.push_back({.position = begin, .weight = request_.cores > 0 ? 1 : end - begin});
  }

  // A thread, if no other one of the core is used. The one that the workload has now, or else the lowest.
  void add_one(uint32_t begin, uint32_t end) {
    std::optional<uint32_t> chosen;
    for (uint32_t i = begin; i < end; ++i) {
      const CpuId cpu = tree().cpu_at(i);
      if (!free_.contains(cpu) && situation_.pool.cpus.contains(cpu)) return;
      if (!eligible_.contains(cpu)) continue;
      const bool is_kept = situation_.current.contains(cpu);
      if (!chosen || (is_kept && !situation_.current.contains(tree().cpu_at(*chosen)))) chosen = i;
    }
    if (chosen) slots_.push_back({.position = *chosen});
  }

  void add_each(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (eligible_.contains(tree().cpu_at(i))) slots_.push_back({.position = i});
    }
  }

  const Situation& situation_;
  const CpuRequest& request_;
  CpuSet free_;
  CpuSet eligible_;
  std::vector<Slot> slots_;
};

}  // namespace

CpuSet near_all(const Situation& situation) {
  CpuSet cpus = situation.tree.online();
  for (const CpuSet& near : situation.near) cpus &= near;
  return cpus;
}

CpuSet zones_of_apart(const Situation& situation, const CpuRequest& request) {
  CpuSet cpus;
  for (const Apart& other : situation.apart) {
    for (const CpuId cpu : other.cpus.members()) {
      const std::optional<uint32_t> position = situation.tree.position_of(cpu);
      if (!position || cpus.contains(cpu)) continue;
      cpus |= situation.tree.cpus_of(situation.tree.zone_at(*position, other.level.value_or(request.level)));
    }
  }
  return cpus;
}

bool takes_whole_cores(const CpuPool& pool, const CpuRequest& request) {
  return request.cores > 0 || pool.threads == CpuPool::Threads::All;
}

std::vector<Slot> slots_of(const Situation& situation, const CpuRequest& request) {
  return SlotFinder(situation, request).slots();
}

CpuSet siblings_in_pool(const Situation& situation, const CpuSet& cpus) {
  CpuSet siblings;
  for (const CpuId cpu : cpus.members()) siblings |= situation.tree.core_of(cpu);
  return (siblings & situation.pool.cpus) - cpus;
}

}  // namespace nrd::plan
