// Workloads that end with a process: deleted, as by a client, when it ends.
//
// The owner is stored with the workload in its one commit, so there is no moment at which a workload is there and
// nobody would delete it: what happens while nrd is down is seen at its next start. Any thread.
#pragma once

#include "engine/engine.h"
#include "engine/owners.h"

namespace nrd {

// Of a workload that has just been created, or all there are at the start. Both must outlive the thread of `owners`.
void end_with_owner(Engine& engine, Owners& owners, const Workload& workload);
void end_with_owners(Engine& engine, Owners& owners);

}  // namespace nrd
