#include "engine/onload/workload_launcher.h"

#include <optional>
#include <utility>

#include "base/find_in.h"
#include "engine/model/node_state.h"
#include "engine/onload/allocations.h"

namespace nrd::onload {
namespace {

OnloadUse use_of(const RenderRequest& request, const LaunchEnvironment& launch) {
  return {.profiles = request.profiles,
          .env = request.environment,
          .profiles_win = request.winner == profiles::Winner::Profiles,
          .generation = launch.generation,
          .version = launch.version};
}

// Same profiles and variables, so no new admission is needed.
bool is_same(const RenderRequest& request, const std::optional<OnloadUse>& use) {
  return use && use->profiles == request.profiles && use->env == request.environment &&
         use->profiles_win == (request.winner == profiles::Winner::Profiles);
}

// What the workload that `command` changes has now.
std::optional<OnloadUse> present_use(const NodeState& state, const Command& command) {
  const Workload* found = nullptr;
  if (const auto* put = std::get_if<PutWorkload>(&command)) found = workload_with_id(state, put->spec.given_id);
  if (const auto* patch = std::get_if<PatchWorkload>(&command)) found = find_in(state.workloads, patch->id);
  return found ? found->spec.onload : std::nullopt;
}

void put_use(Command& command, OnloadUse use) {
  if (auto* create = std::get_if<CreateWorkload>(&command)) create->spec.onload = std::move(use);
  if (auto* put = std::get_if<PutWorkload>(&command)) put->spec.onload = std::move(use);
  if (auto* patch = std::get_if<PatchWorkload>(&command)) patch->patch.onload = std::optional(std::move(use));
}

}  // namespace

Result<void> WorkloadLauncher::check(const Requester& who) const {
  if (who.may_launch) return {};
  return fail_at(ErrorCode::Forbidden, "/onload", "this socket does not allow Onload",
                 "no onload, or onload.allocations in its allow");
}

void WorkloadLauncher::admit(const Requester& who, const LaunchRequest& request, const NodeState& state,
                             Command command, const Launcher::Admitted& then) {
  const std::optional<OnloadUse> use = present_use(state, command);
  if (is_same(*request, use)) {
    if (auto* put = std::get_if<PutWorkload>(&command)) put->spec.onload = use;
    return then(std::move(command), nullptr);
  }
  const auto done = [request, command = std::move(command), then](Result<onload::Admitted> admitted) {
    if (!admitted) {
      admitted.error().field.insert(0, "/onload");
      return then(Failure(std::move(admitted.error())), nullptr);
    }
    Command whole = command;
    put_use(whole, use_of(*request, admitted->launch));
    const auto held = std::make_shared<const onload::Admitted>(*std::move(admitted));
    then(std::move(whole), Launch(held, &held->launch));
  };
  const auto renewal = use ? Allocations::Renewal::Yes : Allocations::Renewal::No;
  allocations_.admit(*request, renewal, who.origin, {done, who.client});
}

void WorkloadLauncher::replay(const LaunchRequest& request, const Workload& created,
                              const std::function<void(Launch)>& done) {
  const auto answer = [request, use = created.spec.onload, done](Result<onload::Admitted> admitted) {
    const bool is_unchanged = admitted && use == use_of(*request, admitted->launch);
    done(is_unchanged ? std::make_shared<const LaunchEnvironment>(std::move(admitted->launch)) : nullptr);
  };
  allocations_.admit(*request, Allocations::Renewal::Yes, created.origin, answer);
}

std::map<std::string, size_t> workloads_with_onload(const NodeState& state) {
  std::map<std::string, size_t> count;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.spec.onload) ++count[workload.origin];
  }
  return count;
}

}  // namespace nrd::onload
