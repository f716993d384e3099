// The services of the routes besides engine and controller: real ones, in temporary folders.
#pragma once

#include <memory>
#include <optional>

#include "api/routing/request_counters.h"
#include "api/routing/routes.h"
#include "api/v1/config.h"
#include "api/v1/onload/services.h"
#include "engine/onload/allocations.h"
#include "engine/onload/workload_launcher.h"
#include "engine/owner_watcher.h"
#include "engine/pool_check.h"
#include "engine/workload_poll.h"
#include "engine/workload_service.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::testing {

struct FakeConfig final : v1::ConfigService {
  std::shared_ptr<const v1::ConfigView> view() const override { return std::make_shared<const v1::ConfigView>(known); }
  void reload(ReloadMode mode, Callback<v1::ReloadReport> done) override {
    asked.push_back(mode);
    done(outcome);
  }
  v1::ConfigView known;
  Result<v1::ReloadReport> outcome;
  std::vector<ReloadMode> asked;
};

// The commit function of the allocations reports success without storing.
struct Fixture {
  explicit Fixture(const onload::Controller& controller, size_t most_allocations = 2)
      : allocations(onload::Allocations::start(controller, *owners,
                                               [](const onload::Change&) { return Result<void>(); }, {}, clock,
                                               {.versions = "/opt",
                                                .trust = folder.trust(),
                                                .profiles = {"/etc/profiles"},
                                                .state_directory = folder.path("state"),
                                                .limits = {.most = most_allocations}})) {
    folder.folder("state");
  }
  ~Fixture() {
    owners->stop();
    poll.stop();
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  routing::Services services(Engine& engine, onload::Controller& controller) {
    workloads.emplace(engine, *owners, &launcher);
    launch.emplace(v1::LaunchServices{controller, *allocations});
    return {engine, *workloads, *owners, &*launch, poll, config, checks};
  }

  Folder folder;
  SystemClock clock;
  std::unique_ptr<OwnerWatcher> owners{*OwnerWatcher::start()};
  std::unique_ptr<onload::Allocations> allocations;
  onload::WorkloadLauncher launcher{*allocations};
  std::optional<v1::LaunchServices> launch;
  std::optional<WorkloadService> workloads;
  WorkloadPoll poll{clock};
  FakeConfig config;
  PoolCheck checks{[](const cpuset::CheckQuery&) { return PoolCheck::Disturbances(); }};
  std::shared_ptr<routing::RequestCounters> counters =
      std::make_shared<routing::RequestCounters>(routing::route_table());
};

}  // namespace nrd::testing
