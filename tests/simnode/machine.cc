#include "machine.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace nrd::simnode {
namespace {

constexpr BandwidthUnits kAmd{0, 2048, 1, false, 4};
constexpr BandwidthUnits kIntel{10, 100, 10, true, 3};
// With mba_MBps info/MB is as without, but no range is checked (bw_validate()); an unlimited group has
// MBA_MAX_MBPS.
constexpr BandwidthUnits kMbps{10, 4294967295, 10, true, 3};
constexpr long kKibPerWay = 1024;
constexpr long kL2KibPerWay = 64;
constexpr int kMostWays = 32;
constexpr int kHighestMhz = 25'500;  // a ratio has eight bits
constexpr int kCpusOfCore = 2;       // as far as frequencies are concerned

std::string first_processor_of_host() {
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream block;
  for (std::string line; std::getline(file, line) && !line.empty();) block << line << '\n';
  return block.str();
}

void require(bool fits, const char* rule) {
  if (!fits) throw std::invalid_argument(rule);
}

Vendor vendor_in(const std::string& cpuinfo) {
  if (cpuinfo.find("AuthenticAMD") != std::string::npos) return Vendor::Amd;
  return cpuinfo.find("HygonGenuine") != std::string::npos ? Vendor::Hygon : Vendor::Intel;
}

// What a kernel knows of a vendor's parts (rdt_init_res_defs_amd(), mpam_resctrl_control_init()).
void fill_in(Shape& shape, const std::string& host_cpuinfo) {
  if (shape.vendor == Vendor::Host && shape.mb_unit != MbUnit::Vendor)
    shape.vendor = shape.mb_unit == MbUnit::Amd ? Vendor::Amd : Vendor::Intel;
  if (shape.vendor == Vendor::Host) shape.vendor = vendor_in(host_cpuinfo);
  const bool is_amd = shape.vendor == Vendor::Amd || shape.vendor == Vendor::Hygon;
  if (!shape.min_cbm_bits) shape.min_cbm_bits = is_amd ? 0 : 1;
  if (shape.l3_kib == 0) shape.l3_kib = shape.ways * kKibPerWay;
  if (shape.l2_kib == 0) shape.l2_kib = shape.l2_ways * kL2KibPerWay;
  if (!shape.sparse_masks) shape.sparse_masks = is_amd || shape.vendor == Vendor::Arm;
  if (shape.throttle == Throttle::Vendor)
    shape.throttle = shape.vendor == Vendor::Intel ? Throttle::Max : Throttle::Absent;
}

std::vector<int> ascending_ids(int count) {
  std::vector<int> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

void check_l2(const Shape& shape) {
  if (shape.level == 2) require(!shape.l2_cat && shape.l2_cpus == 1, "--l2-cat and --l2-cpus need --level 3");
  require(shape.rdt || !shape.l2_cat, "--l2-cat needs RDT, which --no-rdt takes away");
  require(shape.l2_cat || !shape.l2_cdp, "--l2-cdp needs --l2-cat");
  require(shape.l2_ways > 0 && shape.l2_ways <= kMostWays, "--l2-ways must be 1 to 32");
  require(!shape.l2_cat || *shape.min_cbm_bits <= shape.l2_ways, "--min-cbm-bits must be at most --l2-ways");
  const int cpus_of_l3 = (shape.cpus - shape.cpus_without_l3) / (shape.sockets * shape.caches_per_socket);
  require(shape.l2_cpus > 0 && cpus_of_l3 % shape.l2_cpus == 0, "--l2-cpus must divide the CPUs of an L3 cache");
}

void check(const Shape& shape) {
  require(shape.sockets > 0 && shape.caches_per_socket > 0, "--sockets and --caches-per-socket must be positive");
  require(shape.cpus_without_l3 >= 0 && shape.cpus_without_l3 < shape.cpus &&
              (shape.cpus_without_l3 == 0 || (shape.sockets == 1 && shape.level == 3)),
          "--cpus-without-l3 needs one socket whose other CPUs have L3 caches");
  require(shape.cpus > 0 && (shape.cpus - shape.cpus_without_l3) % (shape.sockets * shape.caches_per_socket) == 0,
          "--cpus must be a multiple of sockets x caches per socket");
  require(
      shape.nodes_per_socket > 0 && shape.cpus / shape.sockets % shape.nodes_per_socket == 0 && shape.memory_nodes >= 0,
      "--nodes-per-socket must divide the CPUs of a socket");
  require(shape.offline.empty() || *shape.offline.rbegin() < shape.cpus, "--offline names a CPU that is not there");
  require(shape.l3_kib > 0 && shape.l2_kib > 0, "--l3-kib and --l2-kib must be positive");
  require(!shape.snc || shape.caches_per_socket == 1, "--snc needs one L3 cache a socket");
  require(shape.kernel >= Kernel{6, 0}, "--kernel must be 6.0 or later");
  require(shape.ways > 0 && shape.ways <= kMostWays, "--ways must be 1 to 32");
  require(shape.closids > 0 && shape.mb_closids > 0, "--closids and --mb-closids must be positive");
  require(*shape.min_cbm_bits >= 0 && *shape.min_cbm_bits <= shape.ways, "--min-cbm-bits must be 0 to --ways");
  require(shape.rmids > 0 && shape.limbo_ms >= 0 && shape.mbm_counters >= 0,
          "--rmids must be positive, --rmid-limbo and --mbm-counters not negative");
  require(shape.kernel >= Kernel{6, 18} || shape.mbm_counters == 0, "--mbm-counters needs --kernel 6.18 or later");
  require(shape.kernel >= Kernel{6, 19} || shape.io_alloc == IoAlloc::Absent,
          "--io-alloc needs --kernel 6.19 or later");
  const std::set<int> distinct(shape.cache_ids.begin(), shape.cache_ids.end());
  require(shape.cache_ids.size() == static_cast<size_t>(shape.sockets * shape.caches_per_socket) &&
              distinct.size() == shape.cache_ids.size(),
          "--cache-ids must name each L3 cache once");
  require(shape.freq.min >= 100 && shape.freq.min <= shape.freq.base && shape.freq.base <= shape.freq.max &&
              shape.freq.max <= kHighestMhz,
          "--freq-min, --freq-base and --freq-max must ascend, from 100 to 25500");
  check_l2(shape);
}

std::vector<CacheLevel> levels_of(const Shape& shape) {
  const int sharing = (shape.cpus - shape.cpus_without_l3) / static_cast<int>(shape.cache_ids.size());
  const CacheLevel last{.number = shape.level,
                        .ways = shape.ways,
                        .total_bytes = shape.l3_kib * 1024,
                        .cpus = sharing,
                        .ids = shape.cache_ids,
                        .allocated = true,
                        .cdp = shape.cdp,
                        .shareable = shape.shareable};
  if (shape.level == 2) return {last};
  const CacheLevel second{.number = 2,
                          .ways = shape.l2_ways,
                          .total_bytes = shape.l2_kib * 1024,
                          .cpus = shape.l2_cpus,
                          .ids = ascending_ids(shape.cpus / shape.l2_cpus),
                          .allocated = shape.l2_cat,
                          .cdp = shape.l2_cdp,
                          .shareable = 0};
  return {second, last};
}

}  // namespace

Machine::Machine(Shape shape) : shape_(std::move(shape)), host_cpuinfo_(first_processor_of_host()) {
  if (shape_.mb_closids == 0) shape_.mb_closids = shape_.closids;
  if (shape_.cache_ids.empty()) shape_.cache_ids = ascending_ids(shape_.sockets * shape_.caches_per_socket);
  fill_in(shape_, host_cpuinfo_);
  check(shape_);
  levels_ = levels_of(shape_);
  for (int cpu = 0; cpu < shape_.cpus; ++cpu) {
    if (!shape_.offline.contains(cpu)) online_.insert(cpu);
  }
  set_mb_unit(shape_.mb_unit);
}

void Machine::set_cdp(bool cdp) { levels_.back().cdp = cdp; }

void Machine::set_mb_unit(MbUnit unit) {
  shape_.mb_unit = unit;
  switch (unit) {
    case MbUnit::Vendor:
      bandwidth_ = shape_.vendor == Vendor::Amd || shape_.vendor == Vendor::Hygon ? kAmd : kIntel;
      break;
    case MbUnit::Percent: bandwidth_ = kIntel; break;
    case MbUnit::Mbps: bandwidth_ = kMbps; break;
    case MbUnit::Amd: bandwidth_ = kAmd; break;
  }
  if (shape_.mb_step > 0) bandwidth_.step = shape_.mb_step;
}

int Machine::closids() const { return shape_.mb ? std::min(shape_.closids, shape_.mb_closids) : shape_.closids; }

Cpus Machine::all() const {
  Cpus cpus;
  for (int cpu = 0; cpu < shape_.cpus; ++cpu) cpus.insert(cpu);
  return cpus;
}

void Machine::set_online(int cpu, bool online) {
  if (online) {
    online_.insert(cpu);
  } else {
    online_.erase(cpu);
  }
}

Cpus Machine::socket_cpus(int socket) const {
  Cpus cpus;
  for (int cpu = socket * cpus_per_socket(); cpu < (socket + 1) * cpus_per_socket(); ++cpu) cpus.insert(cpu);
  return cpus;
}

Cpus Machine::node_cpus(int node) const {
  Cpus cpus;
  for (const int cpu : online_) {
    if (node_of(cpu) == node) cpus.insert(cpu);
  }
  return cpus;
}

Cpus Machine::core_cpus(int cpu) const {
  const int threads = shape_.freq.threads;
  Cpus cpus;
  for (const int other : socket_cpus(socket_of(cpu))) {
    const bool is_same = other % cpus_per_socket() / threads == cpu % cpus_per_socket() / threads;
    if (is_same && (is_online(other) || other == cpu)) cpus.insert(other);
  }
  return cpus;
}

Cpus Machine::freq_domain(int cpu) const {
  switch (shape_.freq.domain) {
    case FreqDomain::Cpu: return {cpu};
    case FreqDomain::Socket: return socket_cpus(socket_of(cpu));
    case FreqDomain::Core: break;
  }
  const int in_socket = cpu % cpus_per_socket();
  Cpus cpus;
  for (int other = cpu - in_socket % kCpusOfCore; static_cast<int>(cpus.size()) < kCpusOfCore; ++other) {
    if (other >= shape_.cpus || socket_of(other) != socket_of(cpu)) break;
    cpus.insert(other);
  }
  return cpus;
}

Cpus Machine::cache_cpus(const CacheLevel& level, int cache) const {
  Cpus cpus;
  for (const int cpu : online_) {
    if (level.cache_of(cpu) == cache) cpus.insert(cpu);
  }
  return cpus;
}

std::set<int> Machine::caches(const CacheLevel& level) const {
  std::set<int> caches;
  for (const int cpu : online_) {
    if (const auto cache = level.cache_of(cpu)) caches.insert(*cache);
  }
  return caches;
}

std::set<int> Machine::counted_on(int cache) const {
  if (!shape_.snc) return {cache};
  std::set<int> nodes;
  for (const int cpu : cache_cpus(last_level(), cache)) nodes.insert(node_of(cpu));
  return nodes;
}

std::set<int> Machine::counted() const {
  std::set<int> all;
  for (const int cache : caches(last_level())) all.merge(counted_on(cache));
  return all;
}

}  // namespace nrd::simnode
