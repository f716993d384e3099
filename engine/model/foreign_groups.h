// resctrl groups that nrd did not create: of containers, virtual machines, other tools. They use classes of service,
// and a group with CPUs or tasks fills the ways of its masks.
//
// libpqos creates a group for every class whenever a program such as pqos starts it. A group COSn with the masks of a
// new group and without CPUs, tasks and monitoring groups is such a leftover and counts as free.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "engine/model/fwd.h"
#include "hw/rdt/types.h"

namespace nrd {

// True for the root class, and for those that workloads or the infrastructure use or nrd has created.
bool is_class_of_ours(const NodeState& state, ClosId clos);
// Every group except the root.
std::set<std::string> group_names(const rdt::Observed& observed);
// By name; the pointers refer into `state`.
std::map<std::string, const rdt::Class*> foreign_groups(const NodeState& state);
// Leftovers that neither a workload nor the infrastructure uses.
std::set<ClosId> leftover_groups(const NodeState& state);

// Ways of `cache` that foreign groups hold. A group with the masks of a new group restricts nothing and holds none.
WayMask foreign_ways(const NodeState& state, CacheId cache);
// Ways of `cache` that the kernel allows in no other group: those of exclusive groups and pseudo-locked regions.
WayMask locked_ways(const NodeState& state, CacheId cache);

// The mask of `cache` that the kernel gives a new group: all ways except pseudo-locked ones, or the legal part of
// these.
WayMask new_group_ways(const NodeState& state, CacheId cache);

// Names of the foreign groups that may fill `ways` of `cache`: groups with CPUs on that cache, or with tasks, which run
// anywhere. `Unreadable::Included` adds the groups that cannot be read.
enum class Unreadable { Included, LeftOut };
std::set<std::string> sharing_groups(const NodeState& state, CacheId cache, WayMask ways, Unreadable unreadable);
// The same for all caches of a workload; empty if its ways are exclusive, and in the shared pool.
std::set<std::string> sharing_groups(const NodeState& state, const Workload& workload);
// True if only this workload fills its ways. False in the shared pool.
bool is_exclusive(const NodeState& state, const Workload& workload);

// The class for one more workload besides `workloads`, or NoClass with the names of the groups that hold the classes.
// COS1 comes last: clients of RMD know it as the infrastructure's and expect workloads from COS2 on.
Result<ClosId> choose_class(const NodeState& state, const Workloads& workloads);
// True if nrd can use COSn: the group does not exist and the kernel has a class for it, or the group is nrd's or a
// leftover.
bool is_class_available(const NodeState& state, ClosId clos);
// Classes in use by anything, including the root class.
unsigned used_classes(const NodeState& state);

// For a refusal: how to remove a leftover group. RMD and pqos leave theirs behind. RMD names its groups "COS2" and so
// on, so the pattern covers all of them.
std::string how_to_free(const std::string& group);
// For a refusal over ways of `cache`, of which `wanted` would suffice: which foreign groups hold some of them, and how
// to free them. Empty if none does.
std::string held_by_others(const NodeState& state, CacheId cache, WayMask wanted);

}  // namespace nrd
