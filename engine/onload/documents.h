// What is stored of Onload, as the store keeps it: a JSON document for each generation, operation, allocation and so
// on.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/onload/stored.h"
#include "store/records.h"

namespace nrd::onload {

store::DocumentChange to_documents(const Change& change);
// ErrorCode::Store if a document does not fit. Kinds that this version does not know are skipped and stay stored.
Result<Stored> from_documents(const std::vector<store::Document>& documents);

}  // namespace nrd::onload
