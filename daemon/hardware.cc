#include "daemon/hardware.h"

#include <sys/utsname.h>

#include <memory>
#include <utility>

#include "base/file.h"
#include "hw/cpuset/cpuset.h"
#include "hw/cpuset/disturbances.h"
#include "hw/cpuset/memory.h"
#include "hw/cpuset/partition.h"
#include "hw/pstate/pstate.h"
#include "hw/rdt/rdt.h"

namespace nrd::daemon {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kMachineId = "/etc/machine-id";

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "";
}

class NodeHardware final : public Hardware {
 public:
  explicit NodeHardware(std::unique_ptr<rdt::Rdt> rdt) : rdt_(std::move(rdt)) {}

  void set_systemd_timeout(std::chrono::milliseconds timeout) override { cpuset_.set_systemd_timeout(timeout); }
  void begin_request() override { cpuset_.begin_request(); }
  void end_request() override { cpuset_.end_request(); }

  Result<NodeFacts> discover() override {
    const std::optional<std::string> boot_id = TRY(read_file(kBootId));
    const std::string machine_id = TRY(read_file(kMachineId)).value_or("");
    if (!boot_id) return fail(ErrorCode::Hardware, "cannot read the kernel's boot id", kBootId);
    rdt::Node rdt = TRY(rdt_->discover());
    pstate::Node pstate = TRY(pstate_.discover());
    cpuset::Node cpuset = TRY(cpuset_.discover());
    boot_id_ = trimmed(*boot_id);
    return NodeFacts{.boot_id = boot_id_,
                     .rdt = std::move(rdt),
                     .pstate = std::move(pstate),
                     .cpuset = std::move(cpuset),
                     .host_name = host_name(),
                     .machine_id = std::string(trimmed(machine_id))};
  }

  Result<Observed> observe(const CpuSet& frequencies, const std::set<Task>& tasks,
                           const cpuset::Query& query) override {
    cpuset::Observed cpuset = TRY(cpuset_.observe(query));
    rdt::Observed rdt = TRY(rdt_->observe(with_processes(tasks, cpuset)));
    pstate::Observed pstate = TRY(pstate_.observe(frequencies));
    return Observed{.rdt = std::move(rdt), .pstate = std::move(pstate), .cpuset = std::move(cpuset)};
  }

  std::vector<cpuset::Conflict> conflicts(const cpuset::PoolUse& use) override { return cpuset_.conflicts(use); }
  Result<std::vector<cpuset::Pinned>> pinned_by(const cpuset::Setting& changed) override {
    return cpuset_.pinned_by(changed);
  }
  std::string partition() override { return cpuset::kind_of_partition(); }
  Result<std::map<std::string, CpuSet>> pinned_services() override { return cpuset_.pinned_services(); }

  Result<pstate::Observed> observe_frequencies(const CpuSet& cpus, const pstate::Observed& last) override {
    return pstate_.observe(cpus, last);
  }

  std::map<cpuset::NoiseSource, CpuSet> observe_noise() override { return cpuset_.observe_noise(); }

  Result<std::set<std::string>> group_names() override { return rdt_->group_names(); }

  Result<std::set<Task>> find_processes(const std::vector<std::string>& patterns,
                                        const std::set<uid_t>& users) override {
    return nrd::find_processes(patterns, users);
  }

  rdt::Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>& asked) override {
    return rdt_->count_usage(classes, asked);
  }

  std::map<CpuId, pstate::BranchCounts> count_branches(const CpuSet& cpus) override {
    return pstate_.count_branches(cpus);
  }

  std::map<CpuId, KHz> current_frequencies(const CpuSet& cpus) override { return pstate_.current(cpus); }

  Result<void> await_locks() override { return rdt_->await_locks(); }

  ChangeMemory memory_changer() override {
    return [mover = std::make_shared<cpuset::MemoryMover>()](const cpuset::MemoryChange& change) {
      return mover->apply(change);
    };
  }

  Result<CpuSet> converge(const Setting& wanted) override {
    const Result<void> rdt = rdt_->converge(wanted.rdt);
    const Result<void> cpuset = cpuset_.converge(wanted.cpuset);
    Result<CpuSet> pstate = pstate_.converge(wanted.pstate);
    TRY(rdt);
    TRY(cpuset);
    return pstate;
  }

 private:
  // Those of units and cgroups too, which get their boot_id here.
  std::set<Task> with_processes(std::set<Task> tasks, cpuset::Observed& observed) const {
    for (auto& [target, group] : observed.groups) {
      std::set<Task> processes;
      for (Task task : group.processes) {
        task.boot_id = boot_id_;
        processes.insert(std::move(task));
      }
      tasks.insert(processes.begin(), processes.end());
      group.processes = std::move(processes);
    }
    return tasks;
  }

  std::string boot_id_;
  std::unique_ptr<rdt::Rdt> rdt_;
  pstate::Pstate pstate_;
  cpuset::Cpuset cpuset_;
};

}  // namespace

Result<std::unique_ptr<Hardware>> open_hardware(const rdt::MountOptions& mount) {
  std::unique_ptr<rdt::Rdt> rdt = TRY(rdt::Rdt::start(mount));
  return std::make_unique<NodeHardware>(std::move(rdt));
}

PoolCheck::Disturbances find_disturbances(const cpuset::CheckQuery& query) { return cpuset::find_disturbances(query); }

}  // namespace nrd::daemon
