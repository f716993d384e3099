// The hardware of the simulated node: how many CPUs, which socket and L3 cache each belongs to, which are online.
// CPUs are numbered socket by socket, and within a socket cache by cache; the ids of L3 caches are whatever the test
// asks for, since real machines have gaps and disorder in them.
#pragma once

#include <cstdint>
#include <map>
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
  int step = 100;   // between the entries of acpi-cpufreq's table
  int threads = 1;  // of a core; neighbours
  FreqDomain domain = FreqDomain::Cpu;
  MinOverMax min_over_max = MinOverMax::Refuse;
  OfflineCpufreq offline = OfflineCpufreq::Gone;
  MsrPart msr = MsrPart::None;
};

// What the numbers of MB lines are: as the host's vendor has them, or percent, MB/s (mounted with mba_MBps), or AMD's.
enum class MbUnit { Host, Percent, Mbps, Amd };

using Ways = std::uint64_t;

struct Shape {
  int sockets = 2;
  int cpus = 16;
  int ways = 11;
  int closids = 16;
  int mb_closids = 0;  // 0: as many as closids
  int min_cbm_bits = 1;
  int caches_per_socket = 1;
  std::uint32_t shareable = 0;
  std::vector<int> cache_ids;  // empty: 0, 1, 2, …
  int level = 3;               // of the caches that are allocated; 2: there is no third level, as on small parts
  bool cdp = false;            // mounted with it: code and data have masks of their own
  bool l2_cat = false;         // caches of the second level are allocated beside those of the third
  int l2_ways = 16;
  int l2_cpus = 1;  // that share a cache of the second level
  bool l2_cdp = false;
  bool mb = true;
  MbUnit mb_unit = MbUnit::Host;
  bool rdt = true;
  bool monitoring = true;
  int rmids = 128;
  std::vector<std::string> mon_features = {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"};
  Cpus offline;
  Frequencies freq;
};

// The unified caches of one level, all alike. Each level has ids of its own: there may be an L2 and an L3 cache 0.
struct CacheLevel {
  int number;
  int ways;
  long way_bytes;
  int cpus;              // that share a cache; neighbours
  std::vector<int> ids;  // in the order of CPUs
  bool allocated;        // by resctrl
  bool cdp;
  Ways shareable;

  std::string name() const { return "L" + std::to_string(number); }
  Ways full_mask() const { return (Ways{1} << ways) - 1; }
  long bytes() const { return ways * way_bytes; }
  int cache_of(int cpu) const { return ids.at(static_cast<size_t>(cpu / cpus)); }
};

// libpqos learns the vendor from CPUID, which cannot be simulated, so MB speaks the units of the host's vendor.
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

  int socket_of(int cpu) const { return cpu / cpus_per_socket(); }
  int cpus_per_socket() const { return shape_.cpus / shape_.sockets; }
  Cpus socket_cpus(int socket) const;  // offline ones too
  Cpus core_cpus(int cpu) const;       // the threads of its core that are online
  Cpus freq_domain(int cpu) const;     // those whose frequency is set together; offline ones too
  // Online ones only, and caches with at least one CPU online; the kernel's order is ascending.
  Cpus cache_cpus(const CacheLevel& level, int cache) const;
  std::set<int> caches(const CacheLevel& level) const;

 private:
  Shape shape_;
  std::vector<CacheLevel> levels_;
  Cpus online_;
  std::string host_cpuinfo_;
  BandwidthUnits bandwidth_;
};

}  // namespace nrd::simnode
