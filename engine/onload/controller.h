// Controls Onload on this node: accepts specs, runs operations, detects drift and publishes the status.
//
// Runs its own thread, because operations take seconds and must not delay the engine. It stores nothing itself:
// `commit` stores on the engine thread, so the store has one writer. `done` functions are called on the controller's
// thread, or on the caller's if the result is known at once; they must not block.
//
// Changes made by others are reported as drift and not reverted: loading modules by hand is deliberate. Only if the
// node has no Onload modules when nrd starts, as after a reboot, the last verified generation is restored.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/client.h"
#include "base/clock.h"
#include "base/result.h"
#include "engine/onload/host.h"
#include "engine/onload/operation_planner.h"
#include "engine/onload/status.h"

namespace nrd::onload {

class Controller {
 public:
  using CommitFn = onload::CommitFn;

  // Resumes an interrupted operation. `node` and what `commit` needs must outlive it.
  static std::unique_ptr<Controller> start(Host& node, CommitFn commit, const Stored& stored, const Clock& clock,
                                           ControllerOptions options);
  virtual ~Controller() = default;  // stops between two steps; the next start resumes the operation

  virtual std::shared_ptr<const Status> status() const = 0;

  // Calls `done` once the revision differs from `since`, or after `wait`; earlier if there are too many watchers.
  virtual void watch(uint64_t since, std::chrono::seconds wait, Callback<std::shared_ptr<const Status>> done) = 0;
  // Answers all watchers, because the service stops.
  virtual void end_watches() = 0;

  // `if_match`: the last generation number the client knows. Conflict while an operation runs, or if Onload is in use
  // and the users policy is "fail".
  virtual void apply(Spec spec, std::optional<uint64_t> if_match, Callback<Accepted> done) = 0;
  // Applies the spec of generation `to`; nullopt: of the verified generation before the effective one.
  virtual void roll_back(std::optional<uint64_t> to, Callback<Accepted> done) = 0;
  // Applies the effective spec with the changes of `patch`.
  virtual void patch(SpecPatch patch, std::optional<uint64_t> if_match, Callback<Accepted> done) = 0;
  // Shows what apply() would do; nullopt: with the last spec. NotFound: there is none.
  virtual void dry_run(std::optional<Spec> spec, std::optional<uint64_t> if_match, Callback<DryRun> done) = 0;
  // Closes device access, also across restarts, and ends users. Reopens it if users do not end.
  virtual void drain(Drain how, Callback<Accepted> done) = 0;
  virtual void undrain(Callback<Accepted> done) = 0;
  // Conflict if it is too late; otherwise the operation rolls back before its next step.
  virtual void cancel(uint64_t operation, Callback<Accepted> done) = 0;
  virtual void restart_control_plane(Callback<Accepted> done) = 0;
  // Allowed while an operation runs: it stops before its next removal.
  virtual void set_freeze(Freeze freeze, Callback<void> done) = 0;
  // Walks all processes, which takes a while.
  virtual void find_users(Callback<InUse> done) = 0;
  // Observes the node now.
  virtual void refresh(Callback<void> done) = 0;
  // Verifies the effective generation again; Conflict if it does not load Onload, or an operation runs.
  virtual void verify(Callback<Verification> done) = 0;

  // Any thread; takes effect at once.
  virtual void set_limits(std::chrono::milliseconds refresh_interval, UsersPolicy most_forceful) = 0;

  virtual void list_versions(Callback<std::vector<Version>> done) = 0;
  // Takes seconds. Conflict while an operation runs, which the import would delay.
  virtual void import(std::string name, std::string source, Callback<Version> done) = 0;
  // Conflict while the version is in use.
  virtual void remove_version(std::string name, Callback<void> done) = 0;
  virtual void read_stacks(Callback<std::vector<Stack>> done) = 0;
  virtual void read_interfaces(Callback<std::vector<Interface>> done) = 0;
  // Stores the setting for the interface, independent of its name, and applies it if Onload is loaded; returns the
  // resulting state. NotFound: no such interface. Conflict: an operation runs, or the module keeps the interface until
  // it is reloaded; the setting is stored anyway.
  virtual void set_interface(std::string name, InterfaceSwitch what, SwitchState to, Callback<Interface> done) = 0;
};

}  // namespace nrd::onload
