// The launcher of an nrd built without Onload (NRD_ONLOAD=OFF): refuses every request for it.
#pragma once

#include "engine/launcher.h"

namespace nrd::onload {

constexpr const char* kAbsent = "this nrd was built without Onload";

class AbsentLauncher final : public Launcher {
 public:
  Result<void> check(const Requester& who, const LaunchRequest& request) const override;
  void admit(const Requester& who, const LaunchRequest& request, const NodeState& state, CreateWorkload command,
             const Admitted<CreateWorkload>& then) override;
  void admit(const Requester& who, const LaunchRequest& request, const NodeState& state, PatchWorkload command,
             const Admitted<PatchWorkload>& then) override;
  void admit(const Requester& who, const LaunchRequest& request, const NodeState& state, PutWorkload command,
             const Admitted<PutWorkload>& then) override;
  void replay(const LaunchRequest& request, const Workload& created, const std::function<void(Launch)>& done) override;
};

}  // namespace nrd::onload
