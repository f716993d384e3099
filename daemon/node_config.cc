#include "daemon/node_config.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "daemon/accounts.h"
#include "daemon/config.h"
#include "daemon/cpu_quota_values.h"
#include "daemon/launch.h"
#include "engine/model/cpu_noise.h"

namespace nrd::daemon {
namespace {

Result<ReservedCpus> groups_of(const Config& config) {
  ReservedCpus groups = config.node.groups;
  groups.infra_users.clear();
  for (const std::string& name : config.infra_users) {
    const std::optional<uid_t> user = TRY(find_user(name));
    if (!user)
      return fail_at(ErrorCode::BadRequest, "infra.users",
                     fmt::format("infra.users: user {} not found on this node", name));
    groups.infra_users.insert(*user);
  }
  return groups;
}

}  // namespace

Result<ResolvedNode> resolve_node(const Config& config) {
  const Part part = TRY(read_part());
  FoundPolicies policies = TRY(load_policies(config.policy, part));
  NodeConfig node = config.node;
  node.groups = TRY(groups_of(config));
  node.cpu_quotas = TRY(resolve_quotas(config.cpu_quotas));
  node.reserves = reserves_of(config);
  node.policies = policies.policies;
  EngineConfig engine{.node = std::move(node),
                      .drift_interval = config.drift_interval,
                      .tasks_interval = config.tasks_interval,
                      .usage_interval = config.usage_interval};
  return ResolvedNode{.engine = std::move(engine), .policies = std::move(policies)};
}

Result<ResolvedNode> resolve_node(const LoadedConfig& loaded) {
  const auto at_its_line = [&loaded](Error error) { return with_position(loaded, std::move(error)); };
  ResolvedNode node = TRY(resolve_node(loaded.config).map_error(at_its_line));
  TRY(LaunchBackend::check_accounts(loaded.config).map_error(at_its_line));
  return node;
}

void log_policies(const FoundPolicies& found) {
  if (!found.policies) return log::notice("NO_POLICIES", "no policies for this CPU model");
  log::notice("POLICIES", fmt::format("{} policies", found.policies->size()), {{"SECTION", found.section}});
}

void log_warnings(const NodeState& state) {
  for (const std::string& sentence : cpu_warnings(state)) log::warning("CPU_POOL_WARNING", sentence);
}

}  // namespace nrd::daemon
