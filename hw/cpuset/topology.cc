#include "hw/cpuset/topology.h"

#include <fmt/core.h>
#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/errno_text.h"
#include "base/log.h"
#include "hw/cpuset/kernel_facts.h"

namespace nrd::cpuset {
namespace {

using Loaded = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

constexpr std::array kTypes{std::pair{HWLOC_OBJ_PACKAGE, Level::Package}, std::pair{HWLOC_OBJ_DIE, Level::Die},
                            std::pair{HWLOC_OBJ_NUMANODE, Level::Node},   std::pair{HWLOC_OBJ_L3CACHE, Level::L3},
                            std::pair{HWLOC_OBJ_L2CACHE, Level::L2},      std::pair{HWLOC_OBJ_CORE, Level::Core}};

Failure unreadable() { return fail(ErrorCode::Hardware, "cannot read the topology of the CPUs", errno_text("hwloc")); }

// Without the kinds of CPUs: for those hwloc reads three more files of each.
constexpr unsigned long kFlags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                                 HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                 HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;

// The component x86 would move this thread from CPU to CPU to execute CPUID there; sysfs has the same.
Result<Loaded> load() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return unreadable();
  Loaded topology(made, hwloc_topology_destroy);
  const bool is_loaded =
      hwloc_topology_set_flags(made, kFlags) == 0 &&
      hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") == 0 &&
      hwloc_topology_set_all_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      std::ranges::all_of(kTypes,
                          [made](const auto& type) {
                            return hwloc_topology_set_type_filter(made, type.first, HWLOC_TYPE_FILTER_KEEP_ALL) == 0;
                          }) &&
      hwloc_topology_load(made) == 0;
  if (!is_loaded) return unreadable();
  return topology;
}

CpuSet cpus_in(hwloc_const_bitmap_t bitmap) {
  CpuSet cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0 && static_cast<uint32_t>(cpu) < CpuSet::kMaxCpus;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    cpus.add(CpuId{static_cast<uint32_t>(cpu)});
  }
  return cpus;
}

}  // namespace

Result<std::vector<Zone>> read_zones() {
  const Loaded topology = TRY(load());
  std::vector<Zone> zones;
  for (const auto& [type, level] : kTypes) {
    std::vector<Zone> of_level;
    hwloc_obj_t each = nullptr;
    while ((each = hwloc_get_next_obj_by_type(topology.get(), type, each)) != nullptr) {
      CpuSet cpus = cpus_in(each->cpuset);
      if (!cpus.empty()) of_level.push_back({.level = level, .id = each->os_index, .cpus = std::move(cpus)});
    }
    std::ranges::sort(of_level, {}, [](const Zone& zone) { return zone.cpus.members().front(); });
    std::ranges::move(of_level, std::back_inserter(zones));
  }
  return zones;
}

Topology::Found Topology::read() {
  CpuSet online = online_cpus();
  return {.online = std::move(online), .zones = read_zones()};
}

// Debian's hwloc otherwise loads whatever plugins are installed, those of graphics cards too.
Topology::Topology(std::function<Found()> read) : read_(std::move(read)) {
  ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  pending_ = std::async(std::launch::async, read_);
}

void Topology::take(Found found) {
  known_ = std::move(found.online);
  if (found.zones) {
    zones_ = *std::move(found.zones);
    return;
  }
  const char* follows = zones_.empty() ? "CPU pools are not available" : "CPUs that came online belong to no zone";
  log::warning("NO_TOPOLOGY", fmt::format("{}; {}", found.zones.error().message, follows),
               {{"DETAIL", found.zones.error().detail}});
}

const Zones& Topology::zones(const CpuSet& online) {
  if (pending_.valid()) take(pending_.get());
  if (!online.is_subset_of(known_)) take(read_());
  return zones_;
}

}  // namespace nrd::cpuset
