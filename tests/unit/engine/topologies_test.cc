// Random requests of every kind on eight kinds of node, six thousand or (NRD_LONG) eight times as many, and on random
// nodes: CPUs and tasks, all pools, memory bandwidth, policies, frequencies, L2, while foreign groups come and go.
// After each the invariants hold.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/model/policies.h"
#include "engine/transaction/transaction.h"
#include "tests/unit/engine/fake_node.h"
#include "tests/unit/engine/invariants.h"
#include "tests/unit/fault_points.h"

namespace nrd::topologies_test {

using nrd::testing::check_all;
using nrd::testing::Dice;
using nrd::testing::FakeHardware;
using nrd::testing::FakeStore;
using nrd::testing::NodeShape;
using nrd::testing::often;

namespace {

const int kSteps = often(6000);  // on each of the eight
constexpr pid_t kTasks = 40;

struct Topology {
  std::string name;
  NodeShape shape;
  std::optional<rdt::MbaInfo> mba = rdt::MbaInfo{.step = 10, .least = 10};
  bool shrink = true;
};

std::vector<Topology> topologies() {
  return {
      {.name = "1 socket of 12 ways", .shape = {.sockets = 1, .cpus_per_socket = 16, .ways = 12}},
      {.name = "2 sockets of 20 ways", .shape = {.sockets = 2, .cpus_per_socket = 16, .ways = 20}},
      {.name = "4 sockets of 15 ways, ids in no order",
       .shape = {.sockets = 4, .cpus_per_socket = 8, .ways = 15, .cache_ids = {4, 0, 7, 2}}},
      {.name = "8 sockets of 16 ways, two complexes each",
       .shape = {.sockets = 16, .cpus_per_socket = 4, .ways = 16, .cpus_per_domain = 2},
       .mba = rdt::MbaInfo{.step = 1, .least = 0, .unit = rdt::MbaUnit::EighthsOfGbps, .most = 2048}},
      {.name = "masks of two ways at least, and ways that I/O fills",
       .shape = {.ways = 20, .min_ways = 2, .shareable = WayMask(0xc0000)}},
      // The kernel makes as many groups as the resource with the fewest classes has.
      {.name = "fewer classes for bandwidth than for L3", .shape = {.classes = 4}},
      {.name = "masks with holes", .shape = {.ways = 15, .sparse_masks = true}},
      {.name = "L2 caches of two CPUs beside L3",
       .shape = {.sockets = 2, .cpus_per_socket = 8, .ways = 15, .cpus_per_l2 = 2}},
  };
}

Topology a_topology(Dice& dice) {
  NodeShape shape;
  shape.sockets = 1 + dice.below(8);
  shape.cpus_per_socket = 1 + dice.below(12);
  shape.ways = 4 + dice.below(29);
  shape.classes = 2 + dice.below(63);
  shape.min_ways = 1 + dice.below(2);
  if (dice.once_in(2)) shape.shareable = WayMask::run(shape.ways - 2, 2);
  shape.cpus_per_domain = dice.once_in(2) ? 1 : 2;
  return {.name = "random", .shape = shape, .shrink = dice.once_in(2)};
}

Policies some_policies() {
  return {{"gold", {.cache = CacheRequest{3, 3}, .mba = MbaRequest{.value = 60}, .frequency = {}}},
          {"silver", {.cache = CacheRequest{4, 1}, .mba = {}, .frequency = {}}},
          {"bronze", {.cache = CacheRequest{0, 0}, .mba = {}, .frequency = {}}},
          {"quick", {.cache = {}, .mba = {}, .frequency = FrequencyRequest{.min = {}, .max = 30}}}};
}

class Session {
 public:
  explicit Session(const Topology& topology, unsigned seed) : dice_(seed), topology_(topology) {
    hardware_.facts.rdt.capabilities.mba_info = topology.mba;
    for (auto& [clos, group] : hardware_.tree.rdt.classes) {
      if (!topology.mba) break;
      for (const auto& [cache, ways] : group.ways) group.bandwidth[cache] = topology.mba->most;
    }
    for (pid_t id = 1; id <= kTasks; ++id) hardware_.tasks[task(id)] = "";
    next_task_ = kTasks + 1;
    fresh_ = hardware_.tree;
    config_.shrink = topology.shrink;
    config_.policies = std::make_shared<const Policies>(some_policies());
    start();
  }

