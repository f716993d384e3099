#include "hw/cpuset/conflicts.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/control.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/split.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/kernel_facts.h"
#include "hw/cpuset/neighbours.h"

namespace nrd::cpuset {
namespace {

// "nrd-7.scope" of "/nrd.slice/nrd-7.scope/inner"; empty: elsewhere, or the slice itself.
std::string_view unit_in_slice(std::string_view path) {
  const std::string slice = std::string("/") + kSlice + "/";
  if (!path.starts_with(slice)) return {};
  path.remove_prefix(slice.size());
  return path.substr(0, path.find('/'));
}

bool is_in_slice(std::string_view path) { return is_within(path, std::string("/") + kSlice); }

// A slice without processes that keeps the cpuset controller enabled in its parent, such as "system-nrd.slice"
// (controller.cc).
bool is_keeper(std::string_view path) { return path.ends_with(std::string("-") + kSlice); }

std::set<std::string> names_of(const PoolUse& use) {
  std::set<std::string> names;
  for (const auto& [id, holder] : use.holders) {
    for (const Target& target : holder.targets) names.insert(target.name);
  }
  return names;
}

// The cgroup that limits a target, or one below: "feed.service" and "/x/y" are names of targets. Above the cgroup of a
// unit are only slices: below a service or scope its user or a container may give any cgroup the name of the unit.
bool is_of(const Target& target, const std::string& path) {
  if (target.name.empty()) return false;
  if (target.name.starts_with('/')) return is_within(path, target.name);
  for (const std::string_view part : split(path, "/")) {
    if (part == target.name) return true;
    if (!part.ends_with(".slice")) return false;
  }
  return false;
}

bool is_of(const PoolUse::Holder& holder, const std::string& path) {
  return std::ranges::any_of(holder.targets, [&path](const Target& target) { return is_of(target, path); });
}

bool has_process_of(const PoolUse::Holder& holder, const std::set<pid_t>& processes) {
  return std::ranges::any_of(holder.targets,
                             [&](const Target& target) { return processes.contains(target.task.process); });
}

// The unit of systemd whose property says so, if it is one by its name.
std::string where_set(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const char* suffix : {".service", ".scope", ".slice"}) {
    if (name.ends_with(suffix)) return "AllowedCPUs= of " + name;
  }
  return "cpuset.cpus of " + path;
}

std::string holders_text(const std::vector<std::string>& workloads) {
  if (workloads.size() == 1) return "workload " + workloads.front();
  return fmt::format("workload {} and {} others", workloads.front(), workloads.size() - 1);
}

Conflict unit_without_workload(const CgroupCpus& cgroup, const PoolUse& use) {
  const std::string name = printable_ascii(unit_in_slice(cgroup.path), kLongestName);
  return {.source = Conflict::Source::Unit,
          .name = name,
          .cpus = cgroup.effective & use.pooled,
          .text = fmt::format("{} runs in {} without a workload", name, kSlice),
          .remedy = "create a workload for its processes, or stop it: systemctl stop " + name};
}

std::optional<Conflict> foreign_partition(const CgroupCpus& cgroup, const PoolUse& use) {
  const bool is_valid = cgroup.partition == "root" || cgroup.partition == "isolated";
  const CpuSet cpus = (cgroup.cpus | cgroup.effective) & use.pooled;
  if (!is_valid || cpus.empty()) return std::nullopt;
  const std::string name = printable_ascii(cgroup.path, kLongestName);
  return Conflict{
      .source = Conflict::Source::Partition,
      .name = name,
      .cpus = cpus,
      .text = fmt::format("{} is a cpuset partition ({}) with CPU {}", name, cgroup.partition, cpus.to_string()),
      .remedy = fmt::format("remove CPU {} from {}, or from the pools", cpus.to_string(), where_set(name))};
}

using ProcessesOf = std::function<std::set<pid_t>(const std::string&)>;

// Beside its name: why it may run there.
std::string reason_of(const CgroupCpus& cgroup) {
  return cgroup.cpus.empty() ? " (it has no cpuset.cpus)" : fmt::format(" (cpuset.cpus {})", cgroup.cpus.to_string());
}

Conflict may_run(const CgroupCpus& cgroup, CpuSet cpus, const std::string& whose) {
  const std::string name = printable_ascii(cgroup.path, kLongestName);
  const std::string list = cpus.to_string();
  return {.source = Conflict::Source::Cgroup,
          .name = name,
          .cpus = std::move(cpus),
          .text = fmt::format("{} may run on CPU {} of {}{}", name, list, whose, reason_of(cgroup)),
          .remedy = cgroup.cpus.empty()
                        ? fmt::format("limit cpuset.cpus of {} to other CPUs, or stop its processes", name)
                        : fmt::format("remove CPU {} from {}", list, where_set(name))};
}

std::optional<Conflict> shared_exclusive(const CgroupCpus& cgroup, const PoolUse& use, const ProcessesOf& processes) {
  CpuSet cpus;
  std::vector<std::string> workloads;
  std::optional<std::set<pid_t>> inside;  // read only where it matters
  for (const auto& [id, holder] : use.holders) {
    if (!holder.cpus.intersects(cgroup.effective) || is_of(holder, cgroup.path)) continue;
    if (cgroup.effective.is_subset_of(holder.cpus)) {
      if (!inside) inside = processes(cgroup.path);
      if (has_process_of(holder, *inside)) continue;
    }
    cpus |= holder.cpus & cgroup.effective;
    workloads.push_back(id);
  }
  if (cpus.empty()) return std::nullopt;
  return may_run(cgroup, std::move(cpus), holders_text(workloads));
}

// A list that was chosen, with CPUs that no workload has yet.
std::optional<Conflict> shared_free(const CgroupCpus& cgroup, const PoolUse& use, const ProcessesOf& processes) {
  CpuSet cpus = cgroup.effective & use.exclusive;
  if (cpus.empty()) return std::nullopt;
  const std::set<pid_t> inside = processes(cgroup.path);
  const bool is_workloads = std::ranges::any_of(use.holders, [&](const auto& entry) {
    return is_of(entry.second, cgroup.path) || has_process_of(entry.second, inside);
  });
  if (is_workloads) return std::nullopt;
  return may_run(cgroup, std::move(cpus), "exclusive pools");
}

// Paths of all cgroups above those of targets: their lists are what a target needs. Processes have only a cgroup
// without others below it.
std::set<std::string> paths_above_targets(const std::vector<CgroupCpus>& cgroups, const PoolUse& use) {
  std::set<std::string> above;
  for (const CgroupCpus& cgroup : cgroups) {
    const auto has = [&cgroup](const auto& entry) { return is_of(entry.second, cgroup.path); };
    if (std::ranges::none_of(use.holders, has)) continue;
    for (size_t slash = cgroup.path.rfind('/'); slash != 0 && slash != std::string::npos;
         slash = cgroup.path.rfind('/', slash - 1))
      above.insert(cgroup.path.substr(0, slash));
  }
  return above;
}

// What a search for conflicts of all cgroups has to know.
struct Search {
  const PoolUse& use;
  const ProcessesOf& processes;
  std::set<std::string> names;  // of targets
  std::set<std::string> above;  // paths above those of targets
  CpuSet all;                   // CPUs that any cgroup has
};

std::optional<Conflict> find_in_slice(const CgroupCpus& cgroup, const Search& search) {
  const std::string_view unit = unit_in_slice(cgroup.path);
  if (unit.empty() || is_keeper(cgroup.path)) return std::nullopt;
  if (search.names.contains(std::string(unit)))
    return cgroup.cpus.empty() ? std::nullopt : shared_exclusive(cgroup, search.use, search.processes);
  const bool is_inside = std::ranges::count(cgroup.path, '/') > 2;
  return is_inside ? std::nullopt : std::optional(unit_without_workload(cgroup, search.use));
}

std::optional<Conflict> find_outside(const CgroupCpus& cgroup, const Search& search) {
  if (is_keeper(cgroup.path)) return std::nullopt;
  if (auto conflict = foreign_partition(cgroup, search.use)) return conflict;
  const bool has_list = !cgroup.cpus.empty();
  // Without confinement, what has no list may run anywhere (docs/cpus.md).
  if (!has_list && !search.use.is_confined) return std::nullopt;
  if (!has_list || search.above.contains(cgroup.path)) {
    if (!cgroup.effective.intersects(search.use.exclusive) || search.processes(cgroup.path).empty())
      return std::nullopt;
  }
  if (auto conflict = shared_exclusive(cgroup, search.use, search.processes)) return conflict;
  const bool is_narrow = !search.all.is_subset_of(cgroup.cpus);
  return is_narrow ? shared_free(cgroup, search.use, search.processes) : std::nullopt;
}

std::string text_in(const std::string& path) { return read_file(path).value_or(std::nullopt).value_or(""); }

// True if the user of nrd, root, has started a process of this name: others may name theirs as they like.
bool is_running(std::string_view name, const std::string& root) {
  return std::ranges::any_of(numbers_in<pid_t>(root + "/proc", kLargestPid), [&](pid_t process) {
    const std::string folder = fmt::format("{}/proc/{}", root, process);
    struct stat owner = {};
    return line_of(folder + "/comm") == name && ::lstat(folder.c_str(), &owner) == 0 && owner.st_uid == ::geteuid();
  });
}

}  // namespace

