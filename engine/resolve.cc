#include "engine/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

using cpuset::Level;
using cpuset::Zone;

constexpr const char* kAllowed =
    "a network interface, block device or PCI address of this node, node:N, cpu:N or workload:ID";
constexpr std::array<const char*, 3> kDeviceFolders{"/sys/class/net/", "/sys/class/block/", "/sys/bus/pci/devices/"};

Failure unknown(const std::string& field, const std::string& message) {
  return fail_at(ErrorCode::BadRequest, field, message, kAllowed);
}

// The text behind "node:".
std::optional<std::string> after(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

// The smallest zones with what is shared by many CPUs, that have one of `cpus`.
CpuSet around(const std::vector<Zone>& zones, const CpuSet& cpus) {
  for (const Level level : {Level::L3, Level::Node}) {
    CpuSet near;
    for (const Zone& zone : zones) {
      if (zone.level == level && zone.cpus.intersects(cpus)) near |= zone.cpus;
    }
    if (!near.empty()) return near;
  }
  return cpus;
}

Result<CpuSet> of_node(const NodeState& state, const std::string& field, const std::string& number) {
  const auto id = parse_number<uint32_t>(number);
  for (const Zone& zone : state.facts.cpuset.zones) {
    const CpuSet online = zone.cpus & state.facts.rdt.online;
    if (zone.level == Level::Node && id == zone.id && !online.empty()) return online;
  }
  return unknown(field, fmt::format("there is no NUMA node {} with CPUs", number));
}

Result<CpuSet> of_cpu(const NodeState& state, const std::string& field, const std::string& number) {
  const auto id = parse_number<uint32_t>(number);
  if (!id || !state.facts.rdt.possible.contains(CpuId{*id})) return unknown(field, "there is no CPU " + number);
  return around(state.facts.cpuset.zones, CpuSet{*id}) & state.facts.rdt.online;
}

Result<CpuSet> of_workload(const NodeState& state, const std::string& field, const std::string& id) {
  const Workload* found = workload_with_id(state, id);
  if (!found) return unknown(field, "there is no workload " + id);
  if (!cpus_of(*found).empty()) return around(state.facts.cpuset.zones, cpus_of(*found)) & state.facts.rdt.online;
  return unknown(field, fmt::format("workload {} has no CPUs of its own", id));
}

// The devices above a network interface or a disk tell where it is attached; one without any of them is virtual.
Result<CpuSet> of_device(const std::string& root, const std::string& field, const std::string& name) {
  for (const char* folder : kDeviceFolders) {
    std::error_code error;
    std::filesystem::path place = std::filesystem::canonical(root + folder + name, error);
    if (error) continue;
    for (; place.has_relative_path(); place = place.parent_path()) {
      const std::optional<std::string> list = TRY(read_file((place / "local_cpulist").string()));
      if (!list) continue;
      const Result<CpuSet> cpus = CpuSet::parse(trimmed(*list));
      if (!cpus || cpus->empty()) break;
      return *cpus;
    }
    return unknown(field, name + " is not attached to any CPUs");
  }
  return unknown(field, "there is no device " + name);
}

Result<CpuSet> find_one(const NodeState& state, const std::string& root, const std::string& field,
                        const std::string& name) {
  if (const auto number = after(name, "node:")) return of_node(state, field, *number);
  if (const auto number = after(name, "cpu:")) return of_cpu(state, field, *number);
  if (const auto id = after(name, "workload:")) return of_workload(state, field, *id);
  constexpr size_t kLongest = 64;
  const bool is_name = !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
                       name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (!is_name) return unknown(field, "is not the name of a device");
  return of_device(root, field, name);
}

}  // namespace

Result<std::vector<CpuSet>> find_near(const NodeState& state, const std::vector<std::string>& names,
                                      const std::string& root) {
  std::vector<CpuSet> near;
  for (size_t i = 0; i < names.size(); ++i) {
    near.push_back(TRY(find_one(state, root, fmt::format("/cpu/near/{}", i), names[i])));
  }
  return near;
}

Failure no_such_task(std::string field, pid_t id) {
  return Failure(Error{.code = ErrorCode::BadRequest,
                       .field = std::move(field),
                       .message = fmt::format("there is no task {}", id),
                       .detail = {},
                       .allowed = "processes and threads that run on this node",
                       .subject = std::to_string(id)});
}

Result<ResolvedTasks> find_tasks(const std::vector<pid_t>& ids, const std::string& boot_id) {
  ResolvedTasks named;
  std::set<pid_t> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!seen.insert(ids[i]).second) continue;
    const std::string field = fmt::format("/task_ids/{}", i);
    const std::optional<FoundTask> found = TRY(find_task(ids[i]));
    if (!found) return no_such_task(field, ids[i]);
    if (found->is_kernels) {
      return fail_at(ErrorCode::BadRequest, field, fmt::format("task {} is a kernel thread", ids[i]),
                     "user-space processes and threads");
    }
    Task task = found->task;
    task.boot_id = boot_id;
    named.tasks.push_back(std::move(task));
    named.cpus |= found->cpus;
  }
  std::ranges::sort(named.tasks);
  return named;
}

}  // namespace nrd
