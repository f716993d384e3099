#include "engine/owner_cleanup.h"

#include <atomic>
#include <memory>
#include <vector>

#include "base/log.h"

namespace nrd {
namespace {

std::vector<WorkloadId> workloads_of(const NodeState& state, const store::Owner& owner) {
  std::vector<WorkloadId> ids;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.spec.owner == owner) ids.push_back(id);
  }
  return ids;
}

// All that a process leaves behind. Deletions are asked for until there is nothing left: what refuses one (a queue that
// is full, hardware, a store that froze) passes.
class Estate {
 public:
  explicit Estate(store::Owner owner) : owner_(std::move(owner)) {}

  // True: nothing is left.
  static bool go_on(const std::shared_ptr<Estate>& estate, Engine& engine) {
    if (estate->asked_ > 0) return false;
    const auto state = engine.state();
    const std::vector<WorkloadId> ids = workloads_of(*state, estate->owner_);
    for (const WorkloadId id : ids) remove(estate, engine, id);
    // What is not known to be stored may turn out to be.
    return ids.empty() && !state->health.writes_frozen;
  }

 private:
  static void remove(const std::shared_ptr<Estate>& estate, Engine& engine, WorkloadId id) {
    ++estate->asked_;
    engine.submit(DeleteWorkload{id}, [estate, id](const Outcome& outcome) {
      const std::string workload = std::to_string(id.value);
      if (outcome) {
        log::notice("OWNER_ENDED", "the process of a workload has ended, and the workload with it",
                    {{"WORKLOAD", workload}});
      } else if (outcome.error().code != ErrorCode::NotFound && !estate->has_complained_.exchange(true)) {
        // NotFound: a client was faster.
        log::warning("OWNER_NOT_RELEASED",
                     "a workload whose process has ended cannot be deleted now: " + outcome.error().message,
                     {{"WORKLOAD", workload}, {"DETAIL", outcome.error().detail}});
      }
      --estate->asked_;
    });
  }

  const store::Owner owner_;
  std::atomic<size_t> asked_{0};  // deletions that are not answered yet
  std::atomic<bool> has_complained_{false};
};

}  // namespace

void end_with_owner(Engine& engine, ProcessWatcher& owners, const store::Owner& owner) {
  owners.watch(owner, &engine,
               [&engine, estate = std::make_shared<Estate>(owner)] { return Estate::go_on(estate, engine); });
}

void end_with_owners(Engine& engine, ProcessWatcher& owners) {
  const auto state = engine.state();
  for (const auto& [id, workload] : state->workloads) {
    if (workload.spec.owner) end_with_owner(engine, owners, *workload.spec.owner);
  }
}

}  // namespace nrd
