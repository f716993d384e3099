// Reports other software that also decides about CPUs of pools. Engine thread.
#pragma once

#include "engine/hardware.h"
#include "engine/model/node_state.h"

namespace nrd {

class ConflictWatch {
 public:
  ConflictWatch(Hardware& hardware, NodeState& state) : hardware_(hardware), state_(state) {}

  // Searches again, and logs what has changed.
  void refresh();

 private:
  Hardware& hardware_;
  NodeState& state_;
};

}  // namespace nrd
