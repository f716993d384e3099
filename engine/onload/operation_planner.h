// Takes specs, refuses what cannot be, writes down what was accepted and publishes it: all that the controller decides
// between two runs. Of the controller's thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/published.h"
#include "base/result.h"
#include "engine/onload/dry_run.h"
#include "engine/onload/host.h"
#include "engine/onload/spec.h"
#include "engine/onload/spec_patch.h"
#include "engine/onload/status.h"
#include "store/onload/records.h"

namespace nrd::onload {

enum class AtStart { Apply, Observe };

struct ControllerOptions {
  std::chrono::milliseconds look_interval{10000};
  UsersPolicy most_forceful = UsersPolicy::Wait;  // of what a spec may ask for
  AtStart at_start = AtStart::Apply;              // whether a node without modules is brought back
  size_t kept = 64;                               // generations, and operations; older ones are forgotten
};

struct Accepted {
  uint64_t generation = 0;
  std::optional<uint64_t> operation;  // nullopt: everything was so already
};

// How those who use Onload are to end.
struct Drain {
  UsersPolicy users = UsersPolicy::Wait;
  std::chrono::seconds patience{30};
  friend bool operator==(const Drain&, const Drain&) = default;
};

// Whether Onload is what a generation wants now.
struct Verification {
  uint64_t generation = 0;
  std::optional<StepError> step_error;  // nullopt: it is
};

// Blocks until it is stored, or not.
using CommitFn = std::function<Result<void>(store::OnloadChange)>;

class OperationPlanner {
 public:
  // `published`: where views go, `announce`: called after each of them.
  OperationPlanner(Host& node, CommitFn commit, const Clock& clock, ControllerOptions options,
                   Published<Status>& published, std::function<void()> announce)
      : node_(node),
        commit_(std::move(commit)),
        clock_(clock),
        options_(options),
        published_(published),
        announce_(std::move(announce)) {}

  // What the store holds. Before anything else.
  Result<void> load(const store::OnloadRecords& records);
  const Status& status() const { return status_; }

  void see();   // the node as it is, without a word about drift
  void look();  // and how far it is from where it should be
  void begin_after_start();
  void configure_after_start();

  Result<Accepted> begin(const Spec& spec, std::optional<uint64_t> if_match);
  Result<Accepted> roll_back(std::optional<uint64_t> to);
  Result<Accepted> patch(const SpecPatch& patch, std::optional<uint64_t> if_match);
  Result<DryRun> dry_run(const std::optional<Spec>& spec, std::optional<uint64_t> if_match);
  Result<Accepted> drain(const Drain& how);
  Result<Accepted> undrain();
  Result<Accepted> cancel(uint64_t id);
  Result<Accepted> restart_control_plane();
  Result<void> set_freeze(const Freeze& freeze);
  Result<Interface> set_interface(const std::string& name, InterfaceSwitch what, Turned to);
  Result<Verification> verify();

  // The last operation as it is now.
  Result<void> record(const Operation& operation);
  void publish();
  Time now() const;

 private:
  Result<void> check(const Spec& spec, std::optional<uint64_t> if_match) const;
  Result<Accepted> set_out(Operation operation, store::OnloadChange change);
  Result<Accepted> accept(const Spec& spec);

  Host& node_;
  const CommitFn commit_;
  const Clock& clock_;
  const ControllerOptions options_;
  Published<Status>& published_;
  const std::function<void()> announce_;
  Status status_;
};

}  // namespace nrd::onload
