#include "store/read_records.h"

#include <limits>
#include <optional>
#include <utility>

#include "store/columns.h"
#include "store/onload/rows.h"

namespace nrd::store {
namespace {

class Reader {
 public:
  explicit Reader(Connection& connection) : connection_(connection) {}

  Records read() {
    read_node();
    read_workloads();
    read_keys();
    read_baselines();
    records_.onload = read_onload(connection_, complaint_);
    return std::move(records_);
  }
  // The first error, empty if there is none.
  const std::string& complaint() const { return complaint_; }

 private:
  void complain(std::string what) {
    if (complaint_.empty()) complaint_ = std::move(what);
  }

  template <typename ReadRow>
  void each_row(const char* sql, ReadRow read_row) {
    Statement statement;
    if (const SqlError error = connection_.prepare(sql, statement); !error.ok()) return complain(error.text);
    while (statement.next()) read_row(statement);
    if (!statement.error().ok()) complain(statement.error().text);
  }

  uint32_t u32(const Statement& row, int column) {
    const int64_t value = row.integer(column);
    if (value < 0 || value > std::numeric_limits<uint32_t>::max()) complain("out of range: " + std::to_string(value));
    return static_cast<uint32_t>(value);
  }

  std::optional<uint32_t> optional_u32(const Statement& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(u32(row, column));
  }

  // From the columns cpu, min_khz, max_khz, governor, epp, starting at `first`.
  FrequencyRecord frequency(const Statement& row, int first) {
    return {CpuId{u32(row, first)}, KHz{u32(row, first + 1)}, KHz{u32(row, first + 2)}, row.text(first + 3),
            row.text(first + 4)};
  }

  // From the columns task, process, start, boot_id, starting at `first`.
  static Task task(const Statement& row, int first) {
    return {.id = static_cast<pid_t>(row.integer(first)),
            .process = static_cast<pid_t>(row.integer(first + 1)),
            .start = as_u64(row.integer(first + 2)),
            .boot_id = row.text(first + 3)};
  }

  // From the columns with its number, and whether it is a secondary L2.
  CacheId cache(const Statement& row, int number, int is_secondary_l2) {
    return {.value = u32(row, number), .is_secondary_l2 = row.integer(is_secondary_l2) != 0};
  }

  // From the columns cache, unit, value, starting at `first`.
  BandwidthRecord bandwidth(const Statement& row, int first) {
    return {.cache = CacheId{u32(row, first)}, .unit = row.text(first + 1), .value = u32(row, first + 2)};
  }

  FrequencyRequestRecord frequency_request(const Statement& row) {
    return {.unit = row.text(1),
            .min = optional_u32(row, 2),
            .max = optional_u32(row, 3),
            .governor = row.text(4),
            .epp = row.text(5),
            .turbo = row.integer(6) != 0,
            .allows_shared_domain = row.integer(7) != 0,
            .threshold = row.is_null(8) ? std::nullopt : std::optional(row.real(8)),
            .is_monitored = row.integer(9) != 0};
  }

  void read_node() {
    unsigned rows = 0;
    each_row("SELECT revision, next_id, boot_id FROM node", [&](const Statement& row) {
      ++rows;
      records_.revision = as_u64(row.integer(0));
      records_.next_id = as_u64(row.integer(1));
      records_.baselines.boot_id = row.text(2);
    });
    if (rows != 1) complain("table node has " + std::to_string(rows) + " rows instead of one");
  }

  // `owner` finds the workload of a row. Foreign keys guarantee one for the rows of the other two tables.
  template <typename Owner>
  void read_onload_uses(Owner owner) {
    each_row("SELECT workload, profiles_win, generation, version FROM workload_onload", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) {
        workload->onload = OnloadUse{.profiles = {},
                                     .env = {},
                                     .profiles_win = row.integer(1) != 0,
                                     .generation = as_u64(row.integer(2)),
                                     .version = row.text(3)};
      }
    });
    const auto use = [&](const Statement& row) -> OnloadUse* {
      WorkloadRecord* workload = owner(row);
      return workload && workload->onload ? &*workload->onload : nullptr;
    };
    each_row("SELECT workload, name FROM workload_onload_profile ORDER BY workload, position",
             [&](const Statement& row) {
               if (OnloadUse* of = use(row)) of->profiles.push_back(row.text(1));
             });
    each_row("SELECT workload, name, value FROM workload_onload_variable", [&](const Statement& row) {
      if (OnloadUse* of = use(row)) of->env.emplace(row.text(1), row.text(2));
    });
  }