  void step() {
    if (dice_.once_in(12)) replace_a_task();
    if (dice_.once_in(20)) change_foreign_group();
    const std::vector<Command> commands{a_command()};
    const Workloads before = transaction_->state().workloads;
    const auto outcome = transaction_->apply(commands).front();
    if (outcome) {
      ++accepted_;
    } else {
      REQUIRE(transaction_->state().workloads == before);
    }
    check();
    if (dice_.once_in(100)) {  // a restart in between changes nothing
      const Workloads kept = transaction_->state().workloads;
      start();
      REQUIRE(transaction_->state().workloads == kept);
      check();
    }
  }

  void end() {
    remove_foreign_group();
    transaction_->repair();
    while (!transaction_->state().workloads.empty()) {
      const std::vector<Command> commands{DeleteWorkload{transaction_->state().workloads.begin()->first}};
      REQUIRE(transaction_->apply(commands).front());
    }
    REQUIRE(hardware_.tree == fresh_);
    check();
  }

  int accepted() const { return accepted_; }
  int of_tasks() const { return of_tasks_; }
  int limited() const { return limited_; }
  int in_l2() const { return in_l2_; }
  int filled() const { return filled_; }

 private:
  static Task task(pid_t id) { return {.id = id, .process = id, .start = 7, .boot_id = "boot-1"}; }

  void start() {
    transaction_ = std::make_unique<Transaction>(hardware_, store_, clock_, config_);
    REQUIRE(transaction_->recover());
  }

  void check() {
    check_all(transaction_->state(), topology_.shape, hardware_, store_);
    for (const auto& [id, workload] : transaction_->state().workloads) {
      of_tasks_ += !workload.spec.tasks.empty();
      limited_ += !workload.grant.bandwidth.empty();
      in_l2_ += workload.spec.l2.has_value();
      filled_ += !sharing_groups(transaction_->state(), workload).empty();
    }
  }

  // One ends, perhaps the last of a workload, and another begins.
  void replace_a_task() {
    const Task ended = dice_.one_of(hardware_.tasks).first;
    hardware_.tasks.erase(ended);
    hardware_.tasks[task(next_task_++)] = "";
    transaction_->reap_tasks();
    check();
  }

  // It comes with all ways, as mkdir makes it, or with a few of each cache, perhaps with tasks or a CPU; or it goes.
  // The next turn of the transaction sees that.
  void change_foreign_group() {
    const bool has_class = hardware_.tree.rdt.classes.size() < topology_.shape.classes;
    if (!remove_foreign_group() && has_class) add_foreign_group();
    transaction_->repair();
    check();
  }

  bool remove_foreign_group() {
    const auto theirs = hardware_.tree.rdt.foreign.find("theirs");
    if (theirs == hardware_.tree.rdt.foreign.end()) return false;
    hardware_.tree.rdt.classes[ClosId{0}].cpus |= theirs->second.cpus;
    hardware_.tree.rdt.foreign.erase(theirs);
    return true;
  }

  void add_foreign_group() {
    rdt::Class& theirs = hardware_.tree.rdt.foreign["theirs"] = hardware_.new_group();
    const bool is_narrow = !dice_.once_in(3);
    for (const auto& [cache, cpus] : hardware_.facts.rdt.main().caches) {
      const unsigned count = topology_.shape.min_ways + dice_.below(3);
      if (is_narrow) theirs.ways[cache] = WayMask::run(dice_.below(topology_.shape.ways - count + 1), count);
    }
    if (dice_.once_in(2)) theirs.tasks = 3;
    const std::vector<CpuId> free = free_cpus(transaction_->state()).members();
    if (free.empty() || dice_.once_in(2)) return;
    const CpuId cpu = dice_.one_of(free);
    hardware_.tree.rdt.classes[ClosId{0}].cpus.remove(cpu);
    theirs.cpus.add(cpu);
  }

  CpuSet some_cpus() {
    CpuSet cpus;
    const unsigned all = topology_.shape.sockets * topology_.shape.cpus_per_socket;
    for (unsigned n = 1 + dice_.below(3); n > 0; --n) cpus.add(CpuId{dice_.below(all)});
    return cpus;
  }

  std::vector<Task> some_tasks() {
    std::set<Task> tasks;
    for (unsigned n = 1 + dice_.below(3); n > 0; --n) tasks.insert(dice_.one_of(hardware_.tasks).first);
    return {tasks.begin(), tasks.end()};
  }

  CacheRequest some_cache() {
    const unsigned most = topology_.shape.ways / 2;
    const unsigned ways = dice_.once_in(4) ? 1 + dice_.below(most) : topology_.shape.min_ways + dice_.below(3);
    const unsigned least = 1 + dice_.below(3);
    switch (dice_.below(4)) {
      case 0: return {0, 0};
      case 1: return {least + 1 + dice_.below(most), least};
      default: return {ways, ways};
    }
  }

