#include "engine/owner_cleanup.h"

#include <atomic>
#include <memory>

#include "base/log.h"
#include "engine/model/node_state.h"
#include "engine/owner_watcher.h"
#include "engine/transaction/engine.h"

namespace nrd {
namespace {

// Deletes the workloads of an exited process. Retries until none is left, since the causes of refusal (a full queue,
// hardware, a frozen store) pass.
class Cleanup {
 public:
  explicit Cleanup(Owner owner) : owner_(std::move(owner)) {}

  // True: nothing is left.
  static bool go_on(const std::shared_ptr<Cleanup>& cleanup, Engine& engine) {
    if (cleanup->asked_ > 0) return false;
    const auto state = engine.state();
    // A commit with an unknown outcome may turn out to be stored.
    bool is_done = !state->health.writes_frozen;
    for (const auto& [id, workload] : state->workloads) {
      if (workload.spec.owner != cleanup->owner_) continue;
      is_done = false;
      remove(cleanup, engine, workload);
    }
    return is_done;
  }

 private:
  // A client has already deleted or changed it.
  static bool has_changed(const Error& error) {
    return error.code == ErrorCode::NotFound || error.code == ErrorCode::Stale;
  }

  static void remove(const std::shared_ptr<Cleanup>& cleanup, Engine& engine, const Workload& workload) {
    ++cleanup->asked_;
    // Only as seen: meanwhile a client may have given it to another owner.
    const DeleteWorkload command{.id = workload.id, .if_revision = std::vector{workload.revision}};
    engine.submit(command, [cleanup, name = id_text(workload)](const Result<Done>& outcome) {
      if (outcome) {
        log::notice("OWNER_ENDED", "the owner process of a workload has exited; the workload was deleted",
                    {{"WORKLOAD", name}});
      } else if (!has_changed(outcome.error()) && !cleanup->has_complained_.exchange(true)) {
        log::warning("OWNER_NOT_RELEASED",
                     "cannot delete a workload whose owner process has exited; will retry: " + outcome.error().message,
                     {{"WORKLOAD", name}, {"DETAIL", outcome.error().detail}});
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
