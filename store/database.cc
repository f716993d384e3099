#include "store/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "store/sql_text.h"

namespace nrd::store {
namespace {

// "nrd1", so that file(1) and nrd recognise the file (sqlite.org/pragma.html#pragma_application_id).
constexpr int64_t kApplicationId = 0x6e726431;

// The database of a full node has some 100 KiB; checking it at start takes milliseconds.
constexpr const char* kQuickCheck = "PRAGMA quick_check(1)";

Failure refused(const std::string& path, const std::string& what, const std::string& todo, const SqlError& error) {
  return fail(ErrorCode::Store, path + " " + what + "; " + todo, error.text);
}

Failure corrupt(const std::string& path, const SqlError& error) {
  return refused(path, "is corrupt or not a database of nrd",
                 "move it and its -wal and -shm away, then restore a backup, or start with no workloads", error);
}

Failure unreadable(const std::string& path, const SqlError& error) {
  if (is_corrupt(error)) return corrupt(path, error);
  return refused(path, "cannot be opened", "see the journal for the reason", error);
}

// The value of `result`, or an error that says that `path` is unreadable.
template <typename T>
Result<T> of(const std::string& path, SqlResult<T> result) {
  return std::move(result).map_error([&path](const SqlError& error) { return unreadable(path, error).value(); });
}

// The first column of the first row.
Result<std::string> ask(Connection& connection, const std::string& path, const std::string& sql) {
  Statement statement = TRY(of(path, connection.prepare(sql)));
  const bool has_row = TRY(of(path, statement.next()));
  return has_row ? statement.text(0) : std::string();
}

// 0 if there is no such file.
uintmax_t size_of(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// The first bytes of every SQLite file (sqlite.org/fileformat2.html, 1.3). SQLite treats a file shorter than a page as
// an empty database and would overwrite it.
bool is_empty_or_sqlite(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return true;  // gone or not readable: opening it reports why
  char head[kMagic.size()] = {};
  const ssize_t got = ::read(file.get(), head, sizeof head);
  return got == 0 || std::string_view(head, sizeof head) == kMagic;
}

// The version of a valid nrd database that is not newer than this nrd; 0 for an empty one. Cheap checks come first, so
// that a large foreign file is not read completely.
Result<int> version_of(Connection& connection, const std::string& path) {
  const std::string application_id = TRY(ask(connection, path, "PRAGMA application_id"));
  const std::string schema = TRY(ask(connection, path, "PRAGMA user_version"));
  const std::string tables = TRY(ask(connection, path, "SELECT count(*) FROM sqlite_schema"));
  const bool is_new = tables == "0" && application_id == "0" && schema == "0";
  if (!is_new && application_id != std::to_string(kApplicationId)) {
    return refused(path, "is a database of another program", "set state.directory to a directory used only by nrd", {});
  }
  const int version = std::stoi(schema);  // SQLite keeps 32 bits
  if (version > kSchemaVersion) {
    return refused(path, "was written by a newer nrd (schema " + schema + ")",
                   "install that version again, or restore a backup from before it", {});
  }
  if (version >= 1 && version < kFirstSchema) {
    return refused(path, "was written by an nrd from before the first release (schema " + schema + ")",
                   "move it and its -wal and -shm away, reboot to reset the hardware, and create the workloads again",
                   {});
  }
  const std::string verdict = TRY(ask(connection, path, kQuickCheck));
  if (verdict != "ok") return corrupt(path, {.code = 0, .text = verdict});
  if (version < 1 && !is_new) return corrupt(path, {.code = 0, .text = "schema " + schema});
  return version;
}

// Creates the newest schema in an empty database (version 0), or leads an older one to it: all or nothing.
Result<void> migrate(Connection& connection, int version) {
  if (version == kSchemaVersion) return {};
  std::string sql = "BEGIN IMMEDIATE;";
  if (version == 0) {
    sql += kSchema;
  } else {
    for (const char* const* next = kMigrations.begin() + (version - kFirstSchema); next != kMigrations.end(); ++next)
      sql += *next;
  }
  sql += "PRAGMA application_id=" + std::to_string(kApplicationId) +
         ";PRAGMA user_version=" + std::to_string(kSchemaVersion) + ";COMMIT;";
  const SqlResult<void> done = connection.execute(sql);
  if (done) return {};
  if (connection.in_transaction()) connection.execute("ROLLBACK");
  return fail(ErrorCode::Store, "the database schema could not be upgraded; check for free disk space",
              done.error().text);
}

}  // namespace

Result<Connection> open_database(const std::string& path) {
  if (!is_empty_or_sqlite(path)) return corrupt(path, {});
  const bool has_log = size_of(path + "-wal") > 0;
  Connection connection = TRY(of(path, Connection::open(path)));
  // Do not write to a refused database, which a checkpoint of its WAL would do. Without a WAL the default leaves fewer
  // files.
  if (has_log) connection.set_on_close(Connection::OnClose::LeaveLog);
  TRY(of(path, connection.execute("PRAGMA busy_timeout=1000")));
  const int version = TRY(version_of(connection, path));

  const std::string journal_mode = TRY(ask(connection, path, "PRAGMA journal_mode=WAL"));
  if (journal_mode != "wal")
    return refused(path, "does not support WAL mode", "set state.directory to a local disk", {});
  // No checkpoints inside a commit: a failing one would make a commit that is on disk look failed. Other processes may
  // read in the meantime (a backup does), so locking is not exclusive; nrd waits for them at most a second.
  for (const char* pragma : {"PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON", "PRAGMA wal_autocheckpoint=0",
                             "PRAGMA trusted_schema=OFF"}) {
    TRY(of(path, connection.execute(pragma)));
  }
  TRY(migrate(connection, version));
  connection.set_on_close(Connection::OnClose::FoldLog);
  return connection;
}

}  // namespace nrd::store
