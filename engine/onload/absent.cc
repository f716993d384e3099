#include "engine/onload/absent.h"

namespace nrd::onload {
namespace {

Failure refused() { return fail_at(ErrorCode::Unsupported, "/onload", kAbsent, "no onload"); }

}  // namespace

Result<void> AbsentLauncher::check(const Requester& /*who*/, const LaunchRequest& request) const {
  return request ? Result<void>(refused()) : Result<void>();
}

void AbsentLauncher::admit(const Requester& /*who*/, const LaunchRequest& /*request*/, const NodeState& /*state*/,
                           CreateWorkload /*command*/, const Admitted<CreateWorkload>& then) {
  then(refused(), nullptr);
}

void AbsentLauncher::admit(const Requester& /*who*/, const LaunchRequest& /*request*/, const NodeState& /*state*/,
                           PatchWorkload /*command*/, const Admitted<PatchWorkload>& then) {
  then(refused(), nullptr);
}

void AbsentLauncher::admit(const Requester& /*who*/, const LaunchRequest& /*request*/, const NodeState& /*state*/,
                           PutWorkload /*command*/, const Admitted<PutWorkload>& then) {
  then(refused(), nullptr);
}

void AbsentLauncher::replay(const LaunchRequest& /*request*/, const Workload& /*created*/,
                            const std::function<void(Launch)>& done) {
  done(nullptr);
}

}  // namespace nrd::onload
