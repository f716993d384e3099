#include "daemon/reset.h"

#include <unistd.h>

#include <future>
#include <memory>
#include <utility>

#include "daemon/hardware.h"
#include "daemon/node_config.h"
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

// An engine without a daemon around it.
struct Standalone {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Hardware> hardware;
  SystemClock clock{};
  std::unique_ptr<Engine> engine;
};

Result<std::unique_ptr<Standalone>> start_alone(const Config& config, EngineOptions options) {
  if (::geteuid() != 0) return fail(ErrorCode::Unsupported, "changing classes of service requires root");
  log::set_lowest(config.log_level);
  block_signals();
  auto alone = std::make_unique<Standalone>();
  alone->store = TRY(store::Store::open(config.state_directory));
  alone->hardware = TRY(open_hardware(config.mount));
  alone->engine = TRY(Engine::start(*alone->hardware, *alone->store, alone->clock, std::move(options)));
  return alone;
}

}  // namespace

Result<size_t> reset(const Config& config) {
  // Ignore the configured OS and infrastructure CPUs, so that their class is removed as well.
  const auto alone = TRY(start_alone(config, {.node = {.pools = config.node.pools, .shrink = config.node.shrink}}));
  const auto workloads = alone->engine->state()->workloads;
  for (const auto& [id, workload] : workloads) {
    TRY(remove(*alone->engine, id));
  }
  const auto state = alone->engine->state();
  if (!state->health.hardware_problem.empty())
    return fail(ErrorCode::Hardware, "cannot release all resources: " + state->health.hardware_problem);
  rdt::give_tree_back(config.mount.tree_mode);
  return workloads.size();
}

Result<void> unconfine(const Config& config) {
  ResolvedNode node = TRY(resolve_node(config));
  node.engine.node.confinement = Confinement::None;
  const auto alone = TRY(start_alone(config, {.node = std::move(node.engine.node)}));
  const auto state = alone->engine->state();
  if (!state->health.hardware_problem.empty())
    return fail(ErrorCode::Hardware, "cannot release all CPUs: " + state->health.hardware_problem);
  return {};
}

}  // namespace nrd::daemon
