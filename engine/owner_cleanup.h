// Deletes workloads when their owner process exits.
//
// The owner is stored in the same commit as its workload, so a stored workload is never without its owner; an exit
// while nrd is down is found at the next start. Any thread.
#pragma once

#include "base/owner.h"

namespace nrd {

class Engine;
class OwnerWatcher;

// Watches `owner` for all its workloads. Call it after each attempt to create one, including a failed one: a commit
// with an unknown outcome may turn out to be done. Both must outlive the thread of `owners`.
void end_with_owner(Engine& engine, OwnerWatcher& owners, const Owner& owner);
// Watches the owners of all existing workloads, at start.
void end_with_owners(Engine& engine, OwnerWatcher& owners);

}  // namespace nrd
