#include "store/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <utility>

#include "base/result.h"

namespace nrd::store {
namespace {

SqlResult<void> result_of(sqlite3* connection, int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return {};
  const int extended = connection != nullptr ? sqlite3_extended_errcode(connection) : code;
  const char* text = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  return tl::unexpected(SqlError{extended, fmt::format("{} (SQLite {})", text, extended)});
}

// The low byte is the primary code, the rest gives details (sqlite.org/rescode.html).
int primary(const SqlError& error) { return error.code & 0xff; }

}  // namespace

// COMMIT appends the frames to the log, the commit frame last, then syncs, then updates the index in shared memory.
//   FULL        only a write() says it, and then that frame is not whole; nothing follows the commit frame, because the
//               unix VFS promises powersafe overwrite and so nothing is padded. An ENOSPC at the sync is an
//               IOERR_FSYNC.
//   CONSTRAINT  a deferred one, checked before the first frame.
//   BUSY        no lock, so no frame.
//   all others  IOERR at a write, the sync or the index, NOMEM while the index grows: the commit frame may be in the
//   file.
bool is_certainly_not_committed(const SqlError& error) {
  return primary(error) == SQLITE_FULL || primary(error) == SQLITE_CONSTRAINT || primary(error) == SQLITE_BUSY;
}

bool is_corrupt(const SqlError& error) { return primary(error) == SQLITE_CORRUPT || primary(error) == SQLITE_NOTADB; }

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::bind(int position, int64_t value) {
  note(sqlite3_bind_int64(statement_.get(), position, value));
  return *this;
}

Statement& Statement::bind(int position, const std::string& value) {
  note(sqlite3_bind_text64(statement_.get(), position, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

SqlResult<void> Statement::run() {
  for (bool is_row = true; is_row;) is_row = TRY(next());
  return {};
}

SqlResult<bool> Statement::next() {
  TRY(result_of(nullptr, std::exchange(bind_code_, SQLITE_OK)));
  const int code = sqlite3_step(statement_.get());
  const SqlResult<void> stepped = result_of(sqlite3_db_handle(statement_.get()), code);
  if (code != SQLITE_ROW) sqlite3_reset(statement_.get());
  return stepped.map([code] { return code == SQLITE_ROW; });
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Connection::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

SqlResult<Connection> Connection::open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection;
  connection.connection_.reset(opened);  // also after an error: it must be closed
  TRY(result_of(opened, code));
  sqlite3_extended_result_codes(opened, 1);
  return connection;
}

SqlResult<void> Connection::execute(const std::string& sql) {
  return result_of(connection_.get(), sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

SqlResult<Statement> Connection::prepare(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(connection_.get(), sql.c_str(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  TRY(result_of(connection_.get(), code));
  return Statement(prepared);
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

int64_t Connection::changes() const { return sqlite3_changes64(connection_.get()); }

SqlResult<void> Connection::checkpoint() {
  return result_of(connection_.get(),
                   sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr));
}

void Connection::set_on_close(OnClose what) {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, what == OnClose::LeaveLog ? 1 : 0, nullptr);
}

}  // namespace nrd::store
