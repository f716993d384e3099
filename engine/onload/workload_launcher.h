// Has the allocations admit workloads that request Onload, before the engine creates or changes them.
#pragma once

#include "engine/launcher.h"

namespace nrd::onload {

class Allocations;

class WorkloadLauncher final : public Launcher {
 public:
  // `allocations` must outlive the requests.
  explicit WorkloadLauncher(Allocations& allocations) : allocations_(allocations) {}

  Result<void> check(const Requester& who) const override;
  void admit(const Requester& who, const LaunchRequest& request, const NodeState& state, Command command,
             const Admitted& then) override;
  void replay(const LaunchRequest& request, const Workload& created, const std::function<void(Launch)>& done) override;

 private:
  Allocations& allocations_;
};

// Number of workloads that use Onload, by origin.
std::map<std::string, size_t> workloads_with_onload(const NodeState& state);

}  // namespace nrd::onload
