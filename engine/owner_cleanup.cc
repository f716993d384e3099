#include "engine/owner_cleanup.h"

#include <atomic>
#include <memory>
#include <vector>

#include "base/log.h"

namespace nrd {
namespace {

std::vector<WorkloadId> workloads_of(const NodeState& state, const Owner& owner) {
  std::vector<WorkloadId> ids;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.spec.owner == owner) ids.push_back(id);
  }
  return ids;
}

// Deletes the workloads of an exited process. Retries until none is left, since the causes of refusal (a full queue,
// hardware, a frozen store) pass.
class Cleanup {
 public:
  explicit Cleanup(Owner owner) : owner_(std::move(owner)) {}

  // True: nothing is left.
  static bool go_on(const std::shared_ptr<Cleanup>& cleanup, Engine& engine) {
    if (cleanup->asked_ > 0) return false;
    const auto state = engine.state();
    const std::vector<WorkloadId> ids = workloads_of(*state, cleanup->owner_);
    for (const WorkloadId id : ids) remove(cleanup, engine, id);
    // A commit with an unknown outcome may turn out to be stored.
    return ids.empty() && !state->health.writes_frozen;
  }

 private:
  static void remove(const std::shared_ptr<Cleanup>& cleanup, Engine& engine, WorkloadId id) {
    ++cleanup->asked_;
    engine.submit(DeleteWorkload{id}, [cleanup, id](const Outcome& outcome) {
      const std::string workload = std::to_string(id.value);
      if (outcome) {
        log::notice("OWNER_ENDED", "the owner process of a workload has exited; the workload was deleted",
                    {{"WORKLOAD", workload}});
      } else if (outcome.error().code != ErrorCode::NotFound && !cleanup->has_complained_.exchange(true)) {
        // NotFound: a client has already deleted it.
        log::warning("OWNER_NOT_RELEASED",
                     "cannot delete a workload whose owner process has exited; will retry: " + outcome.error().message,
                     {{"WORKLOAD", workload}, {"DETAIL", outcome.error().detail}});
      }
      --cleanup->asked_;
    });
  }

  const Owner owner_;
  std::atomic<size_t> asked_{0};  // deletions without an answer yet
  std::atomic<bool> has_complained_{false};
};

}  // namespace

void end_with_owner(Engine& engine, OwnerWatcher& owners, const Owner& owner) {
  owners.watch(owner, &engine,
               [&engine, cleanup = std::make_shared<Cleanup>(owner)] { return Cleanup::go_on(cleanup, engine); });
}

void end_with_owners(Engine& engine, OwnerWatcher& owners) {
  const auto state = engine.state();
  for (const auto& [id, workload] : state->workloads) {
    if (workload.spec.owner) end_with_owner(engine, owners, *workload.spec.owner);
  }
}

}  // namespace nrd
