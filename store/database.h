// Opens nrd.db: checks that it belongs to nrd, is intact and has a known version, then creates or migrates it. See
// store.h for what is refused. Writes nothing before all checks have passed.
#pragma once

#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace nrd::store {

constexpr int kSchemaVersion = 15;

// An open connection in WAL mode with synchronous=FULL and the newest schema.
Result<Connection> open_database(const std::string& path);

// Runs the migrations after `version`, all or none of them.
Result<void> migrate(Connection& connection, int version);

}  // namespace nrd::store
