#include "hw/rdt/monitor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/number.h"
#include "base/split.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

constexpr const char* kOccupancy = "llc_occupancy";
constexpr const char* kTotal = "mbm_total_bytes";
constexpr const char* kLocal = "mbm_local_bytes";
constexpr const char* kAssignments = "mbm_L3_assignments";  // of a group
constexpr std::string_view kSubFolder = "mon_sub_L3_";

// The last line was cut off if it has no end.
bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// "/sys/fs/resctrl/COS2/mon_data/mon_L3_00": at least two digits, as the kernel writes it.
std::string folder_of(ClosId clos, CacheId cache) {
  std::string id = std::to_string(cache.value);
  if (id.size() < 2) id.insert(0, 1, '0');
  return kResctrl + directory_of(clos) + "/mon_data/mon_L3_" + id;
}

// The NUMA nodes that are counted separately, each with its directory. nullopt: there is no such cache or group.
std::optional<std::map<uint32_t, std::string>> numa_nodes_in(const std::string& folder) {
  constexpr size_t kMost = 4096;
  const auto names = list_names(folder, kMost);
  if (!names) return std::nullopt;
  std::map<uint32_t, std::string> nodes;
  for (const std::string_view name : *names) {
    if (!name.starts_with(kSubFolder)) continue;
    const auto node = parse_number<uint32_t>(name.substr(kSubFolder.size()));
    if (node) nodes[*node] = folder + "/" + std::string(name);
  }
  return nodes;
}

std::optional<uint64_t> read_count(const std::string& folder, const char* file) {
  const Result<std::optional<std::string>> text = read_file(folder + "/" + file);
  return text && *text ? parse_count(**text) : std::nullopt;
}

std::vector<const char*> bandwidth_events(const Monitoring& monitoring) {
  std::vector<const char*> events;
  if (monitoring.total) events.push_back(kTotal);
  if (monitoring.local) events.push_back(kLocal);
  return events;
}

// The counters assigned to one class, and assigning missing ones while it is read.
class Counters {
 public:
  Counters(const Monitoring& monitoring, ClosId clos, bool is_asked)
      : monitoring_(monitoring), clos_(clos), is_asked_(is_asked) {
    if (!monitoring.assigned_counters) return;
    const auto text = read_file(kResctrl + directory_of(clos) + "/" + kAssignments);
    if (text && *text) assigned_ = parse_assignments(**text);
  }

  // The file lists what groups below mon_groups have where the class itself has no counter.
  bool has(const char* event, uint32_t domain) const {
    if (!assigned_) return true;
    const auto found = assigned_->find(event);
    return found != assigned_->end() && found->second.contains(domain);
  }

  // Ensures that the events of `domain` are counted, and notes those that are not.
  void complete(uint32_t domain, Usage& usage) {
    for (const char* event : bandwidth_events(monitoring_)) {
      if (has(event, domain)) continue;
      const std::string why =
          is_asked_ ? assign(event, domain) : "no counter is assigned before a request for monitoring";
      if (why.empty()) continue;
      usage.not_counted += fmt::format("{}{}: {}", usage.not_counted.empty() ? "" : "; ", event, why);
      usage.is_unrequested = !is_asked_;
    }
  }

 private:
  // Why it cannot be assigned; empty: it is.
  std::string assign(const char* event, uint32_t domain) {
    const std::string id = std::to_string(domain);
    if (write_line(directory_of(clos_), kAssignments, std::string(event) + ":" + id + "=e\n")) {
      (*assigned_)[event].insert(domain);
      return {};
    }
    const std::string kernel = last_cmd_status();
    if (kernel.starts_with("Failed to allocate counter"))
      return fmt::format("all {} counters of domain {} are assigned to groups (mbm_L3_assignments)",
                         *monitoring_.assigned_counters, id);
    return "the kernel assigned no counter" + (kernel.empty() ? "" : ": " + kernel.substr(0, kernel.find('\n')));
  }

  const Monitoring& monitoring_;
  ClosId clos_;
  bool is_asked_;
  std::optional<Assignments> assigned_;  // nullopt: all events are always counted
};

Usage read_domain(const Monitoring& monitoring, const std::string& folder, uint32_t domain, Counters& counters) {
  Usage usage;
  counters.complete(domain, usage);
  if (monitoring.occupancy) usage.occupancy_bytes = read_count(folder, kOccupancy);
  if (monitoring.total && counters.has(kTotal, domain)) usage.total_bytes = read_count(folder, kTotal);
  if (monitoring.local && counters.has(kLocal, domain)) usage.local_bytes = read_count(folder, kLocal);
  return usage;
}

