// Checks, accepts, stores and publishes specs: everything the controller decides between runs. Controller thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/published.h"
#include "base/result.h"
#include "engine/onload/documents.h"
#include "engine/onload/host.h"
#include "engine/onload/spec.h"
#include "engine/onload/status.h"

namespace nrd::onload {

struct DryRun;

struct ControllerOptions {
  std::chrono::milliseconds refresh_interval{10000};
  UsersPolicy most_forceful = UsersPolicy::Wait;  // most forceful policy a spec may request
  AtStart at_start = AtStart::Apply;              // whether modules are restored after a reboot
  size_t kept = 64;                               // number of generations and of operations; older ones are deleted
};

struct Accepted {
  uint64_t generation = 0;
  std::optional<uint64_t> operation;  // nullopt: nothing to change
};

// How to end Onload users.
struct Drain {
  UsersPolicy users = UsersPolicy::Wait;
  std::chrono::seconds drain{30};
  friend bool operator==(const Drain&, const Drain&) = default;
};

// Result of verifying a generation.
struct Verification {
  uint64_t generation = 0;
  std::optional<StepError> step_error;  // nullopt: verified
};

class OperationPlanner {
 public:
  // `published` receives each new status; `announce` is called after each.
  OperationPlanner(Host& node, CommitFn commit, const Clock& clock, ControllerOptions options,
                   Published<Status>& published, std::function<void()> announce)
      : node_(node),
        commit_(std::move(commit)),
        clock_(clock),
        options_(options),
        most_forceful_(options.most_forceful),
        published_(published),
        announce_(std::move(announce)) {}

  // Any thread.
  void set_most_forceful(UsersPolicy policy) { most_forceful_ = policy; }

  // Call first.
  void load(const Stored& stored);
  const Status& status() const { return status_; }

  void observe();  // reads the node without computing drift
  void refresh();  // reads the node, computes drift and publishes
  Result<void> begin_after_start();
  void configure_after_start();
  void admit_after_start();

  Result<Accepted> begin(const Spec& spec, std::optional<uint64_t> if_match);
  Result<Accepted> roll_back(std::optional<uint64_t> to);
  Result<Accepted> patch(const SpecPatch& patch, std::optional<uint64_t> if_match);
  Result<DryRun> dry_run(const std::optional<Spec>& spec, std::optional<uint64_t> if_match);
  Result<Accepted> drain(const Drain& how);
  Result<Accepted> undrain();
  Result<Accepted> cancel(uint64_t id);
  Result<Accepted> restart_control_plane();
  Result<void> set_freeze(const Freeze& freeze);
  Result<Interface> set_interface(const std::string& name, InterfaceSwitch what, SwitchState to);
  Result<Verification> verify();

  // Stores the current state of the last operation.
  Result<void> record(const Operation& operation);
  void publish();

 private:
  Result<Accepted> start_operation(Operation operation, Change change);
  Result<Accepted> accept(const Spec& spec);
  Result<void> store(Change change);
  void configure_new();
  Result<void> apply_switch(const Interface& interface, InterfaceSwitch what, SwitchState to);

  Host& node_;
  const CommitFn commit_;
  const Clock& clock_;
  const ControllerOptions options_;
  std::atomic<UsersPolicy> most_forceful_;
  Published<Status>& published_;
  const std::function<void()> announce_;
  Status status_;
  std::vector<Interface> configured_;  // have had the settings that are stored
};

}  // namespace nrd::onload
