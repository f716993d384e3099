// nrdctl onload interfaces: the network interfaces as Onload sees them, and the two things that can be set on one.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"

namespace nrd::cli {

// Each empty, or an interface and "on" or "off".
struct InterfaceArgs {
  std::vector<std::string> accelerate;
  std::vector<std::string> afxdp;
};

// Sets what is asked for, and shows all of them.
int onload_interfaces(const Client& client, Output output, const InterfaceArgs& words);

}  // namespace nrd::cli
