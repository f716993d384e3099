// Onload's part of the house: its node, and the keeper that stores through the engine.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/config.h"
#include "engine/engine.h"
#include "engine/onload/keeper.h"
#include "store/onload_records.h"

namespace nrd::daemon {

class Onload {
 public:
  // Fails if the configuration names a user or group that there is not, or the store holds what is not known.
  static Result<std::unique_ptr<Onload>> start(const Config::Onload& config, Engine& engine,
                                               const store::OnloadRecords& records, const Clock& clock);
  onload::Keeper& keeper() { return *keeper_; }

 private:
  std::unique_ptr<onload::Node> node_;
  std::unique_ptr<onload::Keeper> keeper_;  // goes before the node
};

}  // namespace nrd::daemon
