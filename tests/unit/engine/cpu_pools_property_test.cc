// Random requests for CPUs of random pools on random nodes: tasks, units, cgroups and commands; exclusive and shared
// CPUs, several pools, resizes, quotas, and writes that fail. After each the invariants hold, every target runs where
// its workload was granted CPUs, and in the end the node is as before.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/grant.h"
#include "engine/transaction/transaction.h"
#include "tests/unit/engine/invariants.h"
#include "tests/unit/engine/random_cpu_pools.h"
#include "tests/unit/fault_points.h"
#include "tests/unit/numbers_in.h"

namespace nrd::cpu_pools_property_test {

using namespace nrd::testing;

namespace {

constexpr int kSteps = 100;  // on each node
constexpr pid_t kTasks = 24;

// What a client asks, and what it would ask with another number of CPUs in one of the requests.
struct Ask {
  Command command;
  std::function<Command(size_t, uint32_t)> with_number = {};
};

class Session {
 public:
  explicit Session(unsigned seed) : dice_(seed), shape_(a_shape(dice_)), config_(a_config(dice_, shape_)) {
    const CpuSet all = hardware_.facts.rdt.possible;
    // One more than those of the CPUs, so that memory near some CPUs is never that of all nodes.
    for (unsigned node = 0; node <= shape_.sockets; ++node) hardware_.facts.cpuset.memory_nodes.add(CpuId{node});
    for (pid_t id = 1; id <= kTasks; ++id) hardware_.add_task(a_process(id), all);
    for (const Target& group : kGroups) add_group(group);
    transaction_ = started(config_, hardware_, store_);
    fresh_ = hardware_.tree;
    if (dice_.once_in(2)) mirror_.emplace(hardware_, config_);
  }

  void step() {
    Ask ask = dice_.once_in(3) ? a_change() : Ask{a_new_one()};
    const Observed tree = hardware_.tree;
    const NodeState before = transaction_->state();
    if (!mirror_ && dice_.once_in(8)) hardware_.fail_at_write = hardware_.writes + 1 + dice_.below(12);
    const std::vector<Command> commands{ask.command};
    const auto outcome = transaction_->apply(commands).front();
    const bool is_struck = hardware_.fail_at_write && *hardware_.fail_at_write <= hardware_.writes;
    hardware_.fail_at_write.reset();
    if (!outcome) {
      REQUIRE(transaction_->state().workloads == before.workloads);
      REQUIRE(hardware_.tree.cpuset == tree.cpuset);
      REQUIRE(hardware_.tree.pstate == tree.pstate);
      // A failed write may leave masks on caches where their class has no workload to the next drift check.
      if (is_struck) transaction_->repair();
      REQUIRE(hardware_.tree.rdt == tree.rdt);
      check_numbers(before, ask, outcome.error());
    }
    accepted_ += outcome.has_value();
    check();
    if (mirror_) check_mirror(commands);
    if (dice_.once_in(40)) restart();
  }

  // Deletes all.
  void end() {
    while (!transaction_->state().workloads.empty()) {
      const std::vector<Command> commands{DeleteWorkload{transaction_->state().workloads.begin()->first}};
      REQUIRE(transaction_->apply(commands).front());
    }
    transaction_->repair();  // a frequency that could not be restored is retried
    for (const Target& scope : scopes_) {
      REQUIRE(hardware_.tree.cpuset.targets.at(scope) == cpuset::Masks{.cpus = hardware_.facts.rdt.possible});
      REQUIRE(hardware_.tree.cpuset.shares.at(scope) == cpuset::Share{.weight = 100});
      REQUIRE(hardware_.tree.cpuset.memory.at(scope).own.empty());
      remove(scope);
    }
    REQUIRE(hardware_.tree == fresh_);
    REQUIRE(transaction_->state().baselines.cpu_sets.empty());
  }

  int accepted() const { return accepted_; }
  int named() const { return named_; }

 private:
  // The same on a node whose zones and pools have another order.
  struct Mirror {
    Mirror(const FakeHardware& of, const NodeConfig& config) : hardware(NodeShape{}) {
      hardware.facts = of.facts;
      hardware.tree = of.tree;
      hardware.tasks = of.tasks;
      std::ranges::reverse(hardware.facts.cpuset.zones.edit());
      transaction = started(reversed(config), hardware, store);
    }
    FakeHardware hardware;
    FakeStore store;
    std::unique_ptr<Transaction> transaction;
  };

