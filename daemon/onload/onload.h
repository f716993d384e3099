// The Onload components of the daemon: host, controller and allocations, which store through the engine.
#pragma once

#include <memory>
#include <optional>

#include "api/v1/onload/services.h"
#include "base/clock.h"
#include "base/result.h"
#include "daemon/config.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"
#include "engine/onload/workload_launcher.h"
#include "engine/process_watcher.h"
#include "engine/transaction/engine.h"

namespace nrd::daemon {

class Onload {
 public:
  // Fails if the configuration names an unknown user or group, or the store holds unknown records. Stop the thread of
  // `owners` before destroying this.
  static Result<std::unique_ptr<Onload>> start(const Config& config, Engine& engine, ProcessWatcher& owners,
                                               const onload::Stored& stored, const Clock& clock);
  // Of the configuration alone: BadRequest for an unknown user or group.
  static Result<void> check(const Config& config);
  // The limits and intervals that a reload takes.
  void use(const Config& config);

  onload::Controller& controller() { return *controller_; }
  Launcher& launcher() { return *launcher_; }
  v1::LaunchServices& services() { return *services_; }

 private:
  std::unique_ptr<onload::Host> node_;
  std::unique_ptr<onload::Controller> controller_;    // destroyed before the host
  std::unique_ptr<onload::Allocations> allocations_;  // destroyed before the controller
  std::optional<onload::WorkloadLauncher> launcher_;
  std::optional<v1::LaunchServices> services_;
};

}  // namespace nrd::daemon
