#include "store/store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_text.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "store/database.h"

namespace nrd::store {
namespace {

// Number of commits between checkpoints, which run outside any commit (at most some 4 MiB of WAL).
constexpr unsigned kCheckpointEvery = 256;
constexpr const char* kOperations = "onload";  // the table of Records::operations

constexpr int kNoRow = 12;  // SQLITE_NOTFOUND

Result<void> sync_directory(const std::string& path) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid() && ::fsync(directory.get()) == 0) return {};
  const std::string reason = errno_text();
  return fail(ErrorCode::Store, fmt::format("{} cannot be synced: {}", path, reason), reason);
}

int64_t as_i64(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t as_u64(int64_t value) { return static_cast<uint64_t>(value); }

template <size_t size>
SqlResult<void> prepare(Connection& connection, const std::pair<Statement*, std::string> (&all)[size]) {
  for (const auto& [statement, sql] : all) *statement = TRY(connection.prepare(sql));
  return {};
}

// A table of documents by kind and key.
struct DocumentTable {
  Statement clear, remove, put;

  SqlResult<void> prepare(Connection& connection, const std::string& name) {
    return store::prepare(
        connection, {{&clear, "DELETE FROM " + name},
                     {&remove, fmt::format("DELETE FROM {} WHERE kind = ? AND key = ?", name)},
                     {&put, fmt::format("INSERT INTO {} (kind, key, document) VALUES (?1, ?2, json_patch('{{}}', ?3)) "
                                        "ON CONFLICT (kind, key) DO UPDATE SET document = json_patch(document, ?3)",
                                        name)}});
  }

  SqlResult<void> write(const DocumentChange& change) {
    for (const auto& [kind, key] : change.removed) TRY(remove.bind(1, kind).bind(2, key).run());
    for (const auto& [id, json] : change.put) TRY(put.bind(1, id.kind).bind(2, id.key).bind(3, json).run());
    return {};
  }
};

// The prepared statements of commit(). json_patch() is RFC 7396: a member that is null is removed, unknown ones stay.
struct Statements {
  Statement begin, commit, rollback, node, remove, free_names, put, forget_key, key;
  DocumentTable baselines, operations;

  SqlResult<void> prepare(Connection& connection) {
    TRY(baselines.prepare(connection, "baseline"));
    TRY(operations.prepare(connection, kOperations));
    return store::prepare(
        connection,
        {{&begin, "BEGIN IMMEDIATE"},
         {&commit, "COMMIT"},
         {&rollback, "ROLLBACK"},
         {&node,
          "UPDATE node SET revision = revision + 1, next_id = max(next_id, ?1), boot_id = iif(?2 = '', boot_id, ?2)"},
         {&remove, "DELETE FROM workload WHERE id = ?"},
         {&free_names, "UPDATE workload SET uuid = NULL, given_id = NULL WHERE id = ?"},
         {&put,
          "INSERT INTO workload (id, uuid, given_id, revision, origin, document)"
          " VALUES (?1, nullif(?2, ''), nullif(?3, ''), ?4, ?5, json_patch('{}', ?6))"
          " ON CONFLICT (id) DO UPDATE SET uuid = excluded.uuid, given_id = excluded.given_id,"
          " revision = excluded.revision, origin = excluded.origin, document = json_patch(document, ?6)"},
         {&forget_key, "DELETE FROM idempotency_key WHERE key = ?"},
         {&key, "INSERT INTO idempotency_key (key, request_hash, workload, created_ms) VALUES (?, ?, ?, ?)"}});
  }
};

template <typename ReadRow>
SqlResult<void> each_row(Connection& connection, const std::string& sql, ReadRow read_row) {
  Statement statement = TRY(connection.prepare(sql));
  for (;;) {
    const bool is_row = TRY(statement.next());
    if (!is_row) return {};
    read_row(statement);
  }
}

tl::unexpected<SqlError> invalid(std::string text) { return tl::unexpected(SqlError{kNoRow, std::move(text)}); }

SqlResult<void> read_node(Connection& connection, Records& records) {
  unsigned rows = 0;
  TRY(each_row(connection, "SELECT revision, next_id, boot_id FROM node", [&](const Statement& row) {
    ++rows;
    records.revision = as_u64(row.integer(0));
    records.next_id = as_u64(row.integer(1));
    records.boot_id = row.text(2);
  }));
  if (rows != 1) return invalid(fmt::format("table node has {} rows instead of one", rows));
  return {};
}

SqlResult<void> read_workloads(Connection& connection, std::vector<WorkloadRow>& workloads) {
  return each_row(connection, "SELECT id, uuid, given_id, revision, origin, document FROM workload ORDER BY id",
                  [&](const Statement& row) {
                    workloads.push_back({.id = WorkloadId{as_u64(row.integer(0))},
                                         .uuid = row.text(1),
                                         .given_id = row.text(2),
                                         .revision = as_u64(row.integer(3)),
                                         .origin = row.text(4),
                                         .document = row.text(5)});
                  });
}

SqlResult<void> read_keys(Connection& connection, std::vector<IdempotencyRecord>& keys) {
  return each_row(connection, "SELECT key, request_hash, workload, created_ms FROM idempotency_key ORDER BY 4, 1",
                  [&](const Statement& row) {
                    keys.push_back({.key = row.text(0),
                                    .request_hash = row.text(1),
                                    .workload = WorkloadId{as_u64(row.integer(2))},
                                    .created = Time(std::chrono::milliseconds(row.integer(3)))});
                  });
}

SqlResult<void> read_documents(Connection& connection, const std::string& table, std::vector<Document>& documents) {
  return each_row(connection, fmt::format("SELECT kind, key, document FROM {} ORDER BY kind, key", table),
                  [&](const Statement& row) {
                    documents.push_back({.id = {row.text(0), row.text(1)}, .json = row.text(2)});
                  });
}

bool has_valid_id(const WorkloadRow& workload, uint64_t next_id) {
  return workload.id.value >= 1 && workload.id.value < next_id;
}

SqlResult<Records> read_all(Connection& connection) {
  Records records;
  TRY(read_node(connection, records));
  TRY(read_workloads(connection, records.workloads));
  TRY(read_keys(connection, records.keys));
  TRY(read_documents(connection, "baseline", records.baselines));
  TRY(read_documents(connection, kOperations, records.operations));
  for (const WorkloadRow& workload : records.workloads) {
    if (has_valid_id(workload, records.next_id)) continue;
    return invalid(fmt::format("workload {} is above the next id", workload.id.value));
  }
  return records;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string directory, UniqueFd lock)
      : directory_(std::move(directory)), path_(directory_ + "/nrd.db"), lock_(std::move(lock)) {}

  // The first opening. Start even if the checkpoint fails (a full disk): the WAL is read all the same.
  Result<void> start() {
    TRY(open());
    fold_log();
    Records records;
    if (read_node(connection_, records)) revision_ = records.revision;
    return {};  // load() reports what cannot be read
  }

  Result<Records> load() override;
  CommitOutcome commit(const Change& change) override;

  Result<uint64_t> reopen() override;

 private:
  Result<void> open();
  SqlResult<void> write_all(const Change& change);
  SqlResult<void> write_workloads(const Change& change);
  SqlResult<void> write_keys(const Change& change);
  void fold_log();

  const std::string directory_;
  const std::string path_;
  const UniqueFd lock_;
  Connection connection_;
  Statements statements_;  // finalized before the connection closes
  bool usable_ = false;
  uint64_t revision_ = 0;  // of the last state known for certain
  unsigned commits_since_checkpoint_ = 0;
};

