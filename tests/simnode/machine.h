// The hardware of the simulated node: how many CPUs, which socket and L3 cache each belongs to, which are online.
// CPUs are numbered socket by socket, and within a socket cache by cache; the ids of L3 caches are whatever the test
// asks for, since real machines have gaps and disorder in them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "cpu_list.h"

namespace nrd::simnode {

enum class CpufreqDriver { None, IntelPstate, IntelCpufreq, AcpiCpufreq, AmdPstate, AmdPstateEpp };
enum class FreqDomain { Cpu, Core, Socket };
enum class MinOverMax { Refuse, Clamp };   // kernels before 5.3; since then
enum class OfflineCpufreq { Gone, Busy };  // the folder of a policy without CPUs online
// Intel's without HWP, with it, and with it but not enabled by the firmware; AMD's of family 19h.
enum class MsrPart { None, Perf, Hwp, HwpOff, Amd };

// What frequencies there are, and how they can be set. MHz.
struct Frequencies {
  CpufreqDriver driver = CpufreqDriver::None;
  int min = 800;
  int base = 2200;  // highest without turbo
  int max = 3500;
  int step = 100;         // between the entries of acpi-cpufreq's table
  int applied_after = 0;  // ms until the files show a limit that was written
  int threads = 1;        // of a core; neighbours
  FreqDomain domain = FreqDomain::Cpu;
  MinOverMax min_over_max = MinOverMax::Refuse;
  OfflineCpufreq offline = OfflineCpufreq::Gone;
  MsrPart msr = MsrPart::None;
};

// What the numbers of MB lines are: as the vendor has them, or percent, MB/s (mounted with mba_MBps), or AMD's.
enum class MbUnit { Vendor, Percent, Mbps, Amd };

// Of the CPU. libpqos asks CPUID, which cannot be simulated, so by default it is that of the host.
enum class Vendor { Host, Intel, Amd, Hygon, Arm };

// MBA of two threads of a core: each has its own, or both get what the more limited one has.
enum class Throttle { Vendor, Absent, PerThread, Max };

// Whether the cache takes what devices write (io_alloc), and whether it does so from the start.
enum class IoAlloc { Absent, Off, On };

struct Kernel {
  int major = 6, minor = 12;
  friend auto operator<=>(const Kernel&, const Kernel&) = default;
};

using Ways = std::uint64_t;

struct Shape {
  int sockets = 2;
  int cpus = 16;
  int ways = 11;
  int closids = 16;
  int mb_closids = 0;                // 0: as many as closids
  std::optional<int> min_cbm_bits;   // nullopt: AMD's have 0, all others 1
  std::optional<bool> sparse_masks;  // nullopt: AMD's and ARM's take masks with holes, Intel's do not
  int caches_per_socket = 1;
  int nodes_per_socket = 1;  // NUMA nodes
  int memory_nodes = 0;      // NUMA nodes without CPUs, after all others
  bool snc = false;          // counters are of a NUMA node, caches of a socket
  int cpus_without_l3 = 0;   // the last ones
  Vendor vendor = Vendor::Host;
  Kernel kernel;
  std::uint32_t shareable = 0;
  std::vector<int> cache_ids;  // empty: 0, 1, 2, …
  int level = 3;               // of the caches that are allocated; 2: there is no third level, as on small parts
  bool cdp = false;            // mounted with it: code and data have masks of their own
  bool cdp_support = true;     // it could be; the kernel leaves room for the longer names
  bool l2_cat = false;         // caches of the second level are allocated beside those of the third
  long l3_kib = 0;             // of a cache; 0: a MiB for each way
  long l2_kib = 0;             // of a cache; 0: 64 for each way
  int l2_ways = 16;
  int l2_cpus = 1;  // that share a cache of the second level
  bool l2_cdp = false;
  bool mb = true;
  MbUnit mb_unit = MbUnit::Vendor;
  unsigned mb_step = 0;                  // 0: as the unit has it
  Throttle throttle = Throttle::Vendor;  // Intel's have Max, all others none
  IoAlloc io_alloc = IoAlloc::Absent;
  bool pseudo_lock = false;  // the part has what the kernel needs for it
  bool rdt = true;
  bool monitoring = true;
  int rmids = 128;
  int limbo_ms = 0;      // before the counter of a removed group serves another one
  int mbm_counters = 0;  // of each cache, to be assigned to groups; 0: each group has its own
  bool power = true;     // CPUs have a folder `power`
  bool cgroups = false;  // of version 2
  bool systemd = false;  // seems to be the init
  bool d_types = true;   // readdir says what an entry is
  std::vector<std::string> mon_features = {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"};
  Cpus offline;
  Frequencies freq;
};

// The unified caches of one level, all alike. Each level has ids of its own: there may be an L2 and an L3 cache 0.
struct CacheLevel {
  int number;
  int ways;
  long total_bytes;
  int cpus;              // that share a cache; neighbours. Those after the last cache have none
  std::vector<int> ids;  // in the order of CPUs
  bool allocated;        // by resctrl
  bool cdp;
  Ways shareable;