std::vector<Conflict> cgroup_conflicts(const std::vector<CgroupCpus>& cgroups, const PoolUse& use,
                                       const std::function<std::set<pid_t>(const std::string& path)>& processes) {
  Search search{.use = use,
                .processes = processes,
                .names = names_of(use),
                .above = paths_above_targets(cgroups, use),
                .all = use.pooled};
  for (const CgroupCpus& cgroup : cgroups) search.all |= cgroup.effective;
  std::vector<Conflict> found;
  for (const CgroupCpus& cgroup : cgroups) {
    if (found.size() == kMostConflicts) break;
    auto conflict = is_in_slice(cgroup.path) ? find_in_slice(cgroup, search) : find_outside(cgroup, search);
    if (conflict) found.push_back(*std::move(conflict));
  }
  return found;
}

std::vector<Conflict> affinity_conflicts(const std::map<std::string, CpuSet>& pinned, const PoolUse& use) {
  const std::set<std::string> names = names_of(use);
  std::vector<Conflict> found;
  for (const auto& [service, affinity] : pinned) {
    CpuSet cpus = affinity & use.exclusive;
    if (cpus.empty() || names.contains(service)) continue;
    if (found.size() == kMostConflicts) break;
    const std::string list = cpus.to_string();
    found.push_back(
        {.source = Conflict::Source::Unit,
         .name = service,
         .cpus = std::move(cpus),
         .text = fmt::format("{} is configured to run on CPU {} (CPUAffinity={})", service, list, affinity.to_string()),
         .remedy = fmt::format("remove CPU {} from CPUAffinity= of {}, or create a workload for it", list, service)});
  }
  return found;
}

