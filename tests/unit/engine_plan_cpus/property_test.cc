// What holds for every request on every machine, shown on thousands of them.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/plan/cpus/placement.h"
#include "engine/plan/cpus/search.h"
#include "tests/unit/engine_plan_cpus/machines.h"
#include "tests/unit/engine_plan_cpus/random_machine.h"
#include "tests/unit/fault_points.h"
#include "tests/unit/numbers_in.h"

namespace nrd::property_test {

using cpuset::Level;
using nrd::testing::Dice;
using nrd::testing::MachineMaker;
using nrd::testing::numbers_in;
using nrd::testing::often;
using nrd::testing::RandomMachine;
using plan::Situation;
using plan::ZoneTree;
using Threads = CpuPool::Threads;

namespace {

const uint32_t kMachines = often(uint32_t{20000});
constexpr int kRequests = 3;  // on each

struct Placed {
  CpuRequest request{};
  CpuGrant grant{};
};

// One machine with one pool, and the workloads on it.
class Host {
 public:
  explicit Host(uint32_t seed)
      : dice_(seed), machine_(MachineMaker(dice_).make()), tree_(machine_.zones, machine_.online) {
    pool_.name = "fast";
    for (const CpuId cpu : machine_.online.members()) {
      if (!dice_.once_in(8)) pool_.cpus.add(cpu);
    }
    if (pool_.cpus.empty()) pool_.cpus = machine_.online;
    for (const CpuId cpu : pool_.cpus.members()) {
      if (dice_.once_in(16)) reserved_.add(cpu);
    }
    pool_.threads = static_cast<Threads>(dice_.below(3));
    pool_.order = static_cast<CpuPool::Order>(dice_.below(2));
    pool_.within = static_cast<Level>(dice_.below(7));
    pool_.never_crosses = dice_.once_in(3);
    cpus_ = machine_.online.members();
  }

  void run() {
    const CpuSet before = free(0);
    for (int i = 1; i <= kRequests; ++i) create(i);
    resize();
    for (int i = 0; i < kRequests; ++i) name_cpus();
    if (dice_.once_in(4)) check_order_of_zones();
    for (int i = 1; i <= kRequests; ++i) workloads_.erase(i);
    check(free(0) == before, "create then delete restores the free set");
  }

 private:
  void check(bool holds, const char* what) {
    if (!holds) FAIL_CHECK(std::string(what) << ": " << last());
  }

  CpuSet free(int except) const {
    CpuSet cpus = (pool_.cpus & machine_.online) - reserved_;
    for (const auto& [id, workload] : workloads_) {
      if (id != except) cpus -= workload.grant.exclusive | workload.grant.idle_siblings;
    }
    return cpus;
  }

  CpuSet near_something() {
    const uint32_t position = *tree_.position_of(dice_.one_of(cpus_));
    return tree_.cpus_of(tree_.zone_at(position, static_cast<Level>(dice_.below(7))));
  }

  CpuRequest a_request() {
    CpuRequest request{.pool = "fast"};
    const uint32_t most = static_cast<uint32_t>(cpus_.size()) / (dice_.once_in(6) ? 1 : 6) + 1;
    (dice_.once_in(4) ? request.cores : request.count) = dice_.between(1, most);
    for (uint32_t i = dice_.once_in(2) ? dice_.between(1, 2) : 0; i > 0; --i) request.near.push_back("eth1");
    request.strict = !request.near.empty() && dice_.once_in(3);
    if (dice_.once_in(4)) request.apart = {"1"};
    request.level = dice_.once_in(2) ? Level::Core : dice_.once_in(2) ? Level::L3 : Level::Node;
    return request;
  }

  Situation situation_of(const CpuRequest& request, int id) {
    Situation situation{.tree = tree_, .pool = pool_, .free = free(id)};
    for (size_t i = 0; i < request.near.size(); ++i) situation.near.push_back(near_something());
    const auto other = workloads_.find(1);
    if (!request.apart.empty() && other != workloads_.end() && id != 1)
      situation.apart.push_back({"1", other->second.grant.exclusive});
    return situation;
  }

  void create(int id) {
    const CpuRequest request = a_request();
    const Situation situation = situation_of(request, id);
    const Result<CpuGrant> grant = place(situation, request);
    last_ = {request, {}, grant};
    if (!grant) return check_error(situation, request, grant.error());
    check_grant(situation, request, *grant);
    workloads_[id] = {request, *grant};
  }

