// nrdctl onload interfaces: lists the network interfaces and sets acceleration and AF_XDP registration.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"

namespace nrd::cli {

// Each is empty, or an interface and "on" or "off".
struct InterfaceArgs {
  std::vector<std::string> accelerate;
  std::vector<std::string> afxdp;
};

// Applies the given settings, then lists all interfaces.
Outcome<> onload_interfaces(const Client& client, Output output, const InterfaceArgs& args);

}  // namespace nrd::cli
