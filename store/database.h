// Opening nrd.db: is it ours, is it whole, is it of our version; and making or migrating it. See store.h for what is
// refused. Nothing is written before all questions are answered.
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
