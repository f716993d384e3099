// An engine with a preset state that records commands and answers at once or on answer_waiting().
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"
#include "engine/transaction/engine_config.h"
#include "store/store.h"

namespace nrd {

inline Time at(int64_t milliseconds) { return Time(std::chrono::milliseconds(milliseconds)); }

// Two sockets with four CPUs each, eleven ways, and no workload.
inline NodeState a_node() {
  NodeState state;
  state.revision = 7;
  state.facts.boot_id = "boot";
  state.facts.rdt.possible = CpuSet::first(8);
  state.facts.rdt.online = CpuSet::first(8);
  state.facts.rdt.levels[3].caches = {{CacheId{3, 0}, CpuSet{0, 1, 2, 3}}, {CacheId{3, 1}, CpuSet{4, 5, 6, 7}}};
  state.facts.rdt.sockets = {{CacheId{3, 0}, 0}, {CacheId{3, 1}, 1}};
  state.facts.rdt.levels[3].cat = rdt::Cat{.classes = 4, .ways = 11, .min_ways = 1, .shareable = WayMask(0x600)};
  state.layouts[3] = PoolPartition{.os = WayMask(0x001),
                                   .guarantee = WayMask(0x03e),
                                   .besteffort = WayMask(0x1c0),
                                   .shared = WayMask(0x600),
                                   .infra = WayMask()};
  for (uint32_t clos = 0; clos < 4; ++clos) {
    rdt::Class& group = state.observed.rdt.classes[ClosId{clos}];
    group.ways = {{CacheId{3, 0}, WayMask::all(11)}, {CacheId{3, 1}, WayMask::all(11)}};
    if (clos == 0) group.cpus = CpuSet::first(8);
  }
  return state;
}

// Two guaranteed ways of cache 0 for CPUs 0 and 1, in class 2.
inline Workload a_workload(uint64_t id) {
  return {.id = WorkloadId{id},
          .spec = {.uuid = "", .core_ids = {"0", "1"}, .cpus = {0, 1}, .cache = CacheRequest{.max = 2, .min = 2}},
          .grant = {.pool = Pool::Guarantee, .clos = ClosId{2}, .ways = {{CacheId{3, 0}, WayMask(0x30)}}},
          .created = at(1'700'000'000'123),
          .updated = at(1'700'000'000'123)};
}

// The state after `workload` was granted and applied.
inline NodeState with(NodeState state, const Workload& workload) {
  rdt::Class& group = state.observed.rdt.classes[workload.grant.clos];
  for (const auto& [cache, ways] : workload.grant.ways) group.ways[cache] = ways;
  group.cpus |= workload.spec.cpus;
  for (const CpuId cpu : workload.spec.cpus.members()) state.baselines.cpus.edit()[cpu] = ClosId{0};
  for (const auto& [cache, ways] : workload.grant.ways) {
    state.baselines.ways[workload.grant.clos][cache] = WayMask::all(11);
  }
  state.workloads.put(workload);
  return state;
}

class FakeEngine final : public Engine {
 public:
  using Done_ = Callback<Done>;

  explicit FakeEngine(NodeState state) : state_(std::make_shared<const NodeState>(std::move(state))) {}

  std::shared_ptr<const NodeState> state() const override {
    const std::lock_guard hold(lock_);
    return state_;
  }
  void submit(Command command, Done_ done) override {
    {
      const std::lock_guard hold(lock_);
      commands_.push_back(std::move(command));
      if (!outcome_) {
        waiting_.push_back(std::move(done));
        return;
      }
    }
    done(*outcome_);
  }
  void dry_run(Command command, Done_ done) override { submit(std::move(command), std::move(done)); }
  void find_created(IdempotencyKey, Done_ done) override {
    ++lookups;
    done(*outcome_);
  }
  void record(store::DocumentChange, std::function<void(Result<void>)> done) override { done({}); }
  void reconfigure(EngineConfig, ReloadMode, std::function<void(Result<void>)> done) override { done({}); }
  void refresh_cpus() override {}
  void sample_usage(ClosId, Sampler::Done done) override { done(sample); }
  std::shared_ptr<const UsageSample> last_usage() override { return sample ? *sample : nullptr; }
  std::chrono::steady_clock::time_point last_beat() const override { return {}; }

  void publish(NodeState state) {
    const std::lock_guard hold(lock_);
    state_ = std::make_shared<const NodeState>(std::move(state));
  }
  Result<std::shared_ptr<const UsageSample>> sample;  // null: no sample
  int lookups = 0;                                    // of Idempotency-Keys
  // From now on answers every command and lookup at once with `outcome`.
  void answer_with(Result<Done> outcome) { outcome_ = std::move(outcome); }
  // Answers the waiting commands.
  void answer_waiting(const Result<Done>& outcome) {
    std::vector<Done_> waiting;
    {
      const std::lock_guard hold(lock_);
      waiting.swap(waiting_);
    }
    for (const Done_& done : waiting) done(outcome);
  }
  std::vector<Command> commands() const {
    const std::lock_guard hold(lock_);
    return commands_;
  }
  size_t waiting() const {
    const std::lock_guard hold(lock_);
    return waiting_.size();
  }

 private:
  mutable std::mutex lock_;
  std::shared_ptr<const NodeState> state_;
  std::optional<Result<Done>> outcome_;
  std::vector<Command> commands_;
  std::vector<Done_> waiting_;
};

inline Done done_with(const Workload& workload) {
  return {std::make_shared<const NodeState>(with(a_node(), workload)), workload};
}

}  // namespace nrd