  MbaRequest some_bandwidth() {
    const bool in_percent = dice_.once_in(2) || !topology_.mba || topology_.mba->unit == rdt::MbaUnit::Percent;
    return in_percent ? MbaRequest{.value = 1 + dice_.below(100)}
                      : MbaRequest{.unit = MbaRequest::Unit::Mbps, .value = 1000 * (1 + dice_.below(100))};
  }

  Spec a_spec() {
    Spec spec;
    if (!dice_.once_in(3)) spec.cpus = some_cpus();
    if (spec.cpus.empty() || dice_.once_in(4)) {
      spec.tasks = some_tasks();
      spec.task_cpus = some_cpus();
    }
    if (!spec.cpus.empty()) spec.core_ids = {spec.cpus.to_string()};
    if (dice_.once_in(6)) {
      constexpr std::array kNames{"gold", "silver", "bronze", "quick"};
      spec.policy = dice_.one_of(kNames);
      return spec;
    }
    if (!spec.tasks.empty() || !dice_.once_in(5)) spec.cache = some_cache();
    if (spec.cache && dice_.once_in(3)) spec.mba = some_bandwidth();
    if (topology_.shape.cpus_per_l2 > 0 && !dice_.once_in(3)) spec.l2 = L2Request{.ways = 1 + dice_.below(7)};
    if (!spec.asks_for_ways() || dice_.once_in(4)) spec.frequency = nrd::testing::a_random_frequency(dice_);
    return spec;
  }

  Command a_command() {
    const auto& workloads = transaction_->state().workloads;
    if (workloads.empty() || dice_.once_in(2)) return CreateWorkload{a_spec()};
    const WorkloadId victim = dice_.one_of(workloads).first;
    if (dice_.once_in(2)) return DeleteWorkload{victim};
    return PatchWorkload{victim, a_patch()};
  }

  SpecPatch a_patch() {
    SpecPatch patch;
    const Spec spec = a_spec();
    if (!spec.policy.empty()) {
      patch.policy = spec.policy;
      return patch;
    }
    if (spec.cache) patch.cache = testing::max_and_min(spec.cache->max, spec.cache->min);
    if (dice_.once_in(3)) patch.frequency = spec.frequency;
    if (dice_.once_in(3)) patch.mba = spec.mba;
    if (topology_.shape.cpus_per_l2 > 0 && dice_.once_in(2)) {
      patch.l2 = spec.l2 ? testing::members<L2Request>(R"({"ways":)" + std::to_string(spec.l2->ways) + "}")
                         : testing::removed<L2Request>();
    }
    if (dice_.once_in(3)) {
      patch.core_ids = spec.core_ids;
      patch.cpus = spec.cpus;
    }
    if (dice_.once_in(3)) {
      patch.tasks = spec.tasks;
      patch.task_cpus = spec.task_cpus;
    }
    return patch;
  }

  Dice dice_;
  const Topology topology_;
  FakeHardware hardware_{topology_.shape};
  FakeStore store_;
  SystemClock clock_;
  NodeConfig config_;
  std::unique_ptr<Transaction> transaction_;
  Observed fresh_;
  pid_t next_task_ = 0;
  int accepted_ = 0, of_tasks_ = 0, limited_ = 0, in_l2_ = 0, filled_ = 0;
};

}  // namespace

TEST_CASE("random requests on eight topologies keep all invariants") {
  unsigned seed = 0;
  for (const Topology& topology : topologies()) {
    CAPTURE(topology.name);
    Session session(topology, ++seed);
    for (int step = 0; step < kSteps; ++step) {
      CAPTURE(step);
      session.step();
    }
    session.end();
    CHECK(session.accepted() > kSteps / 4);
    CHECK(session.of_tasks() > kSteps / 4);
    CHECK(session.limited() > kSteps / 20);
    CHECK(session.filled() > 0);
    if (topology.shape.cpus_per_l2 > 0) CHECK(session.in_l2() > kSteps / 4);
  }
}

TEST_CASE("any sequence of requests keeps masks contiguous, disjoint and inside their pools") {
  int accepted = 0;
  const int nodes = often(40);
  for (int seed = 1; seed <= nodes; ++seed) {
    CAPTURE(seed);
    Dice dice(static_cast<unsigned>(seed));
    Session session(a_topology(dice), static_cast<unsigned>(seed));
    for (int step = 0; step < 150; ++step) {
      CAPTURE(step);
      session.step();
    }
    session.end();
    accepted += session.accepted();
  }
  CHECK(accepted > nodes * 35);
}

}  // namespace nrd::topologies_test
