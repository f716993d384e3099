// The groups of resctrl: listing, creating, reading and removing them.
//
// A class of service of nrd is the group COSn, which exists only while it is in use: the kernel has a fixed number of
// classes and of monitoring ids (RMIDs), and other software on the host needs some.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// Names of all groups but the root: "COS1", "COS2", "theirs".
Result<std::vector<std::string>> list_groups();

// The class whose directory has this name; nullopt for names that neither libpqos nor nrd uses.
std::optional<ClosId> class_of(std::string_view group);
// Directory of a class below kResctrl: "" for the root class, "/COS2".
std::string directory_of(ClosId clos);

// ErrorCode::NoClass: the kernel has no class or no RMID left; the message quotes the kernel.
// ErrorCode::Busy: all remaining RMIDs belonged to recently removed groups. Their data has to leave the cache first,
// which the kernel checks once a second, so this waits at most kRmidPatience.
// ErrorCode::Hardware: the group already exists, or the kernel refuses for another reason.
Result<void> make_group(ClosId clos);

// Its CPUs and tasks move to the root group. A group that has already vanished is no failure.
Result<void> remove_group(const std::string& name);

struct Group {
  Class group;
  std::vector<pid_t> tasks;  // not of the root group: it has all other tasks, and listing them is slow
};
// nullopt: the group does not exist. If the files of a group other than the root cannot be read, `is_readable` is
// false, so that only this group is affected.
Result<std::optional<Group>> read_group(const std::string& directory);

}  // namespace nrd::rdt
