#include "engine/onload/workload_launcher.h"

#include <optional>
#include <utility>

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

void put_use(CreateWorkload& command, OnloadUse use) { command.spec.onload = std::move(use); }
void put_use(PutWorkload& command, OnloadUse use) { command.spec.onload = std::move(use); }
void put_use(PatchWorkload& command, OnloadUse use) { command.patch.onload = std::optional(std::move(use)); }

// Calls `then` with the command once `allocations` has admitted its request.
template <typename Command, typename Then>
void admit_to(Allocations& allocations, const Requester& who, const RenderRequest& request, Allocations::Place place,
              Command command, const Then& then) {
  const auto done = [request, command = std::move(command), then](Result<Admitted> admitted) {
    if (!admitted) {
      admitted.error().field.insert(0, "/onload");
      return then(Failure(std::move(admitted.error())), nullptr);
    }
    Command whole = command;
    put_use(whole, use_of(request, admitted->launch));
    const auto held = std::make_shared<const Admitted>(*std::move(admitted));
    then(std::move(whole), Launch(held, &held->launch));
  };
  allocations.admit(request, place, who.origin, {done, who.client});
}

Allocations::Place place_after(const std::optional<OnloadUse>& use) {
  return use ? Allocations::Place::Kept : Allocations::Place::New;
}

}  // namespace

Result<void> WorkloadLauncher::check(const Requester& who) const {
  if (who.may_launch) return {};
  return fail_at(ErrorCode::Forbidden, "/onload", "this socket does not allow Onload",
                 "no onload, or onload.allocations in its allow");
}

void WorkloadLauncher::admit(const Requester& who, const LaunchRequest& request, const NodeState& /*state*/,
                             CreateWorkload command, const Launcher::Admitted<CreateWorkload>& then) {
  admit_to(allocations_, who, *request, Allocations::Place::New, std::move(command), then);
}

void WorkloadLauncher::admit(const Requester& who, const LaunchRequest& request, const NodeState& state,
                             PatchWorkload command, const Launcher::Admitted<PatchWorkload>& then) {
  const auto found = state.workloads.find(command.id);
  const auto use = found == state.workloads.end() ? std::nullopt : found->second.spec.onload;
  if (is_same(*request, use)) return then(std::move(command), nullptr);
  admit_to(allocations_, who, *request, place_after(use), std::move(command), then);
}

void WorkloadLauncher::admit(const Requester& who, const LaunchRequest& request, const NodeState& state,
                             PutWorkload command, const Launcher::Admitted<PutWorkload>& then) {
  const Workload* found = workload_with_id(state, command.spec.given_id);
  const auto use = found ? found->spec.onload : std::nullopt;
  if (is_same(*request, use)) {
    command.spec.onload = use;
    return then(std::move(command), nullptr);
  }
  admit_to(allocations_, who, *request, place_after(use), std::move(command), then);
}

void WorkloadLauncher::replay(const LaunchRequest& request, const Workload& created,
                              const std::function<void(Launch)>& done) {
  const auto answer = [request, use = created.spec.onload, done](Result<onload::Admitted> admitted) {
    const bool is_unchanged = admitted && use == use_of(*request, admitted->launch);
    done(is_unchanged ? std::make_shared<const LaunchEnvironment>(std::move(admitted->launch)) : nullptr);
  };
  allocations_.admit(*request, Allocations::Place::Kept, created.origin, answer);
}

std::map<std::string, size_t> workloads_with_onload(const NodeState& state) {
  std::map<std::string, size_t> count;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.spec.onload) ++count[workload.origin];
  }
  return count;
}

}  // namespace nrd::onload
