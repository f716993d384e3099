// Opens nrd.db: checks that it belongs to nrd, is intact and has a known version, then creates or migrates it. See
// store.h for what is refused. Writes nothing before all checks have passed.
#pragma once

#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace nrd::store {

constexpr int kFirstSchema = 16;  // of the first release; earlier ones are refused
constexpr int kSchemaVersion = 17;

// An open connection in WAL mode with synchronous=FULL and the newest schema.
Result<Connection> open_database(const std::string& path);

}  // namespace nrd::store
