// Sets what is wanted of single interfaces, outside of a run: when somebody asks for it, and at nrd's start.
#pragma once

#include <functional>
#include <string>

#include "engine/onload/host.h"
#include "engine/onload/status.h"
#include "store/onload/records.h"

namespace nrd::onload {

// Writes, then stores: what is answered is on the node and in the store. While Onload is not loaded it is stored alone.
// `status` must be as of now; its specs are then the new ones. Conflict without loss: the module keeps an interface
// until it is loaded anew, and what was asked for is stored.
Result<void> set_interface(Host& node, Status& status, const std::function<Result<void>(store::OnloadChange)>& commit,
                           const Interface& interface, InterfaceSwitch what, Turned to);

// All that is wanted and is not so; what cannot be set is logged.
void set_interfaces(Host& node, const Status& status);

}  // namespace nrd::onload
