// Onload for what runs in a workload: what the client asked for, and which generation's door it came through.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nrd::store {

struct OnloadUse {
  std::vector<std::string> profiles;       // the first that sets a variable wins
  std::map<std::string, std::string> env;  // the client's own
  bool profiles_win = false;               // over what the client says
  uint64_t generation = 0;
  std::string version;
  friend bool operator==(const OnloadUse&, const OnloadUse&) = default;
};

}  // namespace nrd::store
