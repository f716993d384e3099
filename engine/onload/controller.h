// Keeps Onload on this node as somebody wants it: takes specs, runs runs, looks for drift, publishes what it
// knows.
//
// A thread of its own, because a run takes seconds and the engine's writers must not wait for it. It stores nothing
// itself: the commit it is given commits on the engine thread, so there is one writer. `done` functions are called on
// the controller's thread, or on the caller's when the answer is known at once; they must not block.
//
// What others change on the node is shown as drift and not fought: whoever loads modules by hand has a reason. Only a
// node that has none of them when nrd starts, as after a reboot, is brought back to what was verified last.
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
#include "engine/onload/watch.h"
#include "store/onload/records.h"

namespace nrd::onload {

class Controller {
 public:
  using CommitFn = onload::CommitFn;

  // Goes on with an operation that was interrupted. `node` and what `commit` needs must outlive it.
  static Result<std::unique_ptr<Controller>> start(Host& node, CommitFn commit, const store::OnloadRecords& records,
                                                   const Clock& clock, ControllerOptions options);
  virtual ~Controller() = default;  // stops between two steps; the operation is gone on with at the next start

  virtual std::shared_ptr<const Status> status() const = 0;

  // With the status when its revision is not `since` any more, or after `wait`; sooner if too many wait.
  virtual void watch(uint64_t since, std::chrono::seconds wait, Watch::Done done) = 0;
  // Answers all who wait, because the service stops.
  virtual void end_watches() = 0;

  // `if_match`: the number of the last generation that the client knows. Conflict while an operation runs, or when
  // Onload is in use and the policy is to fail.
  virtual void want(Spec spec, std::optional<uint64_t> if_match, Callback<Accepted> done) = 0;
  // To what generation `to` wanted; nullopt: the one that was verified before the effective one.
  virtual void roll_back(std::optional<uint64_t> to, Callback<Accepted> done) = 0;
  // The generation in force, but for what is patched.
  virtual void patch(SpecPatch patch, std::optional<uint64_t> if_match, Callback<Accepted> done) = 0;
  // What want() would do; nullopt: of the last spec. NotFound: there was none.
  virtual void dry_run(std::optional<Spec> spec, std::optional<uint64_t> if_match, Callback<DryRun> done) = 0;
  // Shuts the device_access for good, also over a restart, and ends users. Opens it again if they do not end.
  virtual void drain(Drain how, Callback<Accepted> done) = 0;
  virtual void undrain(Callback<Accepted> done) = 0;
  // Conflict if it is too late for that; otherwise the operation turns back before its next step.
  virtual void cancel(uint64_t operation, Callback<Accepted> done) = 0;
  virtual void restart_control_plane(Callback<Accepted> done) = 0;
  // Also while an operation runs: it stops before its next removal begins.
  virtual void set_freeze(Freeze freeze, Callback<void> done) = 0;
  // Walks over all processes, which takes a while.
  virtual void find_users(Callback<InUse> done) = 0;
  // Looks now.
  virtual void look(Callback<void> done) = 0;
  // The effective generation again; Conflict if that one does not load anything, or an operation runs.
  virtual void verify(Callback<Verification> done) = 0;

  virtual void list_versions(Callback<std::vector<InstalledVersion>> done) = 0;
  // Conflict while an operation runs: the node is of no use in between, and this takes seconds.
  virtual void import(std::string name, std::string source, Callback<InstalledVersion> done) = 0;
  // Conflict while something needs it.
  virtual void remove_version(std::string name, Callback<void> done) = 0;
  virtual void read_stacks(Callback<std::vector<Stack>> done) = 0;
  virtual void read_interfaces(Callback<std::vector<Interface>> done) = 0;
  // Kept for the interface, whatever it is called later, and set now if Onload is loaded; answers with how it is then.
  // NotFound: there is none of that name. Conflict: an operation runs; or the module does not let go of it before it is
  // loaded anew, which is kept all the same.
  virtual void set_interface(std::string name, InterfaceSwitch what, Turned to, Callback<Interface> done) = 0;
};

}  // namespace nrd::onload
