#include "store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"
#include "store/database.h"

namespace nrd::store {
namespace {

// The log is folded into the database after this many commits, outside of any of them (some 4 MiB of log at the most).
constexpr unsigned kCheckpointEvery = 256;

std::string errno_text() { return std::generic_category().message(errno); }

int64_t to_ms(Time time) { return time.time_since_epoch().count(); }
Time from_ms(int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

// The statements of commit(), kept prepared.
struct Statements {
  Statement begin, commit, rollback, node, drop_ways, drop_cpus, ways_baseline, cpu_baseline, remove, put, core_id,
      ways;

  SqlError prepare(Connection& connection) {
    const std::pair<Statement*, const char*> all[] = {
        {&begin, "BEGIN IMMEDIATE"},
        {&commit, "COMMIT"},
        {&rollback, "ROLLBACK"},
        {&node, "UPDATE node SET revision = revision + 1, next_id = ?1, boot_id = iif(?2 = '', boot_id, ?2)"},
        {&drop_ways, "DELETE FROM ways_baseline"},
        {&drop_cpus, "DELETE FROM cpu_baseline"},
        {&ways_baseline, "INSERT INTO ways_baseline (clos, cache, ways) VALUES (?, ?, ?)"},
        {&cpu_baseline, "INSERT INTO cpu_baseline (cpu, clos) VALUES (?, ?)"},
        {&remove, "DELETE FROM workload WHERE id = ?"},
        {&put,
         "INSERT INTO workload (id, uuid, origin, max_ways, min_ways, pool, clos, created_ms, updated_ms)"
         " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&core_id, "INSERT INTO workload_core_ids (workload, position, item) VALUES (?, ?, ?)"},
        {&ways, "INSERT INTO workload_ways (workload, cache, ways) VALUES (?, ?, ?)"}};
    for (const auto& [statement, sql] : all) {
      if (SqlError error = connection.prepare(sql, *statement); !error.ok()) return error;
    }
    return {};
  }
};

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  Result<void> open() {
    Result<Connection> opened = open_database(path_);
    if (!opened) return Failure(opened.error());
    connection_ = std::move(*opened);
    if (const SqlError error = statements_.prepare(connection_); !error.ok()) {
      return fail(ErrorCode::Store, path_ + " does not have nrd's tables; restore a backup", error.text);
    }
    usable_ = true;
    return {};
  }

  Result<Records> load() override;
  CommitOutcome commit(const Change& change) override;

  Result<uint64_t> reopen() override {
    usable_ = false;
    statements_ = {};
    connection_.close();
    if (const Result<void> opened = open(); !opened) return Failure(opened.error());
    const Result<Records> records = load();
    if (!records) {
      usable_ = false;
      return Failure(records.error());
    }
    return records->revision;
  }

 private:
  template <typename ReadRow>
  SqlError each_row(const char* sql, ReadRow read_row) {
    Statement statement;
    if (SqlError error = connection_.prepare(sql, statement); !error.ok()) return error;
    while (statement.next()) read_row(statement);
    return statement.error();
  }
  SqlError read_all(Records& records);
  SqlError read_workloads(Records& records);
  SqlError write_all(const Change& change);
  SqlError write_baselines(const Change& change);
  SqlError write_workload(const WorkloadRecord& workload);
  void checkpoint_now_and_then();

  const std::string path_;
  const UniqueFd lock_;
  Connection connection_;
  Statements statements_;  // finalized before the connection closes
  bool usable_ = false;
  unsigned commits_since_checkpoint_ = 0;
};

uint32_t as_u32(int64_t value) { return static_cast<uint32_t>(value); }  // the schema's CHECKs bound it

SqlError SqliteStore::read_workloads(Records& records) {
  std::map<int64_t, WorkloadRecord> rows;
  SqlError error =
      each_row("SELECT id, uuid, origin, max_ways, min_ways, pool, clos, created_ms, updated_ms FROM workload",
               [&](const Statement& row) {
                 rows[row.integer(0)] = {.id = WorkloadId{static_cast<uint64_t>(row.integer(0))},
                                         .uuid = row.text(1),
                                         .origin = row.text(2),
                                         .core_ids = {},
                                         .max_ways = as_u32(row.integer(3)),
                                         .min_ways = as_u32(row.integer(4)),
                                         .pool = row.text(5),
                                         .clos = ClosId{as_u32(row.integer(6))},
                                         .ways = {},
                                         .created = from_ms(row.integer(7)),
                                         .updated = from_ms(row.integer(8))};
               });
  if (!error.ok()) return error;
  error = each_row("SELECT workload, item FROM workload_core_ids ORDER BY workload, position",
                   [&](const Statement& row) { rows[row.integer(0)].core_ids.push_back(row.text(1)); });
  if (!error.ok()) return error;
  error = each_row("SELECT workload, cache, ways FROM workload_ways", [&](const Statement& row) {
    rows[row.integer(0)].ways[CacheId{as_u32(row.integer(1))}] = WayMask(as_u32(row.integer(2)));
  });
  for (auto& [id, record] : rows) records.workloads.push_back(std::move(record));
  return error;
}

SqlError SqliteStore::read_all(Records& records) {
  SqlError error = each_row("SELECT revision, next_id, boot_id FROM node", [&](const Statement& row) {
    records.revision = static_cast<uint64_t>(row.integer(0));
    records.next_id = static_cast<uint64_t>(row.integer(1));
    records.baselines.boot_id = row.text(2);
  });
  if (error.ok()) error = read_workloads(records);
  if (!error.ok()) return error;
  error = each_row("SELECT clos, cache, ways FROM ways_baseline ORDER BY clos, cache", [&](const Statement& row) {
    records.baselines.ways.push_back(
        {ClosId{as_u32(row.integer(0))}, CacheId{as_u32(row.integer(1))}, WayMask(as_u32(row.integer(2)))});
  });
  if (!error.ok()) return error;
  return each_row("SELECT cpu, clos FROM cpu_baseline ORDER BY cpu", [&](const Statement& row) {
    records.baselines.cpus.push_back({CpuId{as_u32(row.integer(0))}, ClosId{as_u32(row.integer(1))}});
  });
}

Result<Records> SqliteStore::load() {
  Records records;
  if (const SqlError error = read_all(records); !error.ok()) {
    return fail(ErrorCode::Store, path_ + " cannot be read; restore a backup", error.text);
  }
  for (const WorkloadRecord& workload : records.workloads) {
    if (workload.id.value < records.next_id && !workload.core_ids.empty()) continue;
    return fail(ErrorCode::Store, path_ + " holds a workload that makes no sense; restore a backup",
                "workload " + std::to_string(workload.id.value));
  }
  return records;
}

SqlError SqliteStore::write_baselines(const Change& change) {
  if (!change.new_boot_id.empty()) {
    for (Statement* drop : {&statements_.drop_ways, &statements_.drop_cpus}) {
      if (SqlError error = drop->run(); !error.ok()) return error;
    }
  }
  for (const auto& [clos, cache, ways] : change.ways_baselines) {
    SqlError error = statements_.ways_baseline.bind(1, clos.value).bind(2, cache.value).bind(3, ways.bits()).run();
    if (!error.ok()) return error;
  }
  for (const auto& [cpu, clos] : change.cpu_baselines) {
    SqlError error = statements_.cpu_baseline.bind(1, cpu.value).bind(2, clos.value).run();
    if (!error.ok()) return error;
  }
  return {};
}

SqlError SqliteStore::write_workload(const WorkloadRecord& workload) {
  const auto id = static_cast<int64_t>(workload.id.value);
  Statement& put = statements_.put.bind(1, id).bind(2, workload.uuid).bind(3, workload.origin);
  if (workload.uuid.empty()) put.bind_null(2);
  put.bind(4, workload.max_ways).bind(5, workload.min_ways).bind(6, workload.pool).bind(7, workload.clos.value);
  put.bind(8, to_ms(workload.created)).bind(9, to_ms(workload.updated));
  if (SqlError error = put.run(); !error.ok()) return error;
  for (size_t i = 0; i < workload.core_ids.size(); ++i) {
    Statement& core_id = statements_.core_id.bind(1, id).bind(2, static_cast<int64_t>(i));
    if (SqlError error = core_id.bind(3, workload.core_ids[i]).run(); !error.ok()) return error;
  }
  for (const auto& [cache, ways] : workload.ways) {
    SqlError error = statements_.ways.bind(1, id).bind(2, cache.value).bind(3, ways.bits()).run();
    if (!error.ok()) return error;
  }
  return {};
}

SqlError SqliteStore::write_all(const Change& change) {
  Statement& node = statements_.node.bind(1, static_cast<int64_t>(change.next_id)).bind(2, change.new_boot_id);
  SqlError error = node.run();
  if (error.ok()) error = write_baselines(change);
  if (!error.ok()) return error;
  for (const WorkloadId id : change.removed) {
    error = statements_.remove.bind(1, static_cast<int64_t>(id.value)).run();
    if (!error.ok()) return error;
  }
  // Uuids may change hands within one transaction, so the old rows go first.
  for (const WorkloadRecord& workload : change.put) {
    error = statements_.remove.bind(1, static_cast<int64_t>(workload.id.value)).run();
    if (!error.ok()) return error;
  }
  for (const WorkloadRecord& workload : change.put) {
    error = write_workload(workload);
    if (!error.ok()) return error;
  }
  return {};
}

CommitOutcome SqliteStore::commit(const Change& change) {
  if (!usable_) return {Committed::NotDone, "the store must be reopened first"};
  checkpoint_now_and_then();
  SqlError error = statements_.begin.run();
  if (error.ok()) error = write_all(change);
  if (error.ok()) {
    error = statements_.commit.run();
    if (error.ok()) {
      ++commits_since_checkpoint_;
      return {Committed::Done, {}};
    }
    // The frames are appended and synced by COMMIT only. If the disk fails there, some or all of them, the commit frame
    // too, may be in the file, and the next opening will believe what it finds. Everything else (SQLITE_FULL, a
    // constraint) fails before the commit frame is complete.
    if (is_io_error(error)) {
      usable_ = false;
      return {Committed::Unknown, error.text};
    }
  }
  if (connection_.in_transaction() && !statements_.rollback.run().ok()) usable_ = false;
  return {Committed::NotDone, error.text};
}

// Between commits, so that its failure cannot be taken for that of a commit. If it fails the log grows, nothing else.
void SqliteStore::checkpoint_now_and_then() {
  if (commits_since_checkpoint_ < kCheckpointEvery) return;
  commits_since_checkpoint_ = 0;
  const SqlError error = connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!error.ok()) {
    log::warning("CHECKPOINT_FAILED", "the log of the store could not be folded into it; trying again later",
                 {{"DETAIL", error.text}});
  }
}

Result<UniqueFd> lock_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::Store, directory + " cannot be created: " + errno_text());
  }
  const std::string path = directory + "/nrd.lock";
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return fail(ErrorCode::Store, path + " cannot be opened: " + errno_text());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return fail(ErrorCode::Busy, "another nrd uses " + directory + "; stop it first");
  return fail(ErrorCode::Store, path + " cannot be locked: " + errno_text());
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& directory) {
  Result<UniqueFd> lock = lock_directory(directory);
  if (!lock) return Failure(lock.error());
  // SQLite would create the file with the umask's mode; make it first, for root only.
  const std::string path = directory + "/nrd.db";
  if (!UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)).valid()) {
    return fail(ErrorCode::Store, path + " cannot be opened: " + errno_text());
  }
  auto store = std::make_unique<SqliteStore>(path, std::move(*lock));
  if (const Result<void> opened = store->open(); !opened) return Failure(opened.error());
  return store;
}

}  // namespace nrd::store
