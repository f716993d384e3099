#include "engine/owned_workloads.h"

#include <atomic>
#include <memory>

#include "base/log.h"

namespace nrd {
namespace {

// One deletion. It is asked for until it is done: what refuses it (a queue that is full, hardware, a store that froze)
// passes.
class Deletion {
 public:
  enum class State { Open, Asked, Done };

  // True: it is done, and need not be tried again.
  static bool go_on(const std::shared_ptr<Deletion>& deletion, Engine& engine, WorkloadId id) {
    State expected = State::Open;
    if (!deletion->state_.compare_exchange_strong(expected, State::Asked)) return expected == State::Done;
    engine.submit(DeleteWorkload{id}, [deletion, id](const Outcome& outcome) {
      // NotFound: a client was faster.
      const bool is_gone = outcome.has_value() || outcome.error().code == ErrorCode::NotFound;
      deletion->state_ = is_gone ? State::Done : State::Open;
      const std::string workload = std::to_string(id.value);
      if (outcome) {
        log::notice("OWNER_ENDED", "the process of a workload has ended, and the workload with it",
                    {{"WORKLOAD", workload}});
      } else if (!is_gone && !deletion->has_complained_.exchange(true)) {
        log::warning("OWNER_NOT_RELEASED",
                     "a workload whose process has ended cannot be deleted now: " + outcome.error().message,
                     {{"WORKLOAD", workload}, {"DETAIL", outcome.error().detail}});
      }
    });
    return deletion->state_ == State::Done;
  }

 private:
  std::atomic<State> state_{State::Open};
  std::atomic<bool> has_complained_{false};
};

}  // namespace

void end_with_owner(Engine& engine, Owners& owners, const Workload& workload) {
  if (!workload.spec.owner) return;
  owners.watch(*workload.spec.owner, [&engine, id = workload.id, deletion = std::make_shared<Deletion>()] {
    return Deletion::go_on(deletion, engine, id);
  });
}

void end_with_owners(Engine& engine, Owners& owners) {
  const auto state = engine.state();
  for (const auto& [id, workload] : state->workloads) end_with_owner(engine, owners, workload);
}

}  // namespace nrd
