#include "cli/import_rmd/rmd_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/ascii.h"
#include "cli/certificates.h"

namespace nrd::cli {
namespace {

struct Left {
  const char* key;
  const char* why;
};

constexpr const char* kJournal = "nrd logs to the journal: journalctl -u nrd";
constexpr const char* kDatabase =
    "workloads are in SQLite below state.directory and outlive a reboot; carry RMD's over with import-rmd --workloads";
constexpr const char* kSharedLimit =
    "RMD never enforced it, and gen_conf writes it on every node; cache_pools.max_allowed_shared would "
    "refuse the workloads beyond it";
constexpr const char* kInfra =
    "RMD's infrastructure ways overlapped the pools; nrd's are separate (cache_pools.infra, infra.cpus), so the "
    "pools have "
    "to be smaller";

constexpr std::array kLeft = {
    Left{"default.openstackEnable", "nrd has no OpenStack integration"},
    Left{"default.sysresctrl",
         "nrd uses resctrl where the kernel documents it and sys-fs-resctrl.mount mounts it, /sys/fs/resctrl"},
    Left{"default.plugins", "nrd has no plug-ins; frequencies (pstate) are built in"},
    Left{"log.path", kJournal},
    Left{"log.env", kJournal},
    Left{"log.stdout", kJournal},
    Left{"database.backend", kDatabase},
    Left{"database.transport", kDatabase},
    Left{"database.dbname", kDatabase},
    Left{"OSGroup.cpuset",
         "RMD allowed workloads on these CPUs anyway, and gen_conf writes it on every node; os.cpus would refuse "
         "them"},
    Left{"CachePool.max_allowed_shared", kSharedLimit},
    Left{"CachePool.maxallowedshared", kSharedLimit},
    Left{"InfraGroup.cacheways", kInfra},
    Left{"InfraGroup.cpuset", kInfra},
    Left{"InfraGroup.tasks", kInfra},
};

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

void move_address(RmdImport& moving) {
  const std::string key = "default.address";
  if (!moving.says(key)) return;
  const std::string was = moving.text(key, "");
  const bool is_debug = flag_in(moving.value("debug.enabled")).value_or(false);
  std::string address = was == "localhost" ? "127.0.0.1" : was;
  if (!is_address(address)) {
    return moving.report().left_out(key,
                                    fmt::format("is {}; server.address is an IP address", shown(moving.value(key))));
  }
  // nrd would refuse to start with this address.
  const bool is_closed = is_debug && !is_loopback(address);
  if (is_closed) address = "127.0.0.1";
  moving.set("server", "address", literal_of(address));
  if (is_closed) {
    return moving.report().changed(
        key, fmt::format(
                 "server.address = 127.0.0.1, not {}: with debug, every client of that address would have full access",
                 was));
  }
  const std::string became = "server.address = " + address;
  if (address == was) return moving.report().taken(key, became);
  moving.report().changed(key, fmt::format("{}, which is {}", became, was));
}

// A number from 1 to `most`. `why_not` is said of any other value.
void move_number(RmdImport& moving, const std::string& from, const char* section, const char* key, uint64_t most,
                 const std::string& why_not) {
  if (!moving.says(from)) return;
  const std::optional<uint64_t> number = number_in(moving.value(from));
  if (!number || *number == 0 || *number > most) {
    return moving.report().left_out(from, fmt::format("is {}{}", shown(moving.value(from)), why_not));
  }
  moving.take(from, section, key, std::to_string(*number));
}

void move_flag(RmdImport& moving, const std::string& from, const char* section, const char* key) {
  if (!moving.says(from)) return;
  const std::optional<bool> flag = flag_in(moving.value(from));
  if (!flag)
    return moving.report().left_out(from, fmt::format("is {}, neither true nor false", shown(moving.value(from))));
  moving.take(from, section, key, *flag ? "true" : "false");
}

void move_mba_mode(RmdImport& moving) {
  constexpr const char* kKey = "rdt.mbaMode";
  if (!moving.says(kKey)) return;
  const std::string was = lower_case(moving.text(kKey, ""));
  if (was == "none") return moving.report().left_out(kKey, "was \"none\"; resctrl stays as it is mounted");
  if (was != "percentage" && was != "mbps")
    return moving.report().left_out(kKey, fmt::format("is {}, which is not a mode", shown(moving.value(kKey))));
  moving.take_text(kKey, "rdt", "mba_mode", was);
}

std::optional<unsigned> ways_of(const json::Value& value) {
  const std::optional<uint64_t> ways = number_in(value);
  constexpr uint64_t kMost = std::numeric_limits<uint16_t>::max();  // above any real cache, so sums cannot overflow
  if (!ways || *ways > kMost) return std::nullopt;
  return static_cast<unsigned>(*ways);
}

struct PoolKey {
  const char* of_rmd;
  const char* of_nrd;
  unsigned Pools::*size;
};
constexpr std::array kPoolKeys = {PoolKey{"OSGroup.cacheways", "os", &Pools::os},
                                  PoolKey{"CachePool.guarantee", "guarantee", &Pools::guarantee},
                                  PoolKey{"CachePool.besteffort", "besteffort", &Pools::besteffort},
                                  PoolKey{"CachePool.shared", "shared", &Pools::shared}};

void leave_pools(RmdImport& moving, const std::string& why) {
  for (const PoolKey& key : kPoolKeys) {
    if (moving.says(key.of_rmd)) moving.report().left_out(key.of_rmd, why);
  }
}

}  // namespace

void move_server(RmdImport& moving) {
  constexpr uint64_t kHighestPort = 65535;
  // How often nrd looks for exited tasks.
  move_number(moving, "default.dbValidatorInterval", "tasks", "interval_seconds", 86400, ", not 1 to 86400");
  move_mba_mode(moving);
  move_address(moving);
  move_number(moving, "default.tlsport", "server", "tls_port", kHighestPort, ", which is not a port");
  move_number(moving, "debug.debugport", "server", "debug_port", kHighestPort, ", which is not a port");
  move_flag(moving, "debug.enabled", "server", "debug");
  const std::string socket = moving.text("default.unixsock", "");
  if (!socket.starts_with('/')) {
    if (moving.says("default.unixsock"))
      moving.report().left_out("default.unixsock", "is not a path; nrd keeps its own socket");
    return;
  }
  moving.set("server", "sockets", fmt::format("[{{path = {}, admin = [\"root\", \"@nrd\"]}}]", literal_of(socket)));
  moving.report().taken("default.unixsock", "server.sockets = " + socket);
}

void move_log(RmdImport& moving) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kLevels = {{{"debug", "debug"},
                                                                           {"info", "info"},
                                                                           {"warn", "warning"},
                                                                           {"warning", "warning"},
                                                                           {"error", "error"},
                                                                           {"fatal", "error"},
                                                                           {"panic", "error"}}};
  if (!moving.says("log.level")) return;
  const std::string was = lower_case(moving.text("log.level", ""));
  const auto* found = std::ranges::find_if(kLevels, [&was](const auto& level) { return was == level.first; });
  if (found == kLevels.end()) {
    return moving.report().left_out("log.level",
                                    fmt::format("is {}, which is not a level", shown(moving.value("log.level"))));
  }
  moving.set("log", "level", literal_of(found->second));
  const std::string became = std::string("log.level = ") + found->second;
  if (was == found->second) return moving.report().taken("log.level", became);
  moving.report().changed("log.level", fmt::format("{}, not {}", became, was));
}

