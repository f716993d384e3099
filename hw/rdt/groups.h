// The groups of resctrl: which there are, and how one is made, read and removed.
//
// A class of service of nrd is the group COSn, which exists only while something is in it: the kernel has a fixed
// number of classes and of monitoring ids (RMIDs), and other software on the host needs its own.
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

// The class whose directory has this name; nullopt for names that neither libpqos nor nrd gives.
std::optional<ClosId> class_of(std::string_view group);
// "COS2"
std::string name_of(ClosId clos);
// Directory of a class below kResctrl: "" for the root class, "/COS2".
std::string directory_of(ClosId clos);

// ErrorCode::NoClass: the kernel has no class, or no RMID, left for it; the message has the kernel's words.
// ErrorCode::Busy: all RMIDs that are left belonged to groups that were removed a moment ago. Their data has to leave
// the cache first, which the kernel checks once a second, so this waits kRmidPatience at most.
// ErrorCode::Hardware: the group exists already, or the kernel refuses for another reason.
Result<void> make_group(ClosId clos);

// Its CPUs and tasks go to the root group. One that has vanished is no failure.
Result<void> remove_group(const std::string& name);

struct Group {
  Class group;
  std::vector<pid_t> tasks;  // not of the root group: all unbound ones are there, and listing them costs much
};
// nullopt: the group is gone. A group other than the root whose files cannot be read is an answer with `is_readable`
// false, so that it costs only itself.
Result<std::optional<Group>> read_group(const std::string& directory);

}  // namespace nrd::rdt
