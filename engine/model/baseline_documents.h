// Baselines as the store keeps them: a row each, so that a claim stays a small commit on a node with 1,024 CPUs.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "store/records.h"

namespace nrd {

// ErrorCode::Store if a document does not fit. Kinds that this version does not know are skipped and stay stored.
Result<Baselines> baselines_of(const std::vector<store::Document>& documents);
// What leads from the stored `before` to `after`.
store::DocumentChange changes_between(const Baselines& before, const Baselines& after);

}  // namespace nrd