  static std::unique_ptr<Transaction> started(const NodeConfig& config, FakeHardware& hardware, FakeStore& store) {
    static const SystemClock clock;
    auto transaction = std::make_unique<Transaction>(hardware, store, clock, config);
    REQUIRE(transaction->recover());
    return transaction;
  }

  void add_group(const Target& target) {
    for (FakeHardware* hardware : {&hardware_, mirror_ ? &mirror_->hardware : nullptr}) {
      if (!hardware) continue;
      cpuset::Observed& tree = hardware->tree.cpuset;
      const CpuSet& all = hardware->facts.rdt.possible;
      tree.targets[target] = {.cpus = all};
      tree.shares[target] = {.weight = 100};
      tree.memory[target] = {.nodes = hardware->facts.cpuset.memory_nodes};
      if (target.kind != Target::Kind::Scope) tree.groups[target] = {.available = all, .parent = "far.slice"};
    }
  }

  void remove(const Target& scope) {
    hardware_.tree.cpuset.targets.erase(scope);
    hardware_.tree.cpuset.shares.erase(scope);
    hardware_.tree.cpuset.memory.erase(scope);
  }

  void restart() {
    const Workloads kept = transaction_->state().workloads;
    transaction_ = started(config_, hardware_, store_);
    REQUIRE(transaction_->state().workloads == kept);
    check();
  }

  // Of a workload, computed from nothing but its grant and the configuration.
  CpuSet granted_to(const Workload& workload) const {
    CpuSet cpus;
    for (const CpuGrant& grant : cpu_grants_of(workload))
      cpus |= grant.exclusive.empty() ? find_pool(config_.cpu_pools, grant.pool)->cpus : grant.exclusive;
    return cpus;
  }

  void check() {
    check_all(transaction_->state(), shape_, hardware_, store_);
    std::map<Target, const Workload*> holders;
    std::map<uid_t, size_t> taken;
    CpuSet pooled;
    for (const CpuPool& pool : config_.cpu_pools) pooled |= pool.cpus;
    for (const auto& [id, workload] : transaction_->state().workloads) {
      for (const Target& target : targets_of(workload)) holders[target] = &workload;
      if (workload.spec.quota_uid) taken[*workload.spec.quota_uid] += (cpus_of(workload) & pooled).size();
    }
    for (const auto& [target, masks] : hardware_.tree.cpuset.targets) {
      const auto holder = holders.find(target);
      REQUIRE(masks.cpus == (holder == holders.end() ? hardware_.facts.rdt.possible : granted_to(*holder->second)));
    }
    for (const LocalUser& user : {kAlice, kMember}) {
      if (config_.cpu_quotas) REQUIRE(taken[user.uid] <= quota_of(*config_.cpu_quotas, user)->count);
    }
  }

  void check_mirror(const std::vector<Command>& commands) {
    [[maybe_unused]] const auto outcomes = mirror_->transaction->apply(commands);
    const Workloads& ours = transaction_->state().workloads;
    const Workloads& theirs = mirror_->transaction->state().workloads;
    REQUIRE(ours.size() == theirs.size());
    for (const auto& [id, workload] : ours) {
      REQUIRE(theirs.at(id).spec == workload.spec);
      REQUIRE(theirs.at(id).grant == workload.grant);
    }
  }

