// A change that binds memory of a running target. Its memory must move before it holds, so a part of it waits:
//
//   change       at once                           when memory has moved
//   creation     the workload, memory not bound    the binding of its memory
//   any other    nothing                           all of it
#pragma once

#include "engine/transaction/command.h"

namespace nrd {

struct Deferred {
  Command command;  // applied when memory has moved
  cpuset::MemoryChange move;
};

// The part of `command`, which creates a workload, that is done at once.
Command without_binding(Command command);
// The part of `command` that waits. `created`: the workload that the other part has created; nullopt: it existed.
Command binding_of(Command command, std::optional<WorkloadId> created);

}  // namespace nrd
