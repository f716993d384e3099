#include "hw/rdt/topology.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <string_view>

#include "base/directory.h"
#include "base/file.h"
#include "base/number.h"

namespace nrd::rdt {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";

std::string cpu_path(const std::string& root, CpuId cpu) { return fmt::format("{}{}/cpu{}/", root, kCpus, cpu.value); }

Result<CpuSet> read_list(const std::string& path) { return TRY(read_cpu_list(path)).value_or(CpuSet()); }

// One line without its end. Nullopt: no complete line can be read.
std::optional<std::string> read_line(const std::string& path) {
  const Result<std::optional<std::string>> text = read_one_line(path);
  if (!text || !*text || !(*text)->ends_with('\n')) return std::nullopt;
  return std::string(trimmed(**text));
}

std::optional<uint32_t> read_number(const std::string& path) {
  const std::optional<std::string> line = read_line(path);
  return line ? parse_number<uint32_t>(*line) : std::nullopt;
}

// "33792K": the kernel writes sizes of caches in KiB.
uint64_t read_size(const std::string& path) {
  const std::optional<std::string> line = read_line(path);
  if (!line || !line->ends_with('K')) return 0;
  constexpr uint64_t kKiB = 1024;
  return parse_number<uint32_t>(std::string_view(*line).substr(0, line->size() - 1)).value_or(0) * kKiB;
}

// The sysfs directory of the CPU's cache of `level`; none for a CPU without one or one that just went offline. L1 has
// two directories, so level n has index n; the others are tried for CPUs with a different numbering.
std::optional<std::string> cache_folder(const std::string& root, CpuId cpu, uint32_t level) {
  for (const uint32_t index : std::array{level, 0U, 1U, 2U, 3U, 4U}) {
    std::string folder = fmt::format("{}cache/index{}/", cpu_path(root, cpu), index);
    if (read_number(folder + "level") == level) return folder;
  }
  return std::nullopt;
}

Geometry read_geometry(const std::string& folder) {
  return {.ways = read_number(folder + "ways_of_associativity").value_or(0),
          .sets = read_number(folder + "number_of_sets").value_or(0),
          .partitions = read_number(folder + "physical_line_partition").value_or(0),
          .line_bytes = read_number(folder + "coherency_line_size").value_or(0),
          .bytes = read_size(folder + "size")};
}

// A CPU's directory has a link "node3" to its NUMA node.
std::optional<uint32_t> find_numa_node(const std::string& root, CpuId cpu) {
  constexpr size_t kMostEntries = 4096;
  for (const std::string& name : names_in(cpu_path(root, cpu), kMostEntries)) {
    if (!name.starts_with("node")) continue;
    if (const auto number = parse_number<uint32_t>(std::string_view(name).substr(4))) return number;
  }
  return std::nullopt;
}

// The NUMA nodes of `cpus`. Reads one CPU of each node.
std::set<uint32_t> read_numa_nodes(const std::string& root, const CpuSet& cpus) {
  std::set<uint32_t> nodes;
  CpuSet left = cpus;
  for (const CpuId cpu : cpus.members()) {
    if (!left.contains(cpu)) continue;
    left -= CpuSet{cpu.value};
    const std::optional<uint32_t> node = find_numa_node(root, cpu);
    if (!node) continue;
    nodes.insert(*node);
    const auto all = read_list(fmt::format("{}node{}/cpulist", cpu_path(root, cpu), *node));
    if (all) left -= *all;
  }
  return nodes;
}

// The maps of a Node while they are filled.
struct Caches {
  std::map<CacheId, CpuSet> cpus;
  std::map<CacheId, int> sockets;
  std::map<CacheId, std::set<uint32_t>> numa_nodes;
  std::map<CacheId, Geometry> geometry;
};

// Reads the cache of `level` of `cpu` for all CPUs that share it, and returns these.
CpuSet add_cache(const std::string& root, CpuId cpu, unsigned level, Details details, const CpuSet& online,
                 Caches& caches) {
  const std::optional<std::string> folder = cache_folder(root, cpu, level);
  if (!folder) return {};
  const std::optional<uint32_t> number = read_number(*folder + "id");
  const Result<CpuSet> sharing = read_list(*folder + "shared_cpu_list");
  if (!number || !sharing) return {};
  const CacheId id{level, *number};
  CpuSet& cpus = caches.cpus[id];
  cpus |= *sharing & online;
  cpus.add(cpu);
  if (details == Details::IdsAndCpus) return cpus;
  const std::optional<uint32_t> socket = read_number(cpu_path(root, cpu) + "topology/physical_package_id");
  caches.sockets[id] = static_cast<int>(socket.value_or(0));
  if (auto nodes = read_numa_nodes(root, cpus); !nodes.empty()) caches.numa_nodes[id] = std::move(nodes);
  caches.geometry[id] = read_geometry(*folder);
  return cpus;
}

// Read one CPU of each cache: on 1,024 CPUs that is a few files instead of thousands.
void add_caches(const std::string& root, unsigned level, Details details, Node& node) {
  Caches caches;
  CpuSet left = node.online;
  for (const CpuId cpu : node.online.members()) {
    if (left.contains(cpu)) left -= add_cache(root, cpu, level, details, node.online, caches);
  }
  node.levels[level].caches = std::move(caches.cpus);
  node.sockets = std::move(caches.sockets);
  node.numa_nodes = std::move(caches.numa_nodes);
  node.geometry = std::move(caches.geometry);
}

}  // namespace

Result<Node> read_topology(const std::string& root, unsigned level) {
  Node node;
  node.main_level = level;
  for (const auto& [name, list] : {std::pair{"/possible", &node.possible}, std::pair{"/online", &node.online},
                                   std::pair{"/isolated", &node.isolated}}) {
    *list = TRY(read_list(root + kCpus + name));
  }
  add_caches(root, level, Details::All, node);
  return node;
}

Node read_caches(unsigned level, const CpuSet& online, Details details, const std::string& root) {
  Node node;
  node.online = online;
  add_caches(root, level, details, node);
  return node;
}

std::vector<CpuSet> read_cores(const CpuSet& online, const std::string& root) {
  std::vector<CpuSet> cores;
  CpuSet left = online;
  for (const CpuId cpu : online.members()) {
    if (!left.contains(cpu)) continue;
    const Result<CpuSet> listed = read_list(cpu_path(root, cpu) + "topology/thread_siblings_list");
    const CpuSet threads = listed ? *listed & online : CpuSet();
    left -= threads;
    if (threads.size() > 1) cores.push_back(threads);
  }
  return cores;
}

}  // namespace nrd::rdt
