// Workloads that end with a process: deleted, as by a client, when it ends.
//
// The owner is stored with the workload in its one commit, so there is no moment at which a workload is there and
// nobody would delete it: what happens while nrd is down is seen at its next start. Any thread.
#pragma once

#include "engine/process_watcher.h"
#include "engine/transaction/engine.h"

namespace nrd {

// All workloads of `owner`. Called after each attempt to create one for it, also one that failed: of a commit whose
// outcome is unknown it may turn out later that it was done. Both must outlive the thread of `owners`.
void end_with_owner(Engine& engine, ProcessWatcher& owners, const store::Owner& owner);
// Of all the workloads there are, at the start.
void end_with_owners(Engine& engine, ProcessWatcher& owners);

}  // namespace nrd
