// The floor: what one POST and one DELETE of a guarantee workload, and a PATCH of its ways, cost with libpqos and
// SQLite alone.
//
//   nrd_bench_floor all DATABASE TIMES        inside the node; prints one JSON object, with what a start costs, too:
//                                             pqos_init and hwloc's topology of the CPUs
//   nrd_bench_floor pairs DATABASE TIMES      POST and DELETE alone, for a tool that counts what they do

#include <hwloc.h>
#include <pqos.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kCache = 0;
constexpr unsigned kClass = 2;
constexpr unsigned kFirstCpu = 0;  // as load.cc
constexpr unsigned kCpus = 4;
constexpr uint64_t kGranted = 0x400;  // the highest way of the guarantee pool of a cache with 20 ways
constexpr uint64_t kBelow = 0x3ff;    // what it leaves to the operating system
constexpr uint64_t kWider = 0x600;    // of two ways
constexpr uint64_t kBelowWider = 0x1ff;
constexpr uint64_t kAll = 0xfffff;
constexpr int kRowBytes = 300;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "nrd_bench_floor: %s failed\n", what);
  std::exit(1);
}

// With the same flags and types as hw/cpuset/topology.cc, so that hwloc reads the same files.
void load_topology() {
  hwloc_topology_t topology = nullptr;
  require(hwloc_topology_init(&topology) == 0, "hwloc_topology_init");
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                                         HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                         HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_CORE}) {
    hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  require(hwloc_topology_load(topology) == 0, "hwloc_topology_load");
  hwloc_topology_destroy(topology);
}

void set_ways(unsigned clos, uint64_t ways) {
  pqos_l3ca setting = {};
  setting.class_id = clos;
  setting.u.ways_mask = ways;
  require(pqos_l3ca_set(kCache, 1, &setting) == PQOS_RETVAL_OK, "pqos_l3ca_set");
}

void set_class(unsigned clos) {
  for (unsigned cpu = kFirstCpu; cpu < kFirstCpu + kCpus; ++cpu) {
    require(pqos_alloc_assoc_set(cpu, clos) == PQOS_RETVAL_OK, "pqos_alloc_assoc_set");
  }
}

class Database {
 public:
  explicit Database(const char* path) {
    require(sqlite3_open(path, &connection_) == SQLITE_OK, "sqlite3_open");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE IF NOT EXISTS workload (id INTEGER PRIMARY KEY, spec TEXT)");
    run("DELETE FROM workload");
    require(sqlite3_prepare_v2(connection_, "INSERT INTO workload VALUES (1, ?)", -1, &insert_, nullptr) == SQLITE_OK,
            "prepare");
    require(sqlite3_prepare_v2(connection_, "UPDATE workload SET spec = ? WHERE id = 1", -1, &change_, nullptr) ==
                SQLITE_OK,
            "prepare");
    require(sqlite3_prepare_v2(connection_, "DELETE FROM workload WHERE id = 1", -1, &remove_, nullptr) == SQLITE_OK,
            "prepare");
    const std::string row(kRowBytes, 'x');
    sqlite3_bind_text(insert_, 1, row.c_str(), kRowBytes, SQLITE_TRANSIENT);
    sqlite3_bind_text(change_, 1, row.c_str(), kRowBytes, SQLITE_TRANSIENT);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    sqlite3_finalize(insert_);
    sqlite3_finalize(change_);
    sqlite3_finalize(remove_);
    sqlite3_close(connection_);
  }

  // Each is one transaction, on disk when it returns.
  void put() { step(insert_); }
  void change() { step(change_); }
  void remove() { step(remove_); }

 private:
  void run(const char* sql) { require(sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql); }
  static void step(sqlite3_stmt* statement) {
    require(sqlite3_step(statement) == SQLITE_DONE, "commit");
    sqlite3_reset(statement);
  }

  sqlite3* connection_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* change_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
};

void pair(Database& database) {
  set_ways(0, kBelow);
  set_ways(kClass, kGranted);
  set_class(kClass);
  database.put();

  set_class(0);
  set_ways(kClass, kAll);
  set_ways(0, kAll);
  database.remove();
}

void patch(Database& database, bool to_wide) {
  if (to_wide) set_ways(0, kBelowWider);  // first, so that no way belongs to both
  set_ways(kClass, to_wide ? kWider : kGranted);
  if (!to_wide) set_ways(0, kBelow);
  database.change();
}

double micros(Clock::duration taken) { return std::chrono::duration<double, std::micro>(taken).count(); }

double percentile(std::vector<double> values, size_t percent) {
  std::sort(values.begin(), values.end());
  return values[values.size() * percent / 100];
}

template <typename Once>
std::vector<double> repeat(int times, Once once) {
  std::vector<double> taken;
  for (int i = 0; i < times; ++i) {
    const auto begun = Clock::now();
    once(i);
    taken.push_back(micros(Clock::now() - begun));
  }
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 4 ? argv[1] : "";
  if ((mode != "all" && mode != "pairs") || std::atoi(argv[3]) < 1) {
    std::fputs("usage: nrd_bench_floor all|pairs DATABASE TIMES\n", stderr);
    return 2;
  }
  pqos_config config = {};
  config.fd_log = 2;
  config.verbose = -1;
  config.interface = PQOS_INTER_OS;
  const auto before_init = Clock::now();
  require(pqos_init(&config) == PQOS_RETVAL_OK, "pqos_init");
  const double init_us = micros(Clock::now() - before_init);

  Database database(argv[2]);
  const int times = std::atoi(argv[3]);
  const std::vector<double> pairs = repeat(times, [&](int) { pair(database); });
  if (mode == "pairs") {
    pqos_fini();
    std::printf("{\"pair_us\": %.1f}\n", percentile(pairs, 50));
    return 0;
  }
  const std::vector<double> topology = repeat(1, [](int) { load_topology(); });
  // Where a pair's time goes: the same commits without the hardware.
  const std::vector<double> commits = repeat(times, [&](int) {
    database.put();
    database.remove();
  });
  set_ways(0, kBelow);
  set_ways(kClass, kGranted);
  set_class(kClass);
  database.put();
  const std::vector<double> patches = repeat(times, [&](int i) { patch(database, i % 2 == 0); });
  set_class(0);
  set_ways(kClass, kAll);
  set_ways(0, kAll);
  pqos_fini();
  std::printf(
      "{\"pqos_init_ms\": %.2f, \"topology_ms\": %.2f, \"pair_us\": %.1f, \"commits_us\": %.1f, \"patch_us\": %.1f, "
      "\"patch_p99_us\": %.1f}\n",
      init_us / 1000, topology.front() / 1000, percentile(pairs, 50), percentile(commits, 50), percentile(patches, 50),
      percentile(patches, 99));
}
