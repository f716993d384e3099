// Sets what is wanted of single interfaces, outside of a journey: when somebody asks for it, and at nrd's start.
#pragma once

#include <functional>
#include <string>

#include "engine/onload/node.h"
#include "engine/onload/view.h"
#include "store/onload_records.h"

namespace nrd::onload {

// Writes, then stores: what is answered is on the node and in the store. While Onload is not loaded it is stored alone.
// `view` must be as of now; its wishes are then the new ones. Conflict without loss: the module keeps an interface
// until it is loaded anew, and what was asked for is stored.
Result<void> set_interface(Node& node, View& view, const std::function<Result<void>(store::OnloadChange)>& ledger,
                           const Interface& interface, InterfaceSwitch what, Turned to);

// All that is wanted and is not so; what cannot be set is logged.
void set_interfaces(Node& node, const View& view);

}  // namespace nrd::onload