  std::string name() const { return "L" + std::to_string(number); }
  Ways full_mask() const { return (Ways{1} << ways) - 1; }
  // Of so many ways, as the kernel tells them (rdtgroup_cbm_to_size()).
  long bytes_of(int some_ways) const { return total_bytes / ways * some_ways; }
  std::optional<int> cache_of(int cpu) const {
    const auto nth = static_cast<size_t>(cpu / cpus);
    return nth < ids.size() ? std::optional(ids[nth]) : std::nullopt;
  }
};

struct BandwidthUnits {
  unsigned lowest, highest, step;
  bool linear;
  int width;
};

class Machine {
 public:
  explicit Machine(Shape shape);  // throws std::invalid_argument when the numbers do not fit each other

  const Shape& shape() const { return shape_; }
  const std::vector<CacheLevel>& levels() const { return levels_; }  // ascending
  const CacheLevel& last_level() const { return levels_.back(); }    // whose caches bandwidth and counters are of
  auto allocated_levels() const { return levels_ | std::views::filter(&CacheLevel::allocated); }
  const BandwidthUnits& bandwidth() const { return bandwidth_; }
  const std::string& host_cpuinfo() const { return host_cpuinfo_; }
  int closids() const;  // of the whole node: the smallest over its resources
  Cpus all() const;
  const Cpus& online() const { return online_; }
  bool is_online(int cpu) const { return online_.contains(cpu); }
  void set_online(int cpu, bool online);
  void set_mb_unit(MbUnit unit);
  void set_cdp(bool cdp);  // of the last level

  Vendor vendor() const { return shape_.vendor; }  // never Host
  int min_cbm_bits() const { return *shape_.min_cbm_bits; }
  bool is_sparse() const { return *shape_.sparse_masks; }

  int nodes() const { return shape_.sockets * shape_.nodes_per_socket + shape_.memory_nodes; }
  int node_of(int cpu) const { return cpu / (cpus_per_socket() / shape_.nodes_per_socket); }
  Cpus node_cpus(int node) const;  // online
  int socket_of(int cpu) const { return cpu / cpus_per_socket(); }
  int cpus_per_socket() const { return shape_.cpus / shape_.sockets; }
  Cpus socket_cpus(int socket) const;  // offline ones too
  Cpus core_cpus(int cpu) const;       // the threads of its core that are online
  Cpus freq_domain(int cpu) const;     // those whose frequency is set together; offline ones too
  // Online ones only, and caches with at least one CPU online; the kernel's order is ascending.
  Cpus cache_cpus(const CacheLevel& level, int cache) const;
  std::set<int> caches(const CacheLevel& level) const;
  // What counters are of: L3 caches, or NUMA nodes with --snc.
  std::set<int> counted() const;
  std::set<int> counted_on(int cache) const;

 private:
  Shape shape_;
  std::vector<CacheLevel> levels_;
  Cpus online_;
  std::string host_cpuinfo_;
  BandwidthUnits bandwidth_;
};

}  // namespace nrd::simnode