  void read_workloads() {
    each_row(
        "SELECT id, uuid, origin, max_ways, min_ways, pool, clos, created_ms, updated_ms FROM workload ORDER BY id",
        [&](const Statement& row) {
          records_.workloads.push_back({.id = WorkloadId{as_u64(row.integer(0))},
                                        .uuid = row.text(1),
                                        .given_id = {},
                                        .revision = 1,
                                        .origin = row.text(2),
                                        .core_ids = {},
                                        .policy = {},
                                        .max_ways = u32(row, 3),
                                        .min_ways = u32(row, 4),
                                        .code_ways = 0,
                                        .l2_ways = 0,
                                        .l2_code_ways = 0,
                                        .pool = row.text(5),
                                        .clos = ClosId{u32(row, 6)},
                                        .ways = {},
                                        .frequency = {},
                                        .frequencies = {},
                                        .owner = {},
                                        .onload = {},
                                        .mba_unit = {},
                                        .mba_value = 0,
                                        .bandwidth = {},
                                        .tasks = {},
                                        .task_cpus = {},
                                        .created = from_ms(row.integer(7)),
                                        .updated = from_ms(row.integer(8))});
        });
    std::map<int64_t, WorkloadRecord*> by_id;
    for (WorkloadRecord& workload : records_.workloads) by_id[static_cast<int64_t>(workload.id.value)] = &workload;
    const auto owner = [&](const Statement& row) -> WorkloadRecord* {
      const auto found = by_id.find(row.integer(0));
      if (found != by_id.end()) return found->second;
      complain("rows of workload " + std::to_string(row.integer(0)) + ", which there is not");
      return nullptr;
    };
    each_row("SELECT workload, item FROM workload_core_ids ORDER BY workload, position", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) workload->core_ids.push_back(row.text(1));
    });
    each_row("SELECT workload, id FROM workload_given_id", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) workload->given_id = row.text(1);
    });
    each_row("SELECT workload, revision FROM workload_revision", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) workload->revision = as_u64(row.integer(1));
    });
    each_row("SELECT workload, name FROM workload_policy", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) workload->policy = row.text(1);
    });
    each_row("SELECT workload, ways FROM workload_code_ways", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) workload->code_ways = u32(row, 1);
    });
    each_row(
        "SELECT workload, cache, ways, 0 FROM workload_ways UNION ALL"
        " SELECT workload, cache, ways, 1 FROM workload_l2_ways",
        [&](const Statement& row) {
          if (WorkloadRecord* workload = owner(row)) workload->ways[cache(row, 1, 3)] = WayMask(u32(row, 2));
        });
    each_row("SELECT workload, ways, code_ways FROM workload_l2", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) {
        workload->l2_ways = u32(row, 1);
        workload->l2_code_ways = u32(row, 2);
      }
    });
    each_row(
        "SELECT workload, unit, min, max, governor, epp, turbo, allows_shared_domain, threshold,"
        " is_monitored FROM workload_frequency_request",
        [&](const Statement& row) {
          if (WorkloadRecord* workload = owner(row)) workload->frequency = frequency_request(row);
        });
    each_row("SELECT workload, cpu, min_khz, max_khz, governor, epp FROM workload_frequency ORDER BY workload, cpu",
             [&](const Statement& row) {
               if (WorkloadRecord* workload = owner(row)) workload->frequencies.push_back(frequency(row, 1));
             });
    each_row("SELECT workload, pid, start, boot_id FROM workload_owner", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) {
        workload->owner =
            Owner{.pid = static_cast<pid_t>(row.integer(1)), .start = as_u64(row.integer(2)), .boot_id = row.text(3)};
      }
    });
    each_row("SELECT workload, unit, value FROM workload_bandwidth_request", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) {
        workload->mba_unit = row.text(1);
        workload->mba_value = u32(row, 2);
      }
    });
    each_row("SELECT workload, cache, unit, value FROM workload_bandwidth ORDER BY workload, cache",
             [&](const Statement& row) {
               if (WorkloadRecord* workload = owner(row)) workload->bandwidth.push_back(bandwidth(row, 1));
             });
    each_row("SELECT workload, task, process, start, boot_id FROM workload_task ORDER BY workload, task",
             [&](const Statement& row) {
               if (WorkloadRecord* workload = owner(row)) workload->tasks.push_back(task(row, 1));
             });
    each_row("SELECT workload, cpus FROM workload_task_cpus", [&](const Statement& row) {
      if (WorkloadRecord* workload = owner(row)) workload->task_cpus = row.text(1);
    });
    read_onload_uses(owner);
    for (const WorkloadRecord& workload : records_.workloads) {
      if (!makes_sense(workload, records_.next_id)) complain("workload " + std::to_string(workload.id.value));
    }
  }

  void read_keys() {
    each_row("SELECT key, fingerprint, workload, created_ms FROM idempotency_key ORDER BY created_ms, key",
             [&](const Statement& row) {
               records_.keys.push_back({.key = row.text(0),
                                        .request_hash = row.text(1),
                                        .workload = WorkloadId{as_u64(row.integer(2))},
                                        .created = from_ms(row.integer(3))});
             });
  }

  void read_baselines() {
    each_row(
        "SELECT clos, cache, ways, 0 FROM ways_baseline UNION ALL SELECT clos, cache, ways, 1 FROM l2_ways_baseline"
        " ORDER BY 4, 1, 2",
        [&](const Statement& row) {
          records_.baselines.ways.push_back({ClosId{u32(row, 0)}, cache(row, 1, 3), WayMask(u32(row, 2))});
        });
    each_row("SELECT cpu, clos FROM cpu_baseline ORDER BY cpu", [&](const Statement& row) {
      records_.baselines.cpus.push_back({CpuId{u32(row, 0)}, ClosId{u32(row, 1)}});
    });
    each_row("SELECT cpu, min_khz, max_khz, governor, epp FROM frequency_baseline ORDER BY cpu",
             [&](const Statement& row) { records_.baselines.frequencies.push_back(frequency(row, 0)); });
    each_row("SELECT cpu, min_khz, max_khz, governor, epp FROM frequency_of_others ORDER BY cpu",
             [&](const Statement& row) { records_.baselines.frequencies_of_others.push_back(frequency(row, 0)); });
    each_row("SELECT clos, cache, unit, value FROM bandwidth_baseline ORDER BY clos, cache", [&](const Statement& row) {
      records_.baselines.bandwidth.push_back({ClosId{u32(row, 0)}, bandwidth(row, 1)});
    });
    each_row("SELECT clos FROM group_claim ORDER BY clos",
             [&](const Statement& row) { records_.baselines.groups.push_back(ClosId{u32(row, 0)}); });
    each_row("SELECT task, process, start, boot_id, clos FROM task_claim ORDER BY task, process, start, clos",
             [&](const Statement& row) {
               records_.baselines.tasks.push_back({task(row, 0), ClosId{u32(row, 4)}});
             });
  }

  Connection& connection_;
  Records records_;
  std::string complaint_;
};

}  // namespace

bool makes_sense(const WorkloadRecord& workload, uint64_t next_id) {
  return workload.id.value >= 1 && workload.id.value < next_id &&
         (!workload.core_ids.empty() || !workload.tasks.empty());
}

Result<Records> read_records(Connection& connection, const std::string& path) {
  Reader reader(connection);
  Records records = reader.read();
  if (reader.complaint().empty()) return records;
  return fail(ErrorCode::Store, path + " cannot be read or contains invalid data; restore a backup",
              reader.complaint());
}

}  // namespace nrd::store
