// Converts rows to records. The schema's CHECKs hold for what nrd wrote; this checks any file: a row that does not fit
// our types, belongs to no workload or is inconsistent is an error, never a guess.
#pragma once

#include "base/result.h"
#include "store/records.h"
#include "store/sqlite.h"

namespace nrd::store {

// The validity rule for workloads, also checked before a commit, so that every stored workload can be loaded.
bool makes_sense(const WorkloadRecord& workload, uint64_t next_id);

// ErrorCode::Store with the reason in `detail`.
Result<Records> read_records(Connection& connection, const std::string& path);

}  // namespace nrd::store
