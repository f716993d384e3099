// What a reload of the engine's configuration may change.
#pragma once

#include <chrono>

#include "engine/model/node_config.h"

namespace nrd {

struct EngineConfig {
  NodeConfig node{};
  std::chrono::milliseconds drift_interval{30000};  // 0: never refresh
  std::chrono::milliseconds tasks_interval{30000};  // between checks for exited tasks; 0: never
  std::chrono::milliseconds usage_interval{1000};   // between samples while usage is requested; 0: never
};

}  // namespace nrd
