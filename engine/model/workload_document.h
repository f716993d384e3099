// A workload as the store keeps it: a row with a JSON document, whose members workload_fields.h lists.
#pragma once

#include "base/result.h"
#include "engine/model/workload.h"
#include "store/records.h"

namespace nrd {

store::WorkloadRow to_row(const Workload& workload);
// ErrorCode::Store with the JSON pointer in `detail` if the document does not fit or contradicts itself.
Result<Workload> from_row(const store::WorkloadRow& row);

}  // namespace nrd
