// Follows the operation that a change of a workload waits for: memory that moves.
#pragma once

#include "cli/answer.h"
#include "cli/client.h"

namespace nrd::cli {

// `answer` to a change of a workload. If it is 202, waits until memory has moved, shows what moves meanwhile, and gets
// the workload as it is then. Stops if the operation fails.
OrStop<Result<Answer>> after_operation(const Client& client, const Result<Answer>& answer, const Output& output);

}  // namespace nrd::cli
