// nrdctl tls init: the certificates that nrd and its first clients need, and what to do with them.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace nrd::cli {

struct TlsInit {
  std::string directory = "/etc/nrd/tls";
  std::vector<std::string> hosts;  // by which clients reach the node, beside those it always has
  int days = 3650;
};

// Makes ca, server, admin and user, a .crt and a .key of each, and prints how to go on. Overwrites nothing.
int init_tls(const TlsInit& wanted);

}  // namespace nrd::cli
