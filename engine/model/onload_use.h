// Onload for what runs in a workload: what the client asked for, and the generation that it was admitted to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nrd {

struct OnloadUse {
  std::vector<std::string> profiles;       // the first that sets a variable wins
  std::map<std::string, std::string> env;  // the client's own
  bool profiles_win = false;               // over what the client says
  uint64_t generation = 0;
  std::string version;
  friend bool operator==(const OnloadUse&, const OnloadUse&) = default;
};

}  // namespace nrd
