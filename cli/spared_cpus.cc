#include "cli/spared_cpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "base/file.h"
#include "base/joined.h"
#include "base/number.h"
#include "base/split.h"
#include "cli/printer.h"
#include "engine/model/core_ids.h"

namespace nrd::cli {
namespace {

// Its CPUs of one pool.
CpuSet exclusive_in(const json::Value& cpu) {
  return CpuSet::parse(text_or_nothing(cpu, "exclusive")).value_or(CpuSet());
}

OrStop<CpuSet> cpus_of_one(const json::Value& workload) {
  const json::Value& cpu = part(workload, "cpu");
  CpuSet cpus = exclusive_in(cpu);
  for (const json::Value& each : cpu.items()) cpus |= exclusive_in(each);
  std::vector<std::string> items;
  for (const json::Value& item : part(workload, "core_ids").items()) items.push_back(text_in(item));
  if (items.empty()) return cpus;
  return parse_core_ids(items).map_error([&](const Error& error) {
    return Stop{kRefused, fmt::format("workload {}: {}", text_at(workload, "id"), error.message)};
  });
}

// CPUs that irqbalance spares without a variable, in `file` of /sys/devices/system/cpu; empty where the kernel has
// none.
CpuSet isolated_by_kernel(const std::string& file) {
  // Some kernels have "(null)".
  return read_cpu_list("/sys/devices/system/cpu/" + file).value_or(std::nullopt).value_or(CpuSet());
}

// A regular expression (Python) for exactly this cgroup and those below it.
std::string expression_of(const std::string& cgroup) {
  std::string text = ":";
  for (const char c : cgroup) {
    const bool is_plain = is_made_of({&c, 1}, "/_-:@,");
    text += (is_plain ? "" : "\\") + std::string(1, c);
  }
  return text + "(?![^/,])";
}

// Owner and tasks.
std::vector<std::string> processes_of(const json::Value& workload) {
  std::vector<std::string> processes;
  if (const std::string owner = text_or_nothing(part(workload, "owner"), "pid"); !owner.empty()) {
    processes.push_back(owner);
  }
  for (const json::Value& task : part(workload, "task_ids").items()) processes.push_back(text_in(task));
  return processes;
}

std::set<std::string> cgroups_of(const json::Value& workload) {
  std::set<std::string> cgroups;
  if (const std::string own = text_or_nothing(workload, "cgroup"); !own.empty()) cgroups.insert(own);
  for (const std::string& process : processes_of(workload)) {
    if (!parse_number<uint32_t>(process)) continue;
    const auto text = read_file("/proc/" + process + "/cgroup");
    if (!text || !*text) continue;
    if (const std::string cgroup = cgroup_in(**text); !cgroup.empty()) cgroups.insert(cgroup);
  }
  return cgroups;
}

OrStop<json::Value> all_workloads(const Client& client) { return value_of(client.get("/v1/workloads")); }

}  // namespace

OrStop<CpuSet> cpus_of(const json::Value& workloads) {
  CpuSet cpus;
  for (const json::Value& workload : workloads.items()) cpus |= TRY(cpus_of_one(workload));
  return cpus;
}

std::string irqbalance_line(const CpuSet& cpus) {
  // With an empty value irqbalance would no longer spare isolated CPUs.
  if (cpus.empty()) return "# no workload has CPUs\n#IRQBALANCE_BANNED_CPULIST=\n";
  return "IRQBALANCE_BANNED_CPULIST=" + cpus.to_string() + "\n";
}

std::string cgroup_in(const std::string& text) {
  std::string unified;
  for (const std::string_view line : split(text, "\n")) {
    for (const std::string_view hierarchy : {":name=systemd:", "0::"}) {
      const size_t at = line.find(hierarchy);
      if (at == std::string_view::npos) continue;
      const std::string cgroup(line.substr(at + hierarchy.size()));
      if (hierarchy != "0::") return cgroup == "/" ? "" : cgroup;
      if (at == 0 && cgroup != "/") unified = cgroup;
      break;
    }
  }
  return unified;
}

std::string tuned_text(const TunedProfile& profile) {
  std::string text = "# /etc/tuned/nrd/tuned.conf; then: tuned-adm profile ... nrd\n";
  if (profile.cpus.empty()) return text + "# no workload has CPUs\n";
  for (const std::string& workload : profile.unknown) {
    text += "# workload " + workload + ": processes unknown; add their cgroup to cgroup_ps_blacklist\n";
  }
  text += fmt::format(
      "[main]\nsummary=Keep other processes off the CPUs of nrd's workloads\n\n[scheduler]\nisolated_cores={}\n",
      profile.cpus.to_string());
  if (!profile.cgroups.empty()) text += "cgroup_ps_blacklist=" + joined(profile.cgroups, ";", expression_of) + "\n";
  return text;
}

OrStop<> export_irqbalance(const Client& client, Output) {
  CpuSet cpus = TRY(cpus_of(TRY(all_workloads(client))));
  if (client.is_local() && !cpus.empty()) {
    for (const char* file : {"isolated", "nohz_full"}) cpus |= isolated_by_kernel(file);
  }
  print(irqbalance_line(cpus));
  return {};
}

OrStop<> export_tuned(const Client& client, Output) {
  const json::Value workloads = TRY(all_workloads(client));
  TunedProfile profile;
  for (const json::Value& workload : workloads.items()) {
    const CpuSet cpus = TRY(cpus_of_one(workload));
    if (cpus.empty()) continue;
    profile.cpus |= cpus;
    // PIDs are those of this host over the Unix socket only.
    const std::set<std::string> cgroups = client.is_local() ? cgroups_of(workload) : std::set<std::string>();
    profile.cgroups.insert(cgroups.begin(), cgroups.end());
    const std::string name = text_or_nothing(workload, "name");
    if (cgroups.empty()) {
      profile.unknown.push_back(text_at(workload, "id") + (name.empty() ? "" : fmt::format(" ({})", name)));
    }
  }
  print(tuned_text(profile));
  return {};
}

}  // namespace nrd::cli
