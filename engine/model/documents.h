// What the store keeps: a workload is a row with a JSON document, whose members workload_fields.h lists; baselines have
// a document each, so that a claim stays a small commit on a node with 1,024 CPUs.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/model/fwd.h"
#include "store/records.h"

namespace nrd {

store::WorkloadRow to_row(const Workload& workload);
// ErrorCode::Store with the JSON pointer in `detail` if the document does not fit or contradicts itself.
Result<Workload> from_row(const store::WorkloadRow& row);

// ErrorCode::Store if a document does not fit. Kinds that this version does not know are skipped and stay stored.
Result<Baselines> baselines_of(const std::vector<store::Document>& documents);
// What leads from the stored `before` to `after`.
store::DocumentChange changes_between(const Baselines& before, const Baselines& after);

}  // namespace nrd