// The kernel's sum over NUMA nodes omits those without a counter.
Usage read_sum(const Monitoring& monitoring, const std::string& folder, const std::map<uint32_t, Usage>& nodes,
               const Counters& counters) {
  Usage usage;
  const auto is_whole = [&](const char* event) {
    return std::ranges::all_of(nodes, [&](const auto& node) { return counters.has(event, node.first); });
  };
  if (monitoring.occupancy) usage.occupancy_bytes = read_count(folder, kOccupancy);
  if (monitoring.total && is_whole(kTotal)) usage.total_bytes = read_count(folder, kTotal);
  if (monitoring.local && is_whole(kLocal)) usage.local_bytes = read_count(folder, kLocal);
  for (const auto& [node, its] : nodes) {
    if (usage.not_counted.empty()) usage.not_counted = its.not_counted;
    usage.is_unrequested = usage.is_unrequested || its.is_unrequested;
  }
  return usage;
}

}  // namespace

std::optional<Monitoring> parse_monitoring(const std::optional<std::string>& num_rmids,
                                           const std::optional<std::string>& mon_features) {
  if (!num_rmids || !mon_features) return std::nullopt;
  const std::optional<uint64_t> groups = parse_count(*num_rmids);
  if (!groups || *groups > UINT32_MAX) return std::nullopt;
  const Monitoring monitoring{.groups = static_cast<unsigned>(*groups),
                              .occupancy = has_line(*mon_features, kOccupancy),
                              .total = has_line(*mon_features, kTotal),
                              .local = has_line(*mon_features, kLocal)};
  if (!monitoring.occupancy && !monitoring.total && !monitoring.local) return std::nullopt;
  return monitoring;
}

std::optional<Monitoring> read_monitoring() {
  const auto read = [](const char* file) {
    return read_file(info_path(std::string("L3_MON/") + file)).value_or(std::nullopt);
  };
  std::optional<Monitoring> monitoring = parse_monitoring(read("num_rmids"), read("mon_features"));
  if (monitoring)
    monitoring->assigned_counters = parse_assigned_counters(read("mbm_assign_mode"), read("num_mbm_cntrs"));
  return monitoring;
}

std::optional<uint64_t> parse_count(std::string_view text) {
  // The kernel ends the line: half of a number would be a different number.
  return text.ends_with('\n') ? parse_number<uint64_t>(text.substr(0, text.size() - 1)) : std::nullopt;
}

std::optional<unsigned> parse_assigned_counters(const std::optional<std::string>& mode,
                                                const std::optional<std::string>& counters) {
  if (!mode || !has_line(*mode, "[mbm_event]")) return std::nullopt;
  // All domains have the same number.
  std::string_view first = counters ? std::string_view(*counters) : std::string_view();
  take_until(first, '=');
  return parse_number<unsigned>(first.substr(0, first.find_first_of(";\n"))).value_or(0);
}

std::optional<Assignments> parse_assignments(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;  // cut off
  Assignments assignments;
  while (!text.empty()) {
    std::string_view domains = take_until(text, '\n');
    std::set<uint32_t>& assigned = assignments[std::string(take_until(domains, ':'))];
    while (!domains.empty()) {
      std::string_view state = take_until(domains, ';');
      const std::optional<uint32_t> domain = parse_number<uint32_t>(take_until(state, '='));
      if (!domain) return std::nullopt;
      if (state != "_") assigned.insert(*domain);
    }
  }
  return assignments;
}

Usages read_usage(const Monitoring& monitoring, const std::map<ClosId, std::set<CacheId>>& classes,
                  const std::set<ClosId>& asked) {
  Usages usages;
  for (const auto& [clos, caches] : classes) {
    Counters counters(monitoring, clos, asked.contains(clos));
    for (const CacheId cache : caches) {
      const std::string folder = folder_of(clos, cache);
      const auto folders = numa_nodes_in(folder);
      if (!folders) continue;
      std::map<uint32_t, Usage> nodes;
      for (const auto& [node, path] : *folders) nodes[node] = read_domain(monitoring, path, node, counters);
      usages[clos][{cache}] = nodes.empty() ? read_domain(monitoring, folder, cache.value, counters)
                                            : read_sum(monitoring, folder, nodes, counters);
      for (auto& [node, usage] : nodes) usages[clos][{cache, node}] = std::move(usage);
    }
  }
  return usages;
}

Result<void> free_counters(const Monitoring& monitoring, ClosId clos) {
  if (!monitoring.assigned_counters) return {};
  std::string lines;
  for (const char* event : bandwidth_events(monitoring)) lines += std::string(event) + ":*=_\n";
  return lines.empty() ? Result<void>() : write_line(directory_of(clos), kAssignments, lines);
}

}  // namespace nrd::rdt
