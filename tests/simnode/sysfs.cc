#include "sysfs.h"

#include <cerrno>

namespace nrd::simnode {
namespace {

struct Cache {
  int index, level;
  const char* type;
  int id, ways;
  long bytes;
  Cpus shared;
};

constexpr int kLineBytes = 64;

void add_line(FileMap& files, const std::string& path, const std::string& line) { files.add(path, line + "\n"); }

void add_cache(const Machine& machine, int cpu, const Cache& cache, FileMap& files) {
  const std::string at = "cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(cache.index) + "/";
  add_line(files, at + "level", std::to_string(cache.level));
  add_line(files, at + "type", cache.type);
  add_line(files, at + "id", std::to_string(cache.id));
  add_line(files, at + "size", std::to_string(cache.bytes / 1024) + "K");
  add_line(files, at + "ways_of_associativity", std::to_string(cache.ways));
  add_line(files, at + "number_of_sets", std::to_string(cache.bytes / cache.ways / kLineBytes));
  add_line(files, at + "coherency_line_size", std::to_string(kLineBytes));
  add_line(files, at + "physical_line_partition", "1");
  add_line(files, at + "shared_cpu_list", list_of(cache.shared));
  add_line(files, at + "shared_cpu_map", mask_of(cache.shared, machine.shape().cpus));
}

void add_caches(const Machine& machine, int cpu, FileMap& files) {
  add_cache(machine, cpu, {0, 1, "Data", cpu, 8, 32L << 10, {cpu}}, files);
  add_cache(machine, cpu, {1, 1, "Instruction", cpu, 8, 32L << 10, {cpu}}, files);
  for (const CacheLevel& level : machine.levels()) {
    const auto id = level.cache_of(cpu);
    if (!id) continue;
    add_cache(
        machine, cpu,
        {level.number, level.number, "Unified", *id, level.ways, level.total_bytes, machine.cache_cpus(level, *id)},
        files);
  }
}

Cpus online_in_socket(const Machine& machine, int socket) {
  Cpus cpus = machine.socket_cpus(socket);
  std::erase_if(cpus, [&machine](int cpu) { return !machine.is_online(cpu); });
  return cpus;
}

void add_topology(const Machine& machine, int cpu, FileMap& files) {
  const std::string at = "cpu/cpu" + std::to_string(cpu) + "/topology/";
  const int socket = machine.socket_of(cpu);
  const std::string package = list_of(online_in_socket(machine, socket));
  const Cpus core = machine.core_cpus(cpu);
  add_line(files, at + "physical_package_id", std::to_string(socket));
  add_line(files, at + "die_id", "0");
  add_line(files, at + "core_id", std::to_string(cpu % machine.cpus_per_socket() / machine.shape().freq.threads));
  for (const char* name : {"thread_siblings_list", "core_cpus_list"}) add_line(files, at + name, list_of(core));
  for (const char* name : {"core_siblings_list", "package_cpus_list", "die_cpus_list"})
    add_line(files, at + name, package);
  const std::string mask = mask_of(core, machine.shape().cpus);
  for (const char* name : {"thread_siblings", "core_cpus"}) add_line(files, at + name, mask);
  const std::string package_mask = mask_of(online_in_socket(machine, socket), machine.shape().cpus);
  for (const char* name : {"core_siblings", "package_cpus", "die_cpus"}) add_line(files, at + name, package_mask);
}

void add_cpu(const Machine& machine, int cpu, const Hotplug& hotplug, FileMap& files) {
  const std::string at = "cpu/cpu" + std::to_string(cpu);
  const std::string node = "node" + std::to_string(machine.node_of(cpu));
  files.add_link(at + "/" + node, "../../node/" + node);
  // Most kernels keep CPU 0 online; one that is not has a file as all others.
  if (cpu != 0 || machine.shape().offline.contains(0)) {
    files.add_writable(at + "/online", machine.is_online(cpu) ? "1\n" : "0\n", [cpu, hotplug](std::string_view text) {
      const auto wanted = parse_number(trimmed(text));
      return wanted && (*wanted == 0 || *wanted == 1) ? hotplug(cpu, *wanted == 1) : EINVAL;
    });
  }
  if (!machine.is_online(cpu)) return;
  add_topology(machine, cpu, files);
  add_caches(machine, cpu, files);
  const CpufreqDriver driver = machine.shape().freq.driver;
  if (driver == CpufreqDriver::AmdPstate || driver == CpufreqDriver::AmdPstateEpp) {
    add_line(files, at + "/acpi_cppc/nominal_freq", std::to_string(machine.shape().freq.base));
  }
}

void add_node(const Machine& machine, int node, FileMap& files) {
  const std::string at = "node/node" + std::to_string(node);
  const Cpus cpus = machine.node_cpus(node);
  add_line(files, at + "/cpulist", list_of(cpus));
  add_line(files, at + "/cpumap", mask_of(cpus, machine.shape().cpus));
  add_line(files, at + "/hugepages/hugepages-2048kB/free_hugepages", "512");
  std::string distance;
  for (int other = 0; other < machine.nodes(); ++other) {
    distance += (other == 0 ? "" : " ") + std::string(other == node ? "10" : "21");
  }
  add_line(files, at + "/distance", distance);
  for (const int cpu : machine.all()) {
    if (machine.node_of(cpu) != node) continue;
    const std::string name = "cpu" + std::to_string(cpu);
    files.add_link(at + "/" + name, "../../cpu/" + name);
  }
}

std::string first_to(int last) { return last == 0 ? "0" : "0-" + std::to_string(last); }

}  // namespace

void add_sysfs(const Machine& machine, const Hotplug& hotplug, FileMap& files) {
  const std::string all = list_of(machine.all());
  Cpus offline = machine.all();
  std::erase_if(offline, [&machine](int cpu) { return machine.is_online(cpu); });
  add_line(files, "cpu/possible", all);
  add_line(files, "cpu/present", all);
  add_line(files, "cpu/online", list_of(machine.online()));
  add_line(files, "cpu/offline", list_of(offline));
  add_line(files, "cpu/isolated", "");
  add_line(files, "cpu/nohz_full", "(null)");
  add_line(files, "cpu/kernel_max", "8191");
  add_line(files, "cpu/smt/active", "0");
  add_line(files, "cpu/smt/control", "notsupported");
  for (const int cpu : machine.all()) add_cpu(machine, cpu, hotplug, files);

  const int nodes = machine.nodes();
  for (const char* name : {"possible", "online", "has_memory", "has_normal_memory"})
    add_line(files, std::string("node/") + name, first_to(nodes - 1));
  add_line(files, "node/has_cpu", first_to(nodes - machine.shape().memory_nodes - 1));
  for (int node = 0; node < nodes; ++node) add_node(machine, node, files);
}

}  // namespace nrd::simnode