  void resize() {
    for (auto& [id, workload] : workloads_) {
      if (dice_.once_in(3)) continue;
      CpuRequest request = workload.request;
      request.near.clear();
      request.strict = false;
      request.apart.clear();
      uint32_t& number = request.cores > 0 ? request.cores : request.count;
      const uint32_t before = number;
      number = dice_.between(1, 2 * number);
      Situation situation = situation_of(request, id);
      const CpuSet had = workload.grant.exclusive;
      situation.current = had;
      const Result<CpuGrant> grant = place(situation, request);
      last_ = {request, had, grant};
      const bool is_exact = pool_.threads != Threads::All || request.cores > 0;
      if (!grant) {
        check(number > before || !is_exact, "a smaller set is granted");
        check_error(situation, request, grant.error());
        continue;
      }
      check_grant(situation, request, *grant);
      if (is_exact) {
        check(number > before || grant->exclusive.is_subset_of(had), "a smaller set is part of the one before");
        check(number < before || had.is_subset_of(grant->exclusive), "a larger set has all of the one before");
      }
      workload = {request, *grant};
    }
  }

  // By number: of the pool or not, free or not.
  void name_cpus() {
    CpuRequest request = a_request();
    request.count = request.cores = 0;
    const CpuSet& from = dice_.once_in(3) ? machine_.online : dice_.once_in(2) ? pool_.cpus : free(0);
    const std::vector<CpuId> cpus = (from.empty() ? pool_.cpus : from).members();
    for (uint32_t i = dice_.between(1, 3); i > 0; --i) {
      const CpuId cpu = dice_.one_of(cpus);
      request.cpus |= dice_.once_in(2) ? tree_.core_of(cpu) : CpuSet{cpu.value};
    }
    const Situation situation = situation_of(request, 0);
    const Result<CpuGrant> grant = place(situation, request);
    last_ = {request, {}, grant};
    check(is_taken(situation, request) == (!grant && grant.error().code == ErrorCode::CpuTaken), "taken or not");
    if (!grant) return check_allowed(situation, request, grant.error());
    check(grant->exclusive == request.cpus, "the CPUs that were named");
    check((grant->exclusive | grant->idle_siblings).is_subset_of(situation.free), "no CPU of another workload");
    check(pool_.threads != Threads::All || whole_cores(request.cpus) == request.cpus, "whole cores");
    check_neighbours(situation, request, *grant);
    check(place(situation, request) == grant, "equal input, equal output");
  }

  // What others have of them, or of their siblings where these must stay idle.
  bool is_taken(const Situation& situation, const CpuRequest& request) const {
    if (!request.cpus.is_subset_of(pool_.cpus)) return false;
    const CpuSet needed = pool_.threads == Threads::One ? whole_cores(request.cpus) & pool_.cpus : request.cpus;
    return !needed.is_subset_of(situation.free);
  }

  // Each core that "CPUs of 4-7" or "4-5" names is granted.
  void check_allowed(const Situation& situation, const CpuRequest& request, const Error& error) {
    constexpr std::string_view kPrefix = "CPUs of ";
    const bool is_choice = error.code == ErrorCode::CpuTaken && error.allowed.starts_with(kPrefix);
    const auto allowed = CpuSet::parse(is_choice ? error.allowed.substr(kPrefix.size()) : error.allowed);
    check(error.code != ErrorCode::CpuTaken || is_choice || error.allowed.empty(), "what is free");
    if (!allowed || allowed->empty()) return;
    CpuRequest other = request;
    other.cpus = *allowed;
    if (is_choice) {
      const std::vector<CpuId> cpus = allowed->members();
      const CpuId cpu = dice_.one_of(cpus);
      other.cpus = pool_.threads == Threads::All ? tree_.core_of(cpu) : CpuSet{cpu.value};
    }
    const Result<CpuGrant> grant = place(situation, other);
    if (pool_.never_crosses && !is_choice) return;  // the cores may be too far from each other
    check(grant.has_value(), "the CPUs named in an error are granted");
  }

  void check_grant(const Situation& situation, const CpuRequest& request, const CpuGrant& grant) {
    check(!grant.exclusive.empty(), "no empty set");
    check(grant.exclusive.is_subset_of(pool_.cpus), "no CPU outside the pool");
    check((grant.exclusive | grant.idle_siblings).is_subset_of(situation.free), "no CPU of another workload");
    check(request.count == 0 || grant.exclusive.size() == request.count, "exactly as many as requested");
    check(request.cores == 0 || cores(grant.exclusive) == request.cores, "exactly as many cores as requested");
    const CpuSet whole = whole_cores(grant.exclusive);
    if (request.cores > 0 || pool_.threads == Threads::All) check(whole == grant.exclusive, "whole cores");
    if (request.cores == 0 && pool_.threads == Threads::One) {
      check(cores(grant.exclusive) == grant.exclusive.size(), "one thread of each core");
      check(grant.idle_siblings == ((whole & pool_.cpus) - grant.exclusive), "siblings are idle");
    } else {
      check(grant.idle_siblings.empty(), "no idle siblings");
    }
    check_neighbours(situation, request, grant);
    if (dice_.once_in(4)) check_largest(situation);
    if (dice_.once_in(4)) check(place(situation, request) == grant, "equal input, equal output");
  }

