#include "store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_text.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "store/columns.h"
#include "store/database.h"
#include "store/onload/rows.h"
#include "store/read_records.h"

namespace nrd::store {
namespace {

// Number of commits between checkpoints, which run outside any commit (at most some 4 MiB of WAL).
constexpr unsigned kCheckpointEvery = 256;

constexpr int kNoRow = 12;  // SQLITE_NOTFOUND

Result<void> sync_directory(const std::string& path) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid() && ::fsync(directory.get()) == 0) return {};
  const std::string reason = errno_text();
  return fail(ErrorCode::Store, path + " cannot be synced: " + reason, reason);
}

// The prepared statements of commit().
struct Statements {
  Statement begin, commit, rollback, node, drop_ways, drop_cpus, ways_baseline, cpu_baseline, remove, put, core_id,
      ways, drop_frequencies, drop_frequency, frequency_baseline, frequency_request, frequency, owner, policy, given_id,
      revision, forget_key, key, onload, onload_profile, onload_variable, task, task_cpus, mba, bandwidth, drop_limits,
      limit, drop_claims, drop_claim, claim, drop_groups, drop_group, group, code_ways, l2, l2_ways, l2_ways_baseline,
      drop_l2_ways, frequency_of_others, drop_frequency_of_others, is_stored;

