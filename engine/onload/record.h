// Converts generations and operations to store rows and back.
#pragma once

#include "base/result.h"
#include "engine/onload/spec.h"
#include "store/onload/records.h"

namespace nrd::onload {

store::OnloadGenerationRecord to_record(const Generation& generation);
store::OnloadOperationRecord to_record(const Operation& operation);
store::OnloadInterfaceRecord to_record(const InterfaceSpec& spec);
InterfaceSpec from_record(const store::OnloadInterfaceRecord& row);
// Fails if a row holds a name unknown to this version.
Result<Generation> from_record(const store::OnloadGenerationRecord& row);
Result<Operation> from_record(const store::OnloadOperationRecord& row);

}  // namespace nrd::onload