void move_pools(RmdImport& moving, const std::optional<CacheWays>& cache) {
  move_flag(moving, "CachePool.shrink", "cache_pools", "shrink");
  Pools pools;
  bool is_said = false;
  for (const PoolKey& key : kPoolKeys) {
    if (!moving.says(key.of_rmd)) continue;
    const std::optional<unsigned> ways = ways_of(moving.value(key.of_rmd));
    if (!ways)
      return leave_pools(moving,
                         std::string(key.of_rmd) + " is not a number of ways; nrd sizes the pools from the cache");
    pools.*key.size = *ways;
    is_said = true;
  }
  if (!is_said) return;
  const std::string problem = cache ? misfit(pools, *cache) : "";
  if (!problem.empty())
    return leave_pools(moving, problem + "; nrd sizes the pools from the cache instead (nrdctl genconf)");
  const std::string doubt = cache ? "" : " (not checked: the caches of this node are unknown)";
  for (const PoolKey& key : kPoolKeys) {
    const std::string ways = std::to_string(pools.*key.size);
    moving.set("cache_pools", key.of_nrd, ways);
    const std::string became = fmt::format("cache_pools.{} = {}{}", key.of_nrd, ways, doubt);
    if (moving.says(key.of_rmd)) moving.report().taken(key.of_rmd, became);
    // If only some sizes were written, RMD used its defaults for the others.
    else
      moving.report().changed(key.of_rmd, became + ", RMD's default");
  }
}

void leave_the_rest(RmdImport& moving) {
  for (const Left& left : kLeft) {
    if (moving.says(left.key))
      moving.report().left_out(left.key, fmt::format("was {}; {}", shown(moving.value(left.key)), left.why));
  }
  moving.value("title");  // ignored
  for (const std::string& key : moving.unknown()) {
    // Never show values of this section: they often contain passwords.
    if (key.starts_with("openstack."))
      moving.report().left_out(key, "nrd has no OpenStack integration");
    else if (key.starts_with("pstate."))
      moving.report().left_out(key, "frequencies (pstate) are built into nrd");
    else
      moving.report().left_out(key, "unknown RMD key, perhaps of a plug-in; nrd has no plug-ins");
  }
}

}  // namespace nrd::cli