  // "at most 4 CPUs": 4 are granted.
  void check_numbers(const NodeState& state, const Ask& ask, const Error& error) {
    const bool is_known =
        error.code == ErrorCode::NotEnough || error.code == ErrorCode::BadRequest || error.code == ErrorCode::Forbidden;
    const bool is_number =
        error.field.ends_with("/count") || error.field.ends_with("/cores") || error.field.ends_with("/request_milli");
    const bool is_of_cpus = error.code == ErrorCode::Forbidden && error.field.ends_with("/cores");
    if (!ask.with_number || !is_known || !is_number || is_of_cpus) return;
    const size_t index = error.field.starts_with("/cpu/1") ? 1 : 0;
    for (const uint32_t number : numbers_in(error.allowed)) {
      CAPTURE(error.field);
      CAPTURE(error.message);
      CAPTURE(error.allowed);
      const Result<Workloads> planned = plan_of(state, ask.with_number(index, number));
      // Another part of the request may be refused, and a quota does not promise that there are CPUs.
      const Error refusal = planned ? Error{} : planned.error();
      CAPTURE(refusal.field);
      CAPTURE(refusal.message);
      const bool is_of_quota = error.code == ErrorCode::Forbidden;
      const bool is_of_list = error.field.starts_with("/cpu/0") || error.field.starts_with("/cpu/1");
      const bool is_there =
          is_of_quota || is_of_list ? refusal.field == error.field : refusal.field.starts_with("/cpu");
      const bool is_by_quota = refusal.code == ErrorCode::Forbidden;
      REQUIRE_FALSE((is_there && is_by_quota == is_of_quota));
      named_ += planned.has_value();
    }
  }

  static Result<Workloads> plan_of(const NodeState& state, const Command& command) {
    if (const auto* create = std::get_if<CreateWorkload>(&command))
      return plan::create(state, WorkloadId{state.next_id}, create->spec, {}, create->quota_user);
    const auto& patch = std::get<PatchWorkload>(command);
    return plan::patch(state, patch.id, patch.patch, {}, patch.quota_user);
  }

  const CpuPool& some_pool() { return dice_.one_of(config_.cpu_pools); }

  // Of a pool, or of what is near something.
  CpuSet some_of(const CpuSet& cpus) {
    const std::vector<CpuId> all = cpus.members();
    CpuSet some;
    for (unsigned n = 1 + dice_.below(4); n > 0; --n) some.add(dice_.one_of(all));
    return some;
  }

  std::string some_id() {
    const Workloads& workloads = transaction_->state().workloads;
    return workloads.empty() ? "1" : id_text(dice_.one_of(workloads).second);
  }

  CpuRequest a_request(const CpuPool& pool) {
    CpuRequest request{.pool = pool.name};
    if (pool.kind == CpuPool::Kind::Shared) {
      if (dice_.once_in(2)) request.request_milli = 100 * (1 + dice_.below(20));
      if (request.request_milli > 0 && dice_.once_in(2)) request.limit_milli = request.request_milli + 500;
      return request;
    }
    switch (dice_.below(5)) {
      case 0: request.cores = 1 + dice_.below(3); break;
      case 1: request.cpus = some_of(pool.cpus); break;
      default: request.count = 1 + dice_.below(5);
    }
    return request;
  }

  // Of an exclusive pool; `near`: the CPUs near it.
  void add_choice(CpuRequest& request, std::vector<CpuSet>& near) {
    if (dice_.once_in(3)) {
      request.near = {"node:0"};
      request.strict = dice_.once_in(2);
      const std::vector<cpuset::Zone>& zones = hardware_.facts.cpuset.zones;
      near = {dice_.one_of(zones).cpus};
    }
    if (dice_.once_in(4)) request.apart = {some_id()};
    if (dice_.once_in(2)) request.level = Level::Node;
  }

  // Tasks, a unit, a cgroup, or a command that asks for its own CPUs.
  void add_target(Spec& spec) {
    const Task task = a_process(1 + static_cast<pid_t>(dice_.below(kTasks)));
    const Target& group = dice_.one_of(kGroups);
    switch (dice_.below(4)) {
      case 0: spec.tasks = {task}; break;
      case 1: (group.kind == Target::Kind::Unit ? spec.unit : spec.cgroup) = group.name; break;
      case 2: add_command(spec, task); break;
      default: break;
    }
    if (!spec.tasks.empty()) spec.task_cpus = hardware_.facts.rdt.possible;
    const bool can_bind = spec.has_group() || spec.runs_caller;
    if (can_bind && dice_.once_in(3)) spec.cpu->memory = CpuRequest::Memory::Near;
  }

  void add_command(Spec& spec, const Task& task) {
    spec.tasks = {task};
    spec.owner = Owner{.pid = task.id, .start = task.start, .boot_id = task.boot_id};
    spec.runs_caller = true;
    const std::string name = "nrd-" + std::to_string(transaction_->state().next_id) + ".scope";
    scopes_.insert({.kind = Target::Kind::Scope, .name = name, .task = task});
    add_group({.kind = Target::Kind::Scope, .name = name, .task = task});
  }

