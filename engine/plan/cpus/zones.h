// The zones of a machine as a tree: machine, package, die, node, L3, L2, core. Built once per topology, also at
// hotplug; immutable, so every thread may read it.
//
// The CPUs have positions, in an order in which those of each zone are neighbours. So a zone is a range of positions,
// and counting in any zone costs one subtraction of sums. Zones are stored parents first, each followed by all that is
// below it:
//
//   0 machine          positions 0..8, end 7
//   1   node 0         positions 0..4, end 4
//   2     core 0       positions 0..2, end 3
//   3     core 1       positions 2..4, end 4
//   4   node 1         positions 4..8, end 7 ...
//
// Left out: zones without online CPUs (nodes of memory only), zones that overlap a core or a coarser zone without lying
// in it, and zones with the same CPUs as their parent, which becomes a zone of both levels. The children of a zone have
// one level and all of its CPUs: those that the machine reports in no zone of this level form one more, without a
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "hw/cpuset/types.h"

namespace nrd::plan {

using ZoneIndex = uint32_t;

struct ZoneLabel {
  cpuset::Level level = cpuset::Level::Machine;
  uint32_t id = 0;
  friend bool operator==(const ZoneLabel&, const ZoneLabel&) = default;
};

struct TreeZone {
  cpuset::Level level = cpuset::Level::Machine;   // the coarsest of its levels
  cpuset::Level finest = cpuset::Level::Machine;  // and the finest
  std::vector<ZoneLabel> labels{};                // coarsest first; empty: CPUs in no reported zone of the level
  ZoneIndex parent = 0;                           // the machine's is the machine
  ZoneIndex end = 0;                              // of the zones below it
  uint32_t first = 0;                             // positions first..last-1
  uint32_t last = 0;
  friend bool operator==(const TreeZone&, const TreeZone&) = default;
};

class ZoneTree {
 public:
  ZoneTree(const std::vector<cpuset::Zone>& zones, const CpuSet& online);

  const std::vector<TreeZone>& zones() const { return zones_; }
  const CpuSet& online() const { return online_; }

  uint32_t size() const { return static_cast<uint32_t>(cpus_.size()); }  // number of positions
  CpuId cpu_at(uint32_t position) const { return cpus_[position]; }
  std::optional<uint32_t> position_of(CpuId cpu) const;  // nullopt: not online

  // The positions of the threads of the core at `position`.
  std::pair<uint32_t, uint32_t> core_at(uint32_t position) const { return cores_[position]; }
  // The online threads of its core, itself included; empty if it is not online.
  CpuSet core_of(CpuId cpu) const;

  bool has_children(ZoneIndex zone) const { return zones_[zone].end > zone + 1; }
  // True if no zone of `level` or coarser is below it: it is one of the largest zones that do not cross `level`, or
  // lies in one.
  bool stays_within(ZoneIndex zone, cpuset::Level level) const;
  // The smallest zone around `zone`, itself included, that is not finer than `level`.
  ZoneIndex around(ZoneIndex zone, cpuset::Level level) const;
  // The same for the CPU at `position`: the zone of `level` that it is in, or where the machine has none the next
  // coarser.
  ZoneIndex zone_at(uint32_t position, cpuset::Level level) const { return around(leaves_[position], level); }

  // The smallest zone that has all these CPUs; those that are not online do not count.
  ZoneIndex smallest_with(const CpuSet& cpus) const;
  CpuSet cpus_of(ZoneIndex zone) const;

 private:
  std::vector<TreeZone> zones_;
  CpuSet online_;
  std::vector<CpuId> cpus_;                           // by position
  std::vector<uint32_t> positions_;                   // by CPU number; kOffline
  std::vector<std::pair<uint32_t, uint32_t>> cores_;  // by position
  std::vector<ZoneIndex> leaves_;                     // by position: the finest zone
};

std::string name_of(cpuset::Level level);  // "machine", "package", "die", "node", "l3", "l2", "core"

// For clients: "node 0, l3 1". Node and L3 where they exist, package and die where there is no node, and L2 or core if
// the zone is one.
std::string text_of(const ZoneTree& tree, ZoneIndex zone);
// Its own name at `level` if it has one, otherwise at its finest level: "node 1".
std::string short_text_of(const ZoneTree& tree, ZoneIndex zone, cpuset::Level level);

}  // namespace nrd::plan
