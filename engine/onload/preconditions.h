// Whether something about Onload may be begun now. Pure questions about a status; each has its own refusal.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/onload/status.h"

namespace nrd::onload {

// Conflict, with the number of the operation.
Failure busy(const Operation& operation);

Result<void> check_idle(const Status& status);
Result<void> check_thawed(const Status& status);
// `if_match`: the last generation that the client knows; nullopt: whichever.
Result<void> check_match(const Status& status, std::optional<uint64_t> if_match);
// `most`: what this node allows.
Result<void> check_policy(UsersPolicy asked, UsersPolicy most);
// Users that nobody may end.
Error in_the_way(const InUse& use);
// The generation in force, if that one loads Onload; Conflict otherwise.
Result<Generation> loaded_generation(const Status& status);
// Whether a server of the control plane that is stopped would be started again, and by the modules that are loaded.
Result<void> check_spawning(const Target& target, const Seen& seen);
// Whether nobody would be without the control plane server, or keep the module from starting another one.
Result<void> check_unserved(const std::vector<Stack>& stacks);
// Whether the operation can still be turned back; `plan` is its own.
Result<void> check_cancellable(const Operation& operation, bool can_roll_back);

}  // namespace nrd::onload
