// Runs the command inside the node and serves its files and the control socket until it ends. All of it is one loop on
// one thread, so a control request is never in the middle of a write.
#pragma once

#include "node.h"
#include "options.h"

namespace nrd::simnode {

// The command's exit status (128 + signal if it was killed), or 125 when it could not be started.
int run(const Options& options, Node& node);

}  // namespace nrd::simnode
