#include "daemon/onload/onload.h"

#include <future>

#include "daemon/accounts.h"
#include "daemon/onload/host.h"
#include "engine/onload/documents.h"

namespace nrd::daemon {
namespace {

template <typename Id>
Result<Id> known(const Result<std::optional<Id>>& found, const char* key, const std::string& name) {
  if (!found) return Failure(found.error());
  if (*found) return **found;
  return fail_at(ErrorCode::BadRequest, std::string("onload.") + key,
                 std::string("onload.") + key + ": " + name + " not found on this node");
}

Result<onload::Access> access_of(const Config::Onload& config) {
  const uid_t user = TRY(known(find_user(config.device_user), "device_user", config.device_user));
  const gid_t group = TRY(known(find_group(config.device_group), "device_group", config.device_group));
  return onload::Access{.uid = user, .gid = group, .mode = config.device_mode};
}

onload::AllocationLimits limits_of(const Config& config) {
  onload::AllocationLimits limits{.most = config.onload.max_allocations};
  for (const auto& [origin, reserve] : reserves_of(config)) {
    if (reserve.onload) limits.reserved.emplace(origin, *reserve.onload);
  }
  return limits;
}

}  // namespace

Result<void> Onload::check(const Config& config) {
  TRY(access_of(config.onload));
  return {};
}

void Onload::use(const Config& config) {
  controller_->set_limits(config.onload.refresh_interval, config.onload.users_policy);
  allocations_->set_limits(limits_of(config));
}

Result<std::unique_ptr<Onload>> Onload::start(const Config& all, Engine& engine, ProcessWatcher& owners,
                                              const onload::Stored& stored, const Clock& clock) {
  const Config::Onload& config = all.onload;
  const onload::Access devices = TRY(access_of(config));
  auto parts = std::make_unique<Onload>();
  using DefaultRoute = OnloadOptions::DefaultRoute;
  parts->node_ =
      open_onload_host({.versions = config.versions,
                        .imports = config.imports,
                        .devices = devices,
                        .parameters = config.parameters,
                        .default_route = config.protect_default_route ? DefaultRoute::Protected : DefaultRoute::Free},
                       clock);
  const auto commit = [&engine](const onload::Change& change) {
    std::promise<Result<void>> answer;
    engine.record(onload::to_documents(change), [&answer](Result<void> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  };
  parts->controller_ = onload::Controller::start(
      *parts->node_, commit, stored, clock,
      {.refresh_interval = config.refresh_interval, .most_forceful = config.users_policy, .at_start = config.at_start});
  parts->allocations_ = onload::Allocations::start(
      *parts->controller_, owners, commit, stored.allocations, clock,
      {.versions = config.versions,
       .trust = {},
       .profiles = config.profiles,
       .state_directory = all.state_directory,
       .limits = limits_of(all),
       .count_workloads = [&engine] { return onload::workloads_with_onload(*engine.state()); }});
  parts->launcher_.emplace(*parts->allocations_);
  parts->services_.emplace(v1::LaunchServices{*parts->controller_, *parts->allocations_});
  return parts;
}

}  // namespace nrd::daemon
