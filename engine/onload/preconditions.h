// Preconditions of Onload requests. Pure functions of the status; each returns its own error.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/onload/status.h"

namespace nrd::onload {

// Conflict with the operation's number.
Failure busy(const Operation& operation);

Result<void> check_idle(const Status& status);
Result<void> check_thawed(const Status& status);
// Both: the node may be changed now.
Result<void> check_changeable(const Status& status);
// `if_match`: the last generation the client knows; nullopt: any.
Result<void> check_match(const Status& status, std::optional<uint64_t> if_match);
// `most`: the most forceful policy allowed on this node.
Result<void> check_policy(UsersPolicy asked, UsersPolicy most);
// The error for users that the policy does not allow to end.
Error in_the_way(const InUse& use);
// The effective generation, if it loads Onload; Conflict otherwise.
Result<Generation> loaded_generation(const Status& status);
// Conflict if modules must be reloaded and the patch does not allow it.
Result<void> check_reload(const SpecPatch& patch, const Target& target, const ObservedState& observed);
// Whether the loaded modules would restart a stopped control plane server.
Result<void> check_spawning(const Target& target, const ObservedState& observed);
// Whether no stack depends on the control plane server or keeps the module from starting another.
Result<void> check_unserved(const std::vector<Stack>& stacks);
// Whether the operation can still be rolled back; `plan` is its own.
Result<void> check_cancellable(const Operation& operation, bool can_roll_back);

}  // namespace nrd::onload
