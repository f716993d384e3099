// Applies the settings of single interfaces outside of operations: on request and at nrd's start.
#pragma once

#include <string>

#include "engine/onload/host.h"
#include "engine/onload/status.h"
#include "engine/onload/stored.h"

namespace nrd::onload {

// Writes to the node, then stores, so a success means both. While Onload is not loaded, it only stores. `status` must
// be current; its specs are updated. Conflict: the module keeps the interface until it is reloaded; the request is
// stored anyway.
Result<void> set_interface(Host& node, Status& status, const CommitFn& commit, const Interface& interface,
                           InterfaceSwitch what, SwitchState to);

// Applies all stored settings that differ; logs those that fail.
void set_interfaces(Host& node, const Status& status);

}  // namespace nrd::onload
