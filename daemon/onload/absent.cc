// The daemon built without Onload (NRD_ONLOAD=OFF): no keys of the configuration, and no start with workloads that need
// it.
#include "engine/onload/absent.h"

#include <fmt/core.h>

#include <string>

#include "base/json/reader.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"
#include "daemon/launch.h"
#include "store/records.h"

namespace nrd::daemon {
namespace {

class Absent final : public LaunchBackend {
 public:
  void use(const Config& /*config*/) override {}
  Launcher* launcher() override { return nullptr; }
  v1::LaunchServices* services() override { return nullptr; }
  void end_watches() override {}
};

// The engine reports documents that are no JSON.
bool uses_onload(const store::WorkloadRow& row) {
  const Result<json::Value> document = json::parse(row.document);
  const json::Value* spec = document ? document->find("spec") : nullptr;
  const json::Value* use = spec ? spec->find("onload") : nullptr;
  return use && !use->is_null();
}

}  // namespace

// Records of Onload itself stay in the store, for an nrd that has it.
Result<LaunchBackend::Stored> LaunchBackend::read(const store::Records& records) {
  for (const store::WorkloadRow& row : records.workloads) {
    if (!uses_onload(row)) continue;
    const std::string id = row.given_id.empty() ? std::to_string(row.id.value) : row.given_id;
    return fail(
        ErrorCode::Unsupported,
        fmt::format(
            "the stored workload {} uses Onload, but {}; start an nrd with Onload, or delete the workload there", id,
            onload::kAbsent));
  }
  return Stored();
}

Result<std::unique_ptr<LaunchBackend>> LaunchBackend::start(const Config& /*config*/, Engine& /*engine*/,
                                                            OwnerWatcher& /*owners*/, const Stored& /*stored*/,
                                                            const Clock& /*clock*/) {
  return std::make_unique<Absent>();
}

Result<void> LaunchBackend::check_accounts(const Config& /*config*/) { return {}; }

std::vector<ConfigKey> launch_keys() { return {}; }

Result<void> check_launch_reserves(const Config& config) {
  for (const auto& [origin, reserve] : reserves_of(config)) {
    const std::string key = "reserve." + origin;
    if (reserve.onload) return fail_at(ErrorCode::BadRequest, key, fmt::format("{}: onload: {}", key, onload::kAbsent));
  }
  return {};
}

}  // namespace nrd::daemon