  SqlError prepare(Connection& connection) {
    const std::pair<Statement*, const char*> all[] = {
        {&begin, "BEGIN IMMEDIATE"},
        {&commit, "COMMIT"},
        {&rollback, "ROLLBACK"},
        {&node,
         "UPDATE node SET revision = revision + 1, next_id = max(next_id, ?1), boot_id = iif(?2 = '', boot_id, ?2)"},
        {&drop_ways, "DELETE FROM ways_baseline"},
        {&drop_cpus, "DELETE FROM cpu_baseline"},
        {&ways_baseline, "INSERT INTO ways_baseline (clos, cache, ways) VALUES (?, ?, ?)"},
        {&cpu_baseline, "INSERT INTO cpu_baseline (cpu, clos) VALUES (?, ?)"},
        {&is_stored, "SELECT 1 FROM workload WHERE id = ?"},
        {&remove, "DELETE FROM workload WHERE id = ?"},
        {&put,
         "INSERT INTO workload (id, uuid, origin, max_ways, min_ways, pool, clos, created_ms, updated_ms)"
         " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&core_id, "INSERT INTO workload_core_ids (workload, position, item) VALUES (?, ?, ?)"},
        {&ways, "INSERT INTO workload_ways (workload, cache, ways) VALUES (?, ?, ?)"},
        {&code_ways, "INSERT INTO workload_code_ways (workload, ways) VALUES (?, ?)"},
        {&l2, "INSERT INTO workload_l2 (workload, ways, code_ways) VALUES (?, ?, ?)"},
        {&l2_ways, "INSERT INTO workload_l2_ways (workload, cache, ways) VALUES (?, ?, ?)"},
        {&l2_ways_baseline, "INSERT INTO l2_ways_baseline (clos, cache, ways) VALUES (?, ?, ?)"},
        {&drop_l2_ways, "DELETE FROM l2_ways_baseline"},
        {&drop_frequencies, "DELETE FROM frequency_baseline"},
        {&drop_frequency, "DELETE FROM frequency_baseline WHERE cpu = ?"},
        {&frequency_baseline,
         "INSERT INTO frequency_baseline (cpu, min_khz, max_khz, governor, epp) VALUES (?, ?, ?, ?, ?)"},
        {&frequency_of_others,
         "INSERT OR REPLACE INTO frequency_of_others (cpu, min_khz, max_khz, governor, epp) VALUES (?, ?, ?, ?, ?)"},
        {&drop_frequency_of_others, "DELETE FROM frequency_of_others WHERE cpu = ?"},
        {&frequency_request,
         "INSERT INTO workload_frequency_request (workload, unit, min, max, governor, epp, turbo, allows_shared_domain,"
         " threshold, is_monitored) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&policy, "INSERT INTO workload_policy (workload, name) VALUES (?, ?)"},
        {&frequency,
         "INSERT INTO workload_frequency (cpu, min_khz, max_khz, governor, epp, workload) VALUES (?, ?, ?, ?, ?, ?)"},
        {&given_id, "INSERT INTO workload_given_id (workload, id) VALUES (?, ?)"},
        {&revision, "INSERT INTO workload_revision (workload, revision) VALUES (?, ?)"},
        {&forget_key, "DELETE FROM idempotency_key WHERE key = ?"},
        {&key, "INSERT INTO idempotency_key (key, fingerprint, workload, created_ms) VALUES (?, ?, ?, ?)"},
        {&onload, "INSERT INTO workload_onload (workload, profiles_win, generation, version) VALUES (?, ?, ?, ?)"},
        {&onload_profile, "INSERT INTO workload_onload_profile (workload, position, name) VALUES (?, ?, ?)"},
        {&onload_variable, "INSERT INTO workload_onload_variable (workload, name, value) VALUES (?, ?, ?)"},
        {&mba, "INSERT INTO workload_bandwidth_request (workload, unit, value) VALUES (?, ?, ?)"},
        {&bandwidth, "INSERT INTO workload_bandwidth (cache, unit, value, workload) VALUES (?, ?, ?, ?)"},
        {&drop_limits, "DELETE FROM bandwidth_baseline"},
        {&limit, "INSERT OR REPLACE INTO bandwidth_baseline (cache, unit, value, clos) VALUES (?, ?, ?, ?)"},
        {&task, "INSERT INTO workload_task (task, process, start, boot_id, workload) VALUES (?, ?, ?, ?, ?)"},
        {&task_cpus, "INSERT INTO workload_task_cpus (workload, cpus) VALUES (?, ?)"},
        {&drop_claims, "DELETE FROM task_claim"},
        {&drop_groups, "DELETE FROM group_claim"},
        {&drop_group, "DELETE FROM group_claim WHERE clos = ?"},
        {&group, "INSERT OR IGNORE INTO group_claim (clos) VALUES (?)"},
        {&drop_claim, "DELETE FROM task_claim WHERE task = ? AND start = ? AND clos = ?"},
        {&claim, "INSERT INTO task_claim (task, process, start, boot_id, clos) VALUES (?, ?, ?, ?, ?)"},
        {&owner, "INSERT INTO workload_owner (workload, pid, start, boot_id) VALUES (?, ?, ?, ?)"}};
    for (const auto& [statement, sql] : all) {
      if (SqlError error = connection.prepare(sql, *statement); !error.ok()) return error;
    }
    return {};
  }
};

Statement& bind(Statement& statement, const FrequencyRecord& frequency) {
  return statement.bind(1, frequency.cpu.value)
      .bind(2, frequency.min.value)
      .bind(3, frequency.max.value)
      .bind(4, frequency.governor)
      .bind(5, frequency.epp);
}

Statement& bind(Statement& statement, const Task& task) {
  return statement.bind(1, task.id).bind(2, task.process).bind(3, as_i64(task.start)).bind(4, task.boot_id);
}

Statement& bind(Statement& statement, const BandwidthRecord& limit) {
  return statement.bind(1, limit.cache.value).bind(2, limit.unit).bind(3, limit.value);
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string directory, UniqueFd lock)
      : directory_(std::move(directory)), path_(directory_ + "/nrd.db"), lock_(std::move(lock)) {}

  // The first opening. Start even if the checkpoint fails (a full disk): the WAL is read all the same.
  Result<void> start() {
    TRY(open());
    fold_log();
    if (const Result<Records> records = read_records(connection_, path_)) revision_ = records->revision;
    return {};  // load() reports what cannot be read
  }

  Result<Records> load() override;
  CommitOutcome commit(const Change& change) override;

  Result<uint64_t> reopen() override;

 private:
  Result<void> open();
  SqlError write_all(const Change& change);
  SqlError write_baselines(const Change& change);
  SqlError write_workload(const WorkloadRecord& workload);
  SqlError remove_stored(WorkloadId id);
  SqlError write_identity(const WorkloadRecord& workload);
  SqlError write_bandwidth(const WorkloadRecord& workload);
  SqlError write_tasks(const WorkloadRecord& workload);
  SqlError write_keys(const Change& change);
  SqlError write_request(int64_t workload, const FrequencyRequestRecord& request);
  SqlError write_onload(int64_t workload, const OnloadUse& use);
  void fold_log();

  const std::string directory_;
  const std::string path_;
  const UniqueFd lock_;
  Connection connection_;
  Statements statements_;  // these two finalized before the connection closes
  OnloadStatements onload_;
  bool usable_ = false;
  uint64_t revision_ = 0;  // of the last state known for certain
  unsigned commits_since_checkpoint_ = 0;
};

Result<void> SqliteStore::open() {
  connection_ = TRY(open_database(path_));
  SqlError error = statements_.prepare(connection_);
  if (error.ok()) error = onload_.prepare(connection_);
  if (!error.ok()) {
    return fail(ErrorCode::Store, path_ + " does not have nrd's tables; restore a backup", error.text);
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
  onload_ = {};
  connection_.close();
  TRY(open());
  usable_ = false;
  if (const SqlError error = connection_.checkpoint(); !error.ok()) {
    return fail(ErrorCode::Store, path_ + " cannot be synced", error.text);
  }
  TRY(sync_directory(directory_));
  const Records records = TRY(read_records(connection_, path_));
  if (records.revision != revision_ && records.revision != revision_ + 1) {
    return fail(ErrorCode::Store, path_ + " was replaced by another file; restart nrd to use it",
                "revision " + std::to_string(records.revision) + " after " + std::to_string(revision_));
  }
  revision_ = records.revision;
  usable_ = true;
  return revision_;
}

Result<Records> SqliteStore::load() { return read_records(connection_, path_); }

SqlError SqliteStore::write_baselines(const Change& change) {
  if (!change.new_boot_id.empty()) {
    for (Statement* drop :
         {&statements_.drop_ways, &statements_.drop_cpus, &statements_.drop_frequencies, &statements_.drop_limits,
          &statements_.drop_claims, &statements_.drop_l2_ways, &statements_.drop_groups}) {
      if (SqlError error = drop->run(); !error.ok()) return error;
    }
  }
  for (const auto& [clos, cache, ways] : change.ways_baselines) {
    Statement& put = cache.is_secondary_l2 ? statements_.l2_ways_baseline : statements_.ways_baseline;
    SqlError error = put.bind(1, clos.value).bind(2, cache.value).bind(3, ways.bits()).run();
    if (!error.ok()) return error;
  }
  for (const auto& [cpu, clos] : change.cpu_baselines) {
    SqlError error = statements_.cpu_baseline.bind(1, cpu.value).bind(2, clos.value).run();
    if (!error.ok()) return error;
  }
  for (const CpuId cpu : change.dropped_frequency_baselines) {
    SqlError error = statements_.drop_frequency.bind(1, cpu.value).run();
    if (!error.ok()) return error;
  }
  for (const FrequencyRecord& frequency : change.frequency_baselines) {
    SqlError error = bind(statements_.frequency_baseline, frequency).run();
    if (!error.ok()) return error;
  }
  for (const FrequencyRecord& frequency : change.frequencies_of_others) {
    SqlError error = bind(statements_.frequency_of_others, frequency).run();
    if (!error.ok()) return error;
  }
  for (const CpuId cpu : change.dropped_frequencies_of_others) {
    SqlError error = statements_.drop_frequency_of_others.bind(1, cpu.value).run();
    if (!error.ok()) return error;
  }
  for (const auto& [clos, limit] : change.bandwidth_baselines) {
    SqlError error = bind(statements_.limit, limit).bind(4, clos.value).run();
    if (!error.ok()) return error;
  }
  for (const auto& [task, clos] : change.dropped_task_claims) {
    Statement& drop = statements_.drop_claim.bind(1, task.id).bind(2, as_i64(task.start)).bind(3, clos.value);
    if (SqlError error = drop.run(); !error.ok()) return error;
  }
  for (const auto& [task, clos] : change.task_claims) {
    SqlError error = bind(statements_.claim, task).bind(5, clos.value).run();
    if (!error.ok()) return error;
  }
  for (const ClosId clos : change.dropped_group_claims) {
    if (SqlError error = statements_.drop_group.bind(1, clos.value).run(); !error.ok()) return error;
  }
  for (const ClosId clos : change.group_claims) {
    if (SqlError error = statements_.group.bind(1, clos.value).run(); !error.ok()) return error;
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
  if (SqlError error = write_identity(workload); !error.ok()) return error;
  for (size_t i = 0; i < workload.core_ids.size(); ++i) {
    Statement& core_id = statements_.core_id.bind(1, id).bind(2, static_cast<int64_t>(i));
    if (SqlError error = core_id.bind(3, workload.core_ids[i]).run(); !error.ok()) return error;
  }
  if (workload.code_ways > 0) {
    SqlError error = statements_.code_ways.bind(1, id).bind(2, workload.code_ways).run();
    if (!error.ok()) return error;
  }
  if (workload.l2_ways > 0) {
    SqlError error = statements_.l2.bind(1, id).bind(2, workload.l2_ways).bind(3, workload.l2_code_ways).run();
    if (!error.ok()) return error;
  }
  for (const auto& [cache, ways] : workload.ways) {
    Statement& granted = cache.is_secondary_l2 ? statements_.l2_ways : statements_.ways;
    SqlError error = granted.bind(1, id).bind(2, cache.value).bind(3, ways.bits()).run();
    if (!error.ok()) return error;
  }
  if (!workload.policy.empty()) {
    SqlError error = statements_.policy.bind(1, id).bind(2, workload.policy).run();
    if (!error.ok()) return error;
  }
  if (workload.frequency) {
    SqlError error = write_request(id, *workload.frequency);
    if (!error.ok()) return error;
  }
  for (const FrequencyRecord& frequency : workload.frequencies) {
    SqlError error = bind(statements_.frequency, frequency).bind(6, id).run();
    if (!error.ok()) return error;
  }
  if (SqlError error = write_bandwidth(workload); !error.ok()) return error;
  if (SqlError error = write_tasks(workload); !error.ok()) return error;
  if (workload.onload) {
    if (SqlError error = write_onload(id, *workload.onload); !error.ok()) return error;
  }
  if (!workload.owner) return {};
  Statement& owner = statements_.owner.bind(1, id).bind(2, workload.owner->pid);
  return owner.bind(3, static_cast<int64_t>(workload.owner->start)).bind(4, workload.owner->boot_id).run();
}

SqlError SqliteStore::write_identity(const WorkloadRecord& workload) {
  const int64_t id = as_i64(workload.id.value);
  if (!workload.given_id.empty()) {
    if (SqlError error = statements_.given_id.bind(1, id).bind(2, workload.given_id).run(); !error.ok()) return error;
  }
  if (workload.revision == 1) return {};
  return statements_.revision.bind(1, id).bind(2, as_i64(workload.revision)).run();
}

SqlError SqliteStore::write_bandwidth(const WorkloadRecord& workload) {
  const int64_t id = as_i64(workload.id.value);
  if (!workload.mba_unit.empty()) {
    Statement& request = statements_.mba.bind(1, id).bind(2, workload.mba_unit).bind(3, workload.mba_value);
    if (SqlError error = request.run(); !error.ok()) return error;
  }
  for (const BandwidthRecord& limit : workload.bandwidth) {
    SqlError error = bind(statements_.bandwidth, limit).bind(4, id).run();
    if (!error.ok()) return error;
  }
  return {};
}

SqlError SqliteStore::write_tasks(const WorkloadRecord& workload) {
  if (workload.tasks.empty()) return {};
  for (const Task& task : workload.tasks) {
    SqlError error = bind(statements_.task, task).bind(5, as_i64(workload.id.value)).run();
    if (!error.ok()) return error;
  }
  return statements_.task_cpus.bind(1, as_i64(workload.id.value)).bind(2, workload.task_cpus).run();
}

SqlError SqliteStore::write_keys(const Change& change) {
  for (const std::string& key : change.forgotten_keys) {
    if (SqlError error = statements_.forget_key.bind(1, key).run(); !error.ok()) return error;
  }
  for (const auto& [key, request_hash, workload, created] : change.keys) {
    Statement& add = statements_.key.bind(1, key).bind(2, request_hash).bind(3, as_i64(workload.value));
    if (SqlError error = add.bind(4, to_ms(created)).run(); !error.ok()) return error;
  }
  return {};
}

SqlError SqliteStore::write_onload(int64_t workload, const OnloadUse& use) {
  Statement& onload = statements_.onload.bind(1, workload).bind(2, use.profiles_win ? 1 : 0);
  if (SqlError error = onload.bind(3, as_i64(use.generation)).bind(4, use.version).run(); !error.ok()) return error;
  for (size_t i = 0; i < use.profiles.size(); ++i) {
    Statement& profile = statements_.onload_profile.bind(1, workload).bind(2, static_cast<int64_t>(i));
    if (SqlError error = profile.bind(3, use.profiles[i]).run(); !error.ok()) return error;
  }
  for (const auto& [name, value] : use.env) {
    SqlError error = statements_.onload_variable.bind(1, workload).bind(2, name).bind(3, value).run();
    if (!error.ok()) return error;
  }
  return {};
}

SqlError SqliteStore::write_request(int64_t workload, const FrequencyRequestRecord& request) {
  Statement& put = statements_.frequency_request.bind(1, workload).bind(2, request.unit);
  bind_optional(put, 3, request.min);
  bind_optional(put, 4, request.max);
  put.bind(5, request.governor).bind(6, request.epp);
  put.bind(7, request.turbo ? 1 : 0).bind(8, request.allows_shared_domain ? 1 : 0);
  if (request.threshold) {
    put.bind_real(9, *request.threshold);
  } else {
    put.bind_null(9);
  }
  return put.bind(10, request.is_monitored ? 1 : 0).run();
}

// A new workload has no rows to remove, and SQLite needs a tenth of a commit to find that out: the deletion might
// cascade to 24 tables.
SqlError SqliteStore::remove_stored(WorkloadId id) {
  const int64_t number = as_i64(id.value);
  bool is_there = false;
  for (Statement& stored = statements_.is_stored.bind(1, number); stored.next();) is_there = true;
  if (SqlError error = statements_.is_stored.error(); !error.ok() || !is_there) return error;
  return statements_.remove.bind(1, number).run();
}

SqlError SqliteStore::write_all(const Change& change) {
  Statement& node = statements_.node.bind(1, static_cast<int64_t>(change.next_id)).bind(2, change.new_boot_id);
  SqlError error = node.run();
  if (error.ok() && connection_.changes() != 1) error = {kNoRow, "table node has no row"};
  if (error.ok()) error = write_baselines(change);
  if (!error.ok()) return error;
  for (const WorkloadId id : change.removed) {
    error = statements_.remove.bind(1, static_cast<int64_t>(id.value)).run();
    if (!error.ok()) return error;
  }
  // Uuids may move between workloads in one transaction, so delete the old rows first.
  for (const WorkloadRecord& workload : change.put) {
    error = remove_stored(workload.id);
    if (!error.ok()) return error;
  }
  for (const WorkloadRecord& workload : change.put) {
    error = write_workload(workload);
    if (!error.ok()) return error;
  }
  if (error = write_keys(change); !error.ok()) return error;
  return onload_.write(change.onload);
}

CommitOutcome SqliteStore::commit(const Change& change) {
  if (!usable_) return {Committed::NotDone, "the store must be reopened first"};
  for (const WorkloadRecord& workload : change.put) {
    if (makes_sense(workload, change.next_id)) continue;
    return {Committed::NotDone, "workload " + std::to_string(workload.id.value) + " is invalid and was not stored"};
  }
  // Between commits, so that its failure cannot be mistaken for that of a commit.
  if (commits_since_checkpoint_ >= kCheckpointEvery) fold_log();
  SqlError error = statements_.begin.run();
  if (error.ok()) error = write_all(change);
  if (error.ok()) {
    error = statements_.commit.run();
    if (error.ok()) {
      ++commits_since_checkpoint_;
      ++revision_;
      return {Committed::Done, {}};
    }
    // Only COMMIT writes a commit frame, so anything that failed before it is not done. sqlite.cc says which errors of
    // COMMIT come before that frame is complete; after all others the next opening decides.
    if (!is_certainly_not_committed(error)) {
      usable_ = false;
      return {Committed::Unknown, error.text};
    }
  }
  if (connection_.in_transaction() && !statements_.rollback.run().ok()) usable_ = false;
  return {Committed::NotDone, error.text};
}

// If it fails, only the WAL grows.
void SqliteStore::fold_log() {
  commits_since_checkpoint_ = 0;
  const SqlError error = connection_.checkpoint();
  if (!error.ok()) {
    log::warning("CHECKPOINT_FAILED", "WAL checkpoint failed; will retry", {{"DETAIL", error.text}});
  }
}

// The state directory without symbolic links: SQLite refuses one in any component of a path, and /var may be one.
Result<std::string> resolved(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0) {
    // The directory itself must survive a power cut, like its content.
    TRY(sync_directory(directory + "/.."));
  } else if (errno != EEXIST) {
    return fail(ErrorCode::Store, directory + " cannot be created: " + errno_text());
  }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(directory, error);
  if (error) return fail(ErrorCode::Store, directory + " cannot be used: " + error.message());
  return path.string();
}

Result<UniqueFd> lock_directory(const std::string& directory) {
  const std::string path = directory + "/nrd.lock";
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return fail(ErrorCode::Store, path + " cannot be opened: " + errno_text());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return fail(ErrorCode::Busy, "another nrd uses " + directory + "; stop it first");
  return fail(ErrorCode::Store, path + " cannot be locked: " + errno_text());
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& name) {
  const std::string directory = TRY(resolved(name));
  UniqueFd lock = TRY(lock_directory(directory));
  // SQLite would create the file with the umask's mode; create it first, for root only.
  const std::string path = directory + "/nrd.db";
  if (!UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)).valid()) {
    return fail(ErrorCode::Store, path + " cannot be opened: " + errno_text());
  }
  auto store = std::make_unique<SqliteStore>(directory, std::move(lock));
  TRY(store->start());
  return store;
}

}  // namespace nrd::store