  std::optional<LocalUser> some_user() {
    if (!config_.cpu_quotas || dice_.once_in(2)) return std::nullopt;
    return dice_.once_in(2) ? kAlice : kMember;
  }

  Ask a_new_one() {
    Spec spec;
    if (dice_.once_in(6)) {  // without a pool, but perhaps inside one
      spec.cpus = some_of(dice_.once_in(2) ? some_pool().cpus : hardware_.facts.rdt.possible);
      spec.core_ids = {spec.cpus.to_string()};
      spec.cache = CacheRequest{.max = 2, .min = 2};
      return {CreateWorkload{.spec = spec, .quota_user = some_user()}};
    }
    const CpuPool& pool = some_pool();
    spec.cpu = a_request(pool);
    if (pool.kind == CpuPool::Kind::Exclusive) add_choice(*spec.cpu, spec.near_cpus);
    if (const CpuPool& other = some_pool(); dice_.once_in(4) && other.name != pool.name)
      spec.further_cpus = {a_request(other)};
    add_target(spec);
    if (dice_.once_in(3)) spec.cache = CacheRequest{.max = 1 + dice_.below(3), .min = 1};
    if (dice_.once_in(6)) spec.frequency = a_random_frequency(dice_);
    const std::optional<LocalUser> user = some_user();
    return {CreateWorkload{.spec = spec, .quota_user = user}, [spec, user](size_t index, uint32_t number) {
              Spec other = spec;
              set_number(index == 0 ? *other.cpu : other.further_cpus.at(index - 1), number);
              return CreateWorkload{.spec = other, .quota_user = user};
            }};
  }

  Ask a_change() {
    const Workloads& workloads = transaction_->state().workloads;
    if (workloads.empty()) return a_new_one();
    const auto& [id, victim] = dice_.one_of(workloads);
    if (dice_.once_in(2)) return {DeleteWorkload{id}};
    PatchWorkload change{.id = id, .patch = {}};
    if (const auto uid = victim.spec.quota_uid) change.quota_user = uid == kAlice.uid ? kAlice : kMember;
    if (!victim.spec.cpu || dice_.once_in(8)) {
      change.patch.cache = max_and_min(1 + dice_.below(3), 1);
      return {change};
    }
    const bool is_kept = dice_.once_in(2);  // the pool
    const CpuPool* present = find_pool(config_.cpu_pools, victim.spec.cpu->pool);
    const CpuPool& pool = is_kept ? *present : some_pool();
    CpuRequest request = a_request(pool);
    if (is_kept) request.pool.clear();
    if (pool.kind == CpuPool::Kind::Exclusive) add_choice(request, change.patch.near_cpus);
    change.patch.cpu = members<CpuRequest>(json_of(request));
    return {change, [change, request](size_t index, uint32_t number) {
              PatchWorkload again = change;
              CpuRequest other = request;
              if (index == 0) set_number(other, number);
              again.patch.cpu = members<CpuRequest>(json_of(other));
              return again;
            }};
  }

  Dice dice_;
  NodeShape shape_;
  NodeConfig config_;
  FakeHardware hardware_{shape_};
  FakeStore store_;
  std::unique_ptr<Transaction> transaction_;
  std::optional<Mirror> mirror_;
  std::set<Target> scopes_;
  Observed fresh_;
  int accepted_ = 0, named_ = 0;
};

}  // namespace

TEST_CASE("any sequence of requests for CPUs of pools keeps sets exact, disjoint and where they were granted") {
  int accepted = 0, named = 0;
  const unsigned nodes = often(160U);
  for (unsigned seed = 1; seed <= nodes; ++seed) {
    CAPTURE(seed);
    Session session(seed);
    for (int step = 0; step < kSteps; ++step) {
      CAPTURE(step);
      session.step();
    }
    session.end();
    accepted += session.accepted();
    named += session.named();
  }
  CHECK(accepted > static_cast<int>(nodes) * kSteps / 4);
  CHECK(named > static_cast<int>(nodes));
}

}  // namespace nrd::cpu_pools_property_test
