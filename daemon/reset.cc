#include "daemon/reset.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "daemon/config.h"
#include "daemon/hardware.h"
#include "daemon/node_config.h"
#include "daemon/signals.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"
#include "hw/rdt/locks.h"
#include "store/store.h"

namespace nrd::daemon {
namespace {

Result<void> remove(Engine& engine, WorkloadId id) {
  std::promise<Result<Done>> answer;
  engine.submit(DeleteWorkload{.id = id}, [&answer](Result<Done> outcome) { answer.set_value(std::move(outcome)); });
  const Result<Done> outcome = answer.get_future().get();
  return outcome ? Result<void>() : Failure(outcome.error());
}

// For pages that the kernel moves back to other NUMA nodes: some GB of a busy process take seconds.
constexpr std::chrono::seconds kMemoryDeadline{120};

// The engine begins releases by itself, and claims them until they have ended.
Result<void> await_released_memory(const Engine& engine) {
  const auto until = std::chrono::steady_clock::now() + kMemoryDeadline;
  for (;;) {
    const auto state = engine.state();
    if (state->baselines.memory.empty() || !state->health.hardware_problem.empty()) return {};
    if (std::chrono::steady_clock::now() > until) {
      return fail(ErrorCode::Hardware, fmt::format("the memory of {} still moves; run nrd --reset again",
                                                   state->baselines.memory.begin()->first.name));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// An engine without a daemon around it.
struct Standalone {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Hardware> hardware;
  SystemClock clock{};
  std::unique_ptr<Engine> engine;
};

Result<std::unique_ptr<Standalone>> start_alone(const Config& config, EngineConfig engine) {
  if (::geteuid() != 0) return fail(ErrorCode::Unsupported, "changing classes of service requires root");
  log::set_lowest(config.log_level);
  block_signals();
  auto alone = std::make_unique<Standalone>();
  alone->store = TRY(store::Store::open(config.state_directory));
  alone->hardware = TRY(open_hardware(config.mount));
  alone->engine = TRY(Engine::start(*alone->hardware, *alone->store, alone->clock, std::move(engine)));
  return alone;
}

}  // namespace

Result<size_t> reset(const Config& config) {
  // Ignore the configured OS and infrastructure CPUs, so that their class is removed as well, and pools, which may have
  // more ways than this node.
  const auto alone = TRY(start_alone(config, {.node = {.shrink = config.node.shrink}}));
  const auto workloads = alone->engine->state()->workloads;
  for (const auto& [id, workload] : workloads) {
    TRY(remove(*alone->engine, id));
  }
  TRY(await_released_memory(*alone->engine));
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
