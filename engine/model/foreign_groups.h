// ReservedCpus of resctrl that nrd did not make: of containers, virtual machines, other tools. They hold classes of
// service, and those that have CPUs or tasks fill the ways of their masks.
//
// A group COSn with the masks of a new group, no CPUs, no tasks and no monitoring groups is a leftover of libpqos,
// which makes the groups of all classes whenever a program such as pqos starts it. It counts as free.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "engine/model/workload.h"
#include "hw/rdt/types.h"

namespace nrd {

struct NodeState;

// What a guarantee does where a foreign group may fill its ways.
enum class ForeignGroups { Report, Refuse };

// Of all groups but the root.
std::set<std::string> group_names(const rdt::Observed& observed);
// By name; the pointers are into `state`.
std::map<std::string, const rdt::Class*> foreign_groups(const NodeState& state);
// Leftovers that no workload and not the infrastructure needs.
std::set<ClosId> leftover_groups(const NodeState& state);

// Ways of `cache` that foreign groups hold. A group with the masks of a new one constrains nothing and holds none.
WayMask foreign_ways(const NodeState& state, CacheId cache);
// Ways of `cache` that the kernel lets no other group have: those of exclusive groups and locked regions.
WayMask locked_ways(const NodeState& state, CacheId cache);

// The mask of `cache` that the kernel gives a new group: all ways but the locked ones, or as many of these as are
// legal.
WayMask new_group_ways(const NodeState& state, CacheId cache);

// Names of the foreign groups that may fill `ways` of `cache`: they have CPUs there, or tasks, which run anywhere. One
// that cannot be read is among them with `Unreadable::Included`.
enum class Unreadable { Included, LeftOut };
std::set<std::string> sharing_groups(const NodeState& state, CacheId cache, WayMask ways, Unreadable unreadable);
// Of all its caches; empty for a workload whose ways are its own alone, and in the shared pool.
std::set<std::string> sharing_groups(const NodeState& state, const Workload& workload);
// Its ways are filled by it alone. False in the shared pool.
bool is_exclusive(const NodeState& state, const Workload& workload);

// The class that a further workload beside `workloads` gets, or NoClass with the names of those that hold them. COS1 is
// the last choice: clients of RMD know it as the infrastructure's, and expect workloads from COS2 on.
Result<ClosId> choose_class(const NodeState& state, const std::map<WorkloadId, Workload>& workloads);
// Whether COSn can be had: the group does not exist and the kernel has a class for it, or it is nrd's or a leftover.
bool is_class_available(const NodeState& state, ClosId clos);
// Classes in use of any kind, the root's included.
unsigned used_classes(const NodeState& state);

}  // namespace nrd
