// nrdctl tls init: creates the certificates for nrd and its first clients and prints how to use them.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace nrd::cli {

struct TlsInit {
  std::string directory = "/etc/nrd/tls";
  std::vector<std::string> hosts;  // additional names of the node
  int days = 3650;
};

// Creates .crt and .key files for ca, server, admin and user, and prints the next steps. Overwrites nothing.
OrStop<> init_tls(const TlsInit& wanted);

}  // namespace nrd::cli
