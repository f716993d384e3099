// How many CPUs of pools local users may have ([cpu.quotas]): a limit for clients with the role `run` on a Unix socket.
// It does not grant the role.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nrd {

// A user of this host, as the kernel reports the process at the other end of a Unix socket.
struct LocalUser {
  uid_t uid = static_cast<uid_t>(-1);  // this one is never the id of a user
  std::vector<gid_t> groups{};
  friend bool operator==(const LocalUser&, const LocalUser&) = default;
};

struct CpuQuota {
  std::set<std::string> pools{};  // by name: the pools that may be used
  uint32_t count = 0;             // CPUs of them, in all workloads of the user together
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

// As configured: users by name, groups as "@name".
using NamedCpuQuotas = std::map<std::string, CpuQuota>;

// The same by number.
struct CpuQuotas {
  std::map<uid_t, CpuQuota> users{};
  std::map<gid_t, CpuQuota> groups{};
  std::map<uid_t, std::string> names{};  // of the users, for messages
  friend bool operator==(const CpuQuotas&, const CpuQuotas&) = default;
};

// What several quotas permit together: all of their pools, and the greatest count.
CpuQuota combined(CpuQuota a, const CpuQuota& b);
// The user's own quota, else that of all its groups together; nullopt: none.
std::optional<CpuQuota> quota_of(const CpuQuotas& quotas, const LocalUser& user);
// "alice", "uid 1001"
std::string name_of(const CpuQuotas& quotas, const LocalUser& user);

}  // namespace nrd
