// Refusals of the daemon (RFC 9457), in the words of the command line.
//
//   {"detail": "expected a whole number of ways, found \"x\"", "field": "/cache/max", "allowed": "0 to 4294967295", …}
//   --max: expected a whole number of ways, found "x"; allowed: 0 to 4294967295
#pragma once

#include <string>

#include "cli/answer.h"
#include "cli/client.h"

namespace nrd::cli {

// The option of nrdctl for a JSON pointer into a workload; the pointer if there is none.
std::string option_of(const std::string& field);
// The end of a command whose request was refused.
Stop refusal_of(const Answer& answer);

}  // namespace nrd::cli
