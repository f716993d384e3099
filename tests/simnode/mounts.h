// Puts the simulated node's files over the real paths, in a mount namespace of the calling process alone. When the last
// process in it ends, the namespace and every mount in it are gone; the host never sees them.
#pragma once

#include <string>

#include "machine.h"

namespace nrd::simnode {

// The result of a system call; throws std::system_error, as "what: reason", if that is below 0.
int must(int result, const std::string& what);

// The process that serves `device` must be another one: the mounts made here already need its answers.
// Throws std::system_error.
void enter_simulated_node(int device, const Shape& shape);

}  // namespace nrd::simnode
