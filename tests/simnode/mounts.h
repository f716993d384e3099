// Puts the simulated node's files over the real paths, in a mount namespace of the calling process alone. When the last
// process in it ends, the namespace and every mount in it are gone; the host never sees them.
#pragma once

namespace nrd::simnode {

enum class Rdt { Present, Absent };

// The process that serves `device` must be another one: the mounts made here already need its answers.
// Throws std::system_error.
void enter_simulated_node(int device, Rdt rdt);

}  // namespace nrd::simnode