Result<void> SqliteStore::open() {
  connection_ = TRY(open_database(path_));
  if (const SqlResult<void> prepared = statements_.prepare(connection_); !prepared) {
    return fail(ErrorCode::Store, path_ + " does not have nrd's tables; restore a backup", prepared.error().text);
  }
  usable_ = true;
  return {};
}

// After a failed sync, data that can be read may exist in the page cache only: the kernel reports such an error once
// and marks the pages clean, so a second sync of the same WAL succeeds. So trust the answer only after a checkpoint has
// written the WAL into the database and synced it; sync the directory too, or a power cut could restore the WAL that
// closing the file has removed, with the undecided transaction in it.
Result<uint64_t> SqliteStore::reopen() {
  usable_ = false;
  statements_ = {};
  connection_.close();
  TRY(open());
  usable_ = false;
  if (const SqlResult<void> synced = connection_.checkpoint(); !synced) {
    return fail(ErrorCode::Store, path_ + " cannot be synced", synced.error().text);
  }
  TRY(sync_directory(directory_));
  const Records records = TRY(load());
  if (records.revision != revision_ && records.revision != revision_ + 1) {
    return fail(ErrorCode::Store, path_ + " was replaced by another file; restart nrd to use it",
                fmt::format("revision {} after {}", records.revision, revision_));
  }
  revision_ = records.revision;
  usable_ = true;
  return revision_;
}

Result<Records> SqliteStore::load() {
  return read_all(connection_).map_error([this](const SqlError& error) {
    return fail(ErrorCode::Store, path_ + " cannot be read or contains invalid data; restore a backup", error.text)
        .value();
  });
}

