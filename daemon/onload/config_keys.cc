#include "daemon/config_keys.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

#include "base/joined.h"
#include "daemon/config.h"
#include "daemon/launch.h"
#include "daemon/onload/launch_config.h"
#include "daemon/onload/parameters.h"
#include "daemon/reserve_values.h"
#include "engine/onload/enum_names.h"

namespace nrd::daemon {
namespace {

using json::Value;

constexpr int64_t kDay = 86400;

constexpr auto kReload = ConfigKey::Takes::Reload;
constexpr auto kRestart = ConfigKey::Takes::Restart;

ValueType<onload::UsersPolicy> users_policy() {
  return {.parse = [](const Value& value, onload::UsersPolicy& target) -> Problem {
            const auto policy = json::parse_name<onload::UsersPolicy>(text_in(value));
            const auto name_of = [](const auto& known) { return known.second; };
            if (!policy)
              return fmt::format("expected one of {}, in quotes",
                                 joined(json::kNames<onload::UsersPolicy>, ", ", name_of));
            target = *policy;
            return {};
          },
          .show = [](const onload::UsersPolicy& policy) { return Value::string(std::string(json::name_of(policy))); }};
}

ValueType<onload::AtStart> at_start() {
  return one_of<onload::AtStart>({{onload::AtStart::Apply, "apply"}, {onload::AtStart::Observe, "observe"}});
}

ValueType<std::vector<AllowedParameter>> allowed_parameters() {
  return {
      .parse = [](const Value& value, std::vector<AllowedParameter>& target) -> Problem {
        constexpr const char* kExpected =
            "expected a list of MODULE.NAME and MODULE.NAME=VALUE, such as [\"sfc_char.phys_mode_gid=1042\"]";
        if (value.kind() != Value::Kind::Array) return kExpected;
        std::vector<AllowedParameter> found;
        for (const Value& item : value.items()) {
          std::optional<AllowedParameter> allowed = parse_allowed_parameter(text_in(item));
          if (!allowed) return kExpected;
          found.push_back(*std::move(allowed));
        }
        target = std::move(found);
        return {};
      },
      .show =
          [](const std::vector<AllowedParameter>& parameters) {
            return array_of(parameters, [](const AllowedParameter& allowed) {
              return Value::string(allowed.module + "." + allowed.name + (allowed.value ? "=" + *allowed.value : ""));
            });
          }};
}

}  // namespace

std::vector<ConfigKey> launch_keys() {
  return {
      key("onload.versions", kRestart, absolute_path(), &Config::launch, &LaunchConfig::versions),
      key("onload.imports", kRestart, absolute_path(), &Config::launch, &LaunchConfig::imports),
      key("onload.users_policy", kReload, users_policy(), &Config::launch, &LaunchConfig::users_policy),
      key("onload.look_interval_seconds", kReload, interval(1, kDay), &Config::launch, &LaunchConfig::refresh_interval),
      key("onload.at_start", kRestart, at_start(), &Config::launch, &LaunchConfig::at_start),
      key("onload.device_user", kRestart, text(), &Config::launch, &LaunchConfig::device_user),
      key("onload.device_group", kRestart, text(), &Config::launch, &LaunchConfig::device_group),
      key("onload.device_mode", kRestart, file_mode(), &Config::launch, &LaunchConfig::device_mode),
      key("onload.protect_default_route", kRestart, boolean(), &Config::launch, &LaunchConfig::protect_default_route),
      key("onload.profiles", kRestart, absolute_paths(), &Config::launch, &LaunchConfig::profiles),
      key("onload.parameters", kRestart, allowed_parameters(), &Config::launch, &LaunchConfig::parameters),
      key("onload.max_allocations", kReload, limit(kMostAllocations), &Config::launch, &LaunchConfig::max_allocations),
  };
}

Result<void> check_launch_reserves(const Config& config) {
  for (const auto& [origin, reserve] : reserves_of(config)) {
    if (reserve.onload.value_or(0) <= config.launch.max_allocations) continue;
    const std::string key = "reserve." + origin;
    return fail_at(ErrorCode::BadRequest, key,
                   fmt::format("{}: onload: is {}, but onload.max_allocations is {}", key, *reserve.onload,
                               config.launch.max_allocations));
  }
  return {};
}

}  // namespace nrd::daemon
