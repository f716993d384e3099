#include <fmt/core.h>

#include <future>

#include "api/v1/onload/services.h"
#include "daemon/accounts.h"
#include "daemon/config.h"
#include "daemon/launch.h"
#include "daemon/onload/host.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"
#include "engine/onload/documents.h"
#include "engine/onload/workload_launcher.h"
#include "engine/transaction/engine.h"

namespace nrd::daemon {
namespace {

template <typename Id>
Result<Id> known(const Result<std::optional<Id>>& found, const char* key, const std::string& name) {
  if (!found) return Failure(found.error());
  if (*found) return **found;
  return fail_at(ErrorCode::BadRequest, std::string("onload.") + key,
                 fmt::format("onload.{}: {} not found on this node", key, name));
}

Result<onload::Access> access_of(const LaunchConfig& config) {
  const uid_t user = TRY(known(find_user(config.device_user), "device_user", config.device_user));
  const gid_t group = TRY(known(find_group(config.device_group), "device_group", config.device_group));
  return onload::Access{.uid = user, .gid = group, .mode = config.device_mode};
}

onload::AllocationLimits limits_of(const Config& config) {
  onload::AllocationLimits limits{.most = config.launch.max_allocations};
  for (const auto& [origin, reserve] : reserves_of(config)) {
    if (reserve.onload) limits.reserved.emplace(origin, *reserve.onload);
  }
  return limits;
}

// Host, controller and allocations, which store through the engine. Destroyed from the last to the first.
class Onload final : public LaunchBackend {
 public:
  Onload(std::unique_ptr<onload::Host> host, std::unique_ptr<onload::Controller> controller,
         std::unique_ptr<onload::Allocations> allocations)
      : host_(std::move(host)),
        controller_(std::move(controller)),
        allocations_(std::move(allocations)),
        launcher_(*allocations_),
        services_{*controller_, *allocations_} {}

  void use(const Config& config) override {
    controller_->set_limits(config.launch.refresh_interval, config.launch.users_policy);
    allocations_->set_limits(limits_of(config));
  }
  Launcher* launcher() override { return &launcher_; }
  v1::LaunchServices* services() override { return &services_; }
  void end_watches() override { controller_->end_watches(); }

 private:
  std::unique_ptr<onload::Host> host_;
  std::unique_ptr<onload::Controller> controller_;
  std::unique_ptr<onload::Allocations> allocations_;
  onload::WorkloadLauncher launcher_;
  v1::LaunchServices services_;
};

}  // namespace

Result<LaunchBackend::Stored> LaunchBackend::read(const store::Records& records) {
  return onload::from_documents(records.operations).map([&records](onload::Stored stored) {
    stored.revision = records.revision;
    return std::make_shared<const onload::Stored>(std::move(stored));
  });
}

Result<void> LaunchBackend::check_accounts(const Config& config) {
  TRY(access_of(config.launch));
  return {};
}

Result<std::unique_ptr<LaunchBackend>> LaunchBackend::start(const Config& all, Engine& engine, OwnerWatcher& owners,
                                                            const Stored& stored, const Clock& clock) {
  const LaunchConfig& config = all.launch;
  const onload::Access devices = TRY(access_of(config));
  std::unique_ptr<onload::Host> host = open_onload_host(config, devices, clock);
  const auto commit = [&engine](const onload::Change& change) {
    std::promise<Result<void>> answer;
    engine.record(onload::to_documents(change), [&answer](Result<void> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  };
  std::unique_ptr<onload::Controller> controller = onload::Controller::start(
      *host, commit, *stored, clock,
      {.refresh_interval = config.refresh_interval, .most_forceful = config.users_policy, .at_start = config.at_start});
  std::unique_ptr<onload::Allocations> allocations = onload::Allocations::start(
      *controller, owners, commit, *stored, clock,
      {.versions = config.versions,
       .trust = {},
       .profiles = config.profiles,
       .state_directory = all.state_directory,
       .limits = limits_of(all),
       .count_workloads = [&engine] { return onload::workloads_with_onload(*engine.state()); }});
  return std::make_unique<Onload>(std::move(host), std::move(controller), std::move(allocations));
}

}  // namespace nrd::daemon
