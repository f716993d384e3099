// A node in memory that behaves as the kernel does, with fault injection.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/members.h"
#include "base/json/reader.h"
#include "engine/hardware.h"
#include "engine/model/workload_fields.h"
#include "tests/unit/engine/a_spec.h"
#include "tests/unit/engine/fake_store.h"
#include "tests/unit/engine/node_shape.h"
#include "tests/unit/results.h"

namespace nrd::testing {

// The members of a part that a PATCH has: {"max": 3}.
template <typename T>
Change<json::Partial<T>> members(const std::string& text) {
  return json::parse_members<T>(*json::parse(text), "").value();
}
extern template Change<json::Partial<CacheRequest>> members<CacheRequest>(const std::string& text);
extern template Change<json::Partial<CpuRequest>> members<CpuRequest>(const std::string& text);
extern template Change<json::Partial<L2Request>> members<L2Request>(const std::string& text);
inline Change<json::Partial<CacheRequest>> max_and_min(uint32_t max, uint32_t min) {
  return members<CacheRequest>(R"({"max":)" + std::to_string(max) + R"(,"min":)" + std::to_string(min) + "}");
}
// null: removes the part.
template <typename T>
Change<json::Partial<T>> removed() {
  return Change<json::Partial<T>>(std::in_place);
}

class FakeHardware : public Hardware {
 public:
  explicit FakeHardware(const NodeShape& shape);
  ~FakeHardware() override;

  void reboot(const std::string& boot_id);

  // A process that may run on `cpus`.
  void add_task(const Task& task, const CpuSet& cpus);
  CpuSet cpus_of(const Task& task) const;

  // As mkdir makes it.
  rdt::Class new_group() const;

  size_t tasks_in(ClosId clos) const;

  Result<NodeFacts> discover() override;
  Result<Observed> observe(const CpuSet& frequencies, const std::set<Task>& asked, const cpuset::Query& query) override;

  std::vector<cpuset::Conflict> conflicts(const cpuset::PoolUse& use) override;

  std::string partition() override;
  Result<std::map<std::string, CpuSet>> pinned_services() override;
  Result<std::vector<cpuset::Pinned>> pinned_by(const cpuset::Setting& changed) override;

  Result<pstate::Observed> observe_frequencies(const CpuSet& cpus, const pstate::Observed& last) override;

  std::map<cpuset::NoiseSource, CpuSet> observe_noise() override;

  Result<std::set<std::string>> group_names() override;

  std::map<CpuId, KHz> current_frequencies(const CpuSet&) override;

  Result<std::set<Task>> find_processes(const std::vector<std::string>&, const std::set<uid_t>&) override;

  ChangeMemory memory_changer() override;

  Result<void> await_locks() override;

  // Writes knob by knob, so that a failure leaves some written and others not.
  Result<CpuSet> converge(const Setting& wanted) override;

  // On another thread, once open_memory_gate() was called, if the gate is closed.
  Result<void> change_memory(const cpuset::MemoryChange& change);
  void open_memory_gate();

  rdt::Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>&) override;

  std::map<CpuId, pstate::BranchCounts> count_branches(const CpuSet& cpus) override;

  cpuset::PoolUse searched;                 // by the last search for conflicts
  std::vector<cpuset::Conflict> foreign;    // what it finds
  std::map<std::string, CpuSet> pinned;     // services with CPUAffinity=
  std::vector<cpuset::Pinned> overwritten;  // by any new limit
  std::map<Task, CpuSet> returned;          // masks that threads got back
  rdt::Usages usages;                       // whatever is asked for
  std::vector<std::map<ClosId, std::set<CacheId>>> usage_counted;
  std::map<CpuId, pstate::BranchCounts> branches;
  CpuSet uncountable;
  CpuSet counted_on;
  bool is_locked = false;  // by another process, for long
  unsigned lock_waits = 0;
  unsigned observations = 0;
  CpuSet frequencies_observed;
  pstate::Setting converged_frequencies;  // as last wanted
  CpuSet stuck;                           // CPUs that take no frequency
  NodeFacts facts;
  Observed tree;
  std::set<cpuset::NoiseSource> immovable{};  // interrupts that the kernel manages
  std::set<Task> matching;                    // whatever the pattern; without boot_id
  std::map<Task, std::string> tasks;          // that live, and the group each is in
  std::mutex memory_lock;
  std::condition_variable memory_gate;
  bool is_memory_gate_closed = false;
  bool is_memory_stuck = false;
  std::vector<cpuset::MemoryChange> memory_changes;  // in this order
  uint64_t writes = 0;
  std::optional<uint64_t> fail_at_write;      // that write is refused, once
  std::optional<uint64_t> broken_from_write;  // that write and all after it are refused

 private:
  // Those that are there and differ; the first that fails is a Hardware error.
  template <typename Knobs>
  Result<void> write_knobs(const Knobs& wanted, Knobs& present, const char* refusal);
  // The parts of converge().
  Result<void> make_groups(const rdt::Setting& wanted);
  Result<void> set_ways(const rdt::Setting& wanted);
  Result<void> limit_bandwidth(const rdt::Setting& wanted);
  Result<CpuSet> set_frequencies(const pstate::Setting& wanted);
  Result<void> move_tasks(const rdt::Setting& wanted);
  Result<void> limit_targets(const cpuset::Setting& wanted);
  Result<void> set_shares(const cpuset::Setting& wanted);
  Result<void> bind_memory(const cpuset::Setting& wanted);
  Result<void> limit_latency(const cpuset::Setting& wanted);
  Result<void> move_noise(const cpuset::Setting& wanted);
  Result<void> move_cpus(const rdt::Setting& wanted);
  Result<void> remove_groups(const rdt::Setting& wanted);

  std::set<std::string> place_of(const Task& task) const;

  bool fails();

  pstate::Cpu facts_of(CpuId cpu) const;

  NodeShape shape_;
  std::set<cpuset::NoiseSource> refused_{};
};

}  // namespace nrd::testing
