// Onload's part of the house: its node, and the keeper and the desk, which store through the engine.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/config.h"
#include "engine/onload/desk.h"
#include "engine/onload/keeper.h"
#include "engine/process_watcher.h"
#include "engine/transaction/engine.h"
#include "store/onload_records.h"

namespace nrd::daemon {

class Onload {
 public:
  // Fails if the configuration names a user or group that there is not, or the store holds what is not known. The
  // thread of `owners` must be stopped before this ends.
  static Result<std::unique_ptr<Onload>> start(const Config& config, Engine& engine, ProcessWatcher& owners,
                                               const store::OnloadRecords& records, const Clock& clock);
  onload::Keeper& keeper() { return *keeper_; }
  onload::Desk& desk() { return *desk_; }

 private:
  std::unique_ptr<onload::Node> node_;
  std::unique_ptr<onload::Keeper> keeper_;  // goes before the node
  std::unique_ptr<onload::Desk> desk_;      // goes before the keeper
};

}  // namespace nrd::daemon
