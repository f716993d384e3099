// Reports other software that also decides about CPUs of pools. Engine thread.
#pragma once

#include "engine/model/fwd.h"

namespace nrd {

// Searches again, and logs what has changed.
void refresh_conflicts(Hardware& hardware, NodeState& state);

}  // namespace nrd