SqlResult<void> SqliteStore::write_workloads(const Change& change) {
  for (const WorkloadId id : change.removed) TRY(statements_.remove.bind(1, as_i64(id.value)).run());
  // Uuids may move between workloads in one transaction.
  for (const WorkloadRow& workload : change.put) {
    if (change.put.size() == 1) break;
    TRY(statements_.free_names.bind(1, as_i64(workload.id.value)).run());
  }
  for (const WorkloadRow& workload : change.put) {
    Statement& put = statements_.put.bind(1, as_i64(workload.id.value)).bind(2, workload.uuid);
    put.bind(3, workload.given_id).bind(4, as_i64(workload.revision)).bind(5, workload.origin);
    TRY(put.bind(6, workload.document).run());
  }
  return {};
}

SqlResult<void> SqliteStore::write_keys(const Change& change) {
  for (const std::string& key : change.forgotten_keys) TRY(statements_.forget_key.bind(1, key).run());
  for (const auto& [key, request_hash, workload, created] : change.keys) {
    Statement& add = statements_.key.bind(1, key).bind(2, request_hash).bind(3, as_i64(workload.value));
    TRY(add.bind(4, created.time_since_epoch().count()).run());
  }
  return {};
}

// Everything before COMMIT.
SqlResult<void> SqliteStore::write_all(const Change& change) {
  TRY(statements_.begin.run());
  TRY(statements_.node.bind(1, as_i64(change.next_id)).bind(2, change.new_boot_id).run());
  if (connection_.changes() != 1) return invalid("table node has no row");
  if (!change.new_boot_id.empty()) TRY(statements_.baselines.clear.run());
  TRY(statements_.baselines.write(change.baselines));
  TRY(write_workloads(change));
  TRY(write_keys(change));
  return statements_.operations.write(change.operations);
}

CommitOutcome SqliteStore::commit(const Change& change) {
  if (!usable_) return {Committed::NotDone, "the store must be reopened first"};
  for (const WorkloadRow& workload : change.put) {
    if (has_valid_id(workload, change.next_id)) continue;
    return {Committed::NotDone, fmt::format("workload {} is invalid and was not stored", workload.id.value)};
  }
  // Between commits, so that its failure cannot be mistaken for that of a commit.
  if (commits_since_checkpoint_ >= kCheckpointEvery) fold_log();
  SqlResult<void> done = write_all(change);
  if (done) {
    done = statements_.commit.run();
    if (done) {
      ++commits_since_checkpoint_;
      ++revision_;
      return {Committed::Done, {}};
    }
    // Only COMMIT writes a commit frame, so anything that failed before it is not done. sqlite.cc says which errors of
    // COMMIT come before that frame is complete; after all others the next opening decides.
    if (!is_certainly_not_committed(done.error())) {
      usable_ = false;
      return {Committed::Unknown, done.error().text};
    }
  }
  if (connection_.in_transaction() && !statements_.rollback.run()) usable_ = false;
  return {Committed::NotDone, done.error().text};
}

// If it fails, only the WAL grows.
void SqliteStore::fold_log() {
  commits_since_checkpoint_ = 0;
  const SqlResult<void> folded = connection_.checkpoint();
  if (!folded) {
    log::warning("CHECKPOINT_FAILED", "WAL checkpoint failed; will retry", {{"DETAIL", folded.error().text}});
  }
}

// The state directory without symbolic links: SQLite refuses one in any component of a path, and /var may be one.
Result<std::string> resolved(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0) {
    // The directory itself must survive a power cut, like its content.
    TRY(sync_directory(directory + "/.."));
  } else if (errno != EEXIST) {
    return fail(ErrorCode::Store, errno_text(directory + " cannot be created"));
  }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(directory, error);
  if (error) return fail(ErrorCode::Store, fmt::format("{} cannot be used: {}", directory, error.message()));
  return path.string();
}

Result<UniqueFd> lock_directory(const std::string& directory) {
  const std::string path = directory + "/nrd.lock";
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return fail(ErrorCode::Store, errno_text(path + " cannot be opened"));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return fail(ErrorCode::Busy, fmt::format("another nrd uses {}; stop it first", directory));
  return fail(ErrorCode::Store, errno_text(path + " cannot be locked"));
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& name) {
  const std::string directory = TRY(resolved(name));
  UniqueFd lock = TRY(lock_directory(directory));
  // SQLite would create the file with the umask's mode; create it first, for root only.
  const std::string path = directory + "/nrd.db";
  if (!UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)).valid()) {
    return fail(ErrorCode::Store, errno_text(path + " cannot be opened"));
  }
  auto store = std::make_unique<SqliteStore>(directory, std::move(lock));
  TRY(store->start());
  return store;
}

}  // namespace nrd::store