const std::map<std::string, CpuSet>& PinnedServices::find() {
  constexpr std::chrono::minutes kPause{1};
  constexpr std::chrono::seconds kPatience{5};
  const auto now = std::chrono::steady_clock::now();
  if (!Units::is_booted() || now < next_) return found_;
  next_ = now + kPause;
  if (auto found = units_.pinned_services(now + kPatience)) found_ = *std::move(found);
  return found_;
}

std::vector<Conflict> service_conflicts(const PoolUse& use, const std::string& root) {
  std::vector<Conflict> found;
  const auto add = [&found](std::optional<Conflict> conflict) {
    if (conflict) found.push_back(*std::move(conflict));
  };
  add(kubelet_conflict(text_in(root + kKubeletState), use.pooled));
  if (const std::string profile = isolating_profile(text_in(root + kTunedProfile)); !profile.empty())
    add(tuned_conflict(profile, text_in(root + variables_file_of(profile)), use.pooled));
  if (auto conflict = irqbalance_conflict(text_in(root + kIrqbalanceDefaults), use);
      conflict && is_running("irqbalance", root))
    add(std::move(conflict));
  return found;
}

std::vector<Conflict> find_conflicts(const PoolUse& use, const std::string& root) {
  std::vector<Conflict> found = service_conflicts(use, root);
  const std::string cgroups = root + kCgroups;
  std::ranges::move(cgroup_conflicts(list_cgroups(cgroups), use,
                                     [&cgroups](const std::string& path) { return processes_in(cgroups, path); }),
                    std::back_inserter(found));
  return found;
}

}  // namespace nrd::cpuset
