// The only use of SQLite: an owned connection and statements on our types. No other file includes sqlite3.h.
//
// Errors are SQLite's extended result codes; store.cc decides what each means for a commit. One thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace nrd::store {

struct SqlError {
  int code = 0;      // extended result code
  std::string text;  // for the journal
};

template <typename T>
using SqlResult = tl::expected<T, SqlError>;

// A COMMIT that failed with this has certainly not reached the disk; after any other error it may have.
bool is_certainly_not_committed(const SqlError& error);
// The file is not a database, or is damaged.
bool is_corrupt(const SqlError& error);

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  Statement& bind(int position, int64_t value);
  Statement& bind(int position, const std::string& value);

  // Executes to the end and resets for the next run.
  SqlResult<void> run();
  // Goes to the next row: true if there is one, false at the end.
  SqlResult<bool> next();
  int64_t integer(int column) const;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_code_ = 0;  // of the first bind() that failed since the last run

  void note(int code) {
    if (bind_code_ == 0) bind_code_ = code;
  }
};

class Connection {
 public:
  // Opens `path`, which must exist. SQLite refuses a symbolic link in any component, so pass a resolved path.
  static SqlResult<Connection> open(const std::string& path);

  // Any number of statements without results.
  SqlResult<void> execute(const std::string& sql);
  SqlResult<Statement> prepare(const std::string& sql);
  bool in_transaction() const;
  // Rows changed by the last statement.
  int64_t changes() const;

  // Checkpoint: syncs the WAL, copies it into the database, syncs that and truncates the WAL. SQLITE_BUSY while another
  // process reads.
  SqlResult<void> checkpoint();
  // Whether closing skips the checkpoint. SQLite's default is to make one, which writes to the database.
  enum class OnClose { FoldLog, LeaveLog };
  void set_on_close(OnClose what);

  void close() { connection_.reset(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace nrd::store
