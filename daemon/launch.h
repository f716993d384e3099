// Onload as the daemon sees it: the one place of the daemon that names it, besides the folder daemon/onload, which
// implements this. For an nrd built without Onload, daemon/onload/absent.cc does.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/onload/launch_config.h"

namespace nrd {
class Engine;
class Launcher;
class OwnerWatcher;
}  // namespace nrd

namespace nrd::onload {
struct Stored;
}

namespace nrd::store {
struct Records;
}

namespace nrd::v1 {
struct LaunchServices;
}

namespace nrd::daemon {

struct Config;
struct ConfigKey;

class LaunchBackend {
 public:
  using Stored = std::shared_ptr<const onload::Stored>;
  // What the store holds. Fails for records that this nrd does not know.
  static Result<Stored> read(const store::Records& records);

  // Fails if the configuration names an unknown user or group. Stop the thread of `owners` before destroying this.
  static Result<std::unique_ptr<LaunchBackend>> start(const Config& config, Engine& engine, OwnerWatcher& owners,
                                                      const Stored& stored, const Clock& clock);
  virtual ~LaunchBackend() = default;

  // Of the configuration alone: BadRequest for an unknown user or group.
  static Result<void> check_accounts(const Config& config);
  // The limits and intervals that a reload takes.
  virtual void use(const Config& config) = 0;

  virtual Launcher* launcher() = 0;            // nullptr without Onload
  virtual v1::LaunchServices* services() = 0;  // as in routing::Services
  // Pending watches would delay the drain of connections.
  virtual void end_watches() = 0;
};

// The keys of Config::launch.
std::vector<ConfigKey> launch_keys();

// BadRequest at reserve.kubernetes: more than onload.max_allocations.
Result<void> check_launch_reserves(const Config& config);

}  // namespace nrd::daemon
