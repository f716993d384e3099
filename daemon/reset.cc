#include "daemon/reset.h"

#include <unistd.h>

#include <future>

#include "daemon/hardware.h"
#include "daemon/signals.h"
#include "engine/transaction/engine.h"
#include "hw/rdt/locks.h"
#include "store/store.h"

namespace nrd::daemon {
namespace {

Result<void> remove(Engine& engine, WorkloadId id) {
  std::promise<Outcome> answer;
  engine.submit(DeleteWorkload{.id = id}, [&answer](Outcome outcome) { answer.set_value(std::move(outcome)); });
  const Outcome outcome = answer.get_future().get();
  return outcome ? Result<void>() : Failure(outcome.error());
}

}  // namespace

Result<size_t> reset(const Config& config) {
  if (::geteuid() != 0) return fail(ErrorCode::Unsupported, "changing classes of service requires root");
  log::set_lowest(config.log_level);
  block_signals();
  const std::unique_ptr<store::Store> store = TRY(store::Store::open(config.state_directory));
  const std::unique_ptr<Hardware> hardware = TRY(open_hardware(config.mount));
  const SystemClock clock;
  // Ignore the configured OS and infrastructure CPUs, so that their class is removed as well.
  Result<std::unique_ptr<Engine>> engine =
      Engine::start(*hardware, *store, clock, {.node = {.pools = config.pools, .shrink = config.shrink}});
  if (!engine) return Failure(engine.error());
  const auto workloads = (*engine)->state()->workloads;
  for (const auto& [id, workload] : workloads) {
    TRY(remove(**engine, id));
  }
  const auto state = (*engine)->state();
  if (!state->health.hardware_problem.empty())
    return fail(ErrorCode::Hardware, "cannot release all resources: " + state->health.hardware_problem);
  rdt::give_tree_back(config.mount.tree_mode);
  return workloads.size();
}

}  // namespace nrd::daemon
