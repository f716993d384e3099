// From rows to records. The schema's CHECKs hold for what nrd wrote; this holds for whatever is in the file: a row that
// does not fit our types, belongs to no workload or makes no sense is an error, never a guess.
#pragma once

#include "base/result.h"
#include "store/records.h"
#include "store/sqlite.h"

namespace nrd::store {

// The one rule for workloads, asked before a commit too, so that nothing is stored that could not be loaded.
bool makes_sense(const WorkloadRecord& workload, uint64_t next_id);

// ErrorCode::Store with the reason in `detail`.
Result<Records> read_records(Connection& connection, const std::string& path);

}  // namespace nrd::store