  void check_neighbours(const Situation& situation, const CpuRequest& request, const CpuGrant& grant) {
    if (pool_.never_crosses) check(units(grant.exclusive, pool_.within) == 1, "never crosses");
    if (request.strict) {
      for (const CpuSet& near : situation.near) check(grant.exclusive.is_subset_of(near), "near each device");
    }
    for (const plan::Apart& other : situation.apart) {
      check(units(grant.exclusive, request.level) + units(other.cpus, request.level) ==
                units(grant.exclusive | other.cpus, request.level),
            "apart");
    }
  }

  void check_largest(const Situation& situation) {
    for (const auto& [level, number] : plan::largest_requests(tree_, pool_, situation.free)) {
      if (number == 0) continue;
      const Situation fresh{.tree = tree_, .pool = pool_, .free = situation.free};
      check(place(fresh, {.pool = pool_.name, .count = number}).has_value(), "the largest request is granted");
    }
  }

  void check_error(const Situation& situation, const CpuRequest& request, const Error& error) {
    check(error.code == ErrorCode::NotEnough || error.code == ErrorCode::BadRequest, "a known code");
    if (pool_.threads == Threads::Any && request.count > 0 && !pool_.never_crosses && !request.strict &&
        situation.apart.empty()) {
      check(request.count > situation.free.size(), "what fits is granted");
    }
    for (const uint32_t number : numbers_in(error.allowed)) {
      CpuRequest other = request;
      (request.cores > 0 ? other.cores : other.count) = number;
      check(place(situation, other).has_value(), "the number named in an error is granted");
    }
    if (error.message.find("\"strict\": false") != std::string::npos) {
      CpuRequest other = request;
      other.strict = false;
      check(place(situation, other).has_value(), "fits without strict");
    }
    if (error.message.find("fits without \"apart\"") != std::string::npos) {
      Situation other = situation;
      other.apart.clear();
      check(place(other, request).has_value(), "fits without apart");
    }
  }

  void check_order_of_zones() {
    std::vector<cpuset::Zone> zones = machine_.zones;
    dice_.shuffle(zones);
    const ZoneTree shuffled(zones, machine_.online);
    check(shuffled.zones() == tree_.zones(), "the tree does not depend on the order of zones");
    const CpuRequest request = a_request();
    Situation situation = situation_of(request, 0);
    const Situation other{
        .tree = shuffled, .pool = pool_, .free = situation.free, .near = situation.near, .apart = situation.apart};
    check(place(situation, request) == place(other, request), "the grant does not depend on the order of zones");
  }

  size_t units(const CpuSet& cpus, Level level) const {
    std::set<plan::ZoneIndex> units;
    for (const CpuId cpu : cpus.members()) units.insert(tree_.zone_at(*tree_.position_of(cpu), level));
    return units.size();
  }
  CpuSet whole_cores(const CpuSet& cpus) const {
    CpuSet whole;
    for (const CpuId cpu : cpus.members()) whole |= tree_.core_of(cpu);
    return whole;
  }
  size_t cores(const CpuSet& cpus) const { return units(cpus, Level::Core); }

  std::string last() const {
    const auto& [request, had, grant] = last_;
    return std::to_string(request.count) + " CPUs or " + std::to_string(request.cores) + " cores or CPU " +
           request.cpus.to_string() + " of pool " + pool_.cpus.to_string() + ", threads " +
           std::to_string(static_cast<int>(pool_.threads)) + ", had " + had.to_string() + " -> " +
           testing::text_of(grant);
  }

  Dice dice_;
  RandomMachine machine_;
  ZoneTree tree_;
  CpuPool pool_{};
  CpuSet reserved_{};  // CPUs of the pool that have been granted in ways unlike those of this test
  std::vector<CpuId> cpus_{};
  std::map<int, Placed> workloads_{};
  std::tuple<CpuRequest, CpuSet, Result<CpuGrant>> last_{};
};

}  // namespace

TEST_CASE("placement holds its promises on random machines") {
  for (uint32_t seed = 1; seed <= kMachines; ++seed) {
    CAPTURE(seed);
    Host(seed).run();
  }
}

}  // namespace nrd::property_test
