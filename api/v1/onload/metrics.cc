#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "api/v1/launch.h"
#include "api/v1/node_metrics.h"
#include "api/v1/onload/services.h"
#include "base/control.h"
#include "base/find_in.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/workload_launcher.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

using metrics::Family;
using metrics::Kind;
using metrics::one;
using Families = std::vector<Family>;

// The module onload, once it runs; null: it does not.
const onload::Module* running_module(const onload::Status& status) {
  const onload::Module* module = find_in(status.observed.modules, "onload");
  return module && module->state == onload::ModuleState::Live ? module : nullptr;
}

// Without the module there are no users; report 0 without counting.
void add_users(Families& families, const routing::Call& call, bool is_loaded) {
  Family users{.name = "nrd_onload_users", .help = "Processes that use Onload, as last counted"};
  Family stacks{.name = "nrd_onload_stacks", .help = "Onload stacks, as last counted"};
  const auto last =
      is_loaded ? call.launch->usage->last(call.launch->controller) : std::make_shared<const UsageCache::Count>();
  if (last) {
    users.add(last->users);
    stacks.add(last->stacks, {{"kind", "live"}});
    stacks.add(last->orphans, {{"kind", "orphan"}});
  }
  families.insert(families.end(), {std::move(users), std::move(stacks)});
}

void add_operation(Families& families, const onload::Status& status) {
  using onload::OperationKind;
  Family running{.name = "nrd_onload_operation_running", .help = "1 for the kind of the running operation"};
  const onload::Operation* operation = onload::running(status);
  for (const OperationKind kind :
       {OperationKind::Change, OperationKind::Drain, OperationKind::Undrain, OperationKind::RestartControlPlane}) {
    running.add(operation != nullptr && operation->kind == kind, {{"kind", std::string(json::name_of(kind))}});
  }
  families.push_back(std::move(running));
  const auto& all = status.operations;
  const auto last = std::find_if(
      all.rbegin(), all.rend(), [](const onload::Operation& each) { return each.outcome != onload::Outcome::Running; });
  // No operation puts the state unmanaged into force.
  const onload::Generation* kept = onload::effective(status);
  const bool has_failed = last != all.rend() && last->outcome != onload::Outcome::Succeeded &&
                          (kept == nullptr || kept->number <= last->generation);
  families.push_back(one(Kind::Gauge, "nrd_onload_last_operation_failed",
                         "1 if the last finished operation failed or was rolled back", has_failed));
}

}  // namespace

void add_launch_metrics(std::vector<metrics::Family>& families, const routing::Call& call) {
  const auto status = call.launch->controller.status();
  const onload::Module* module = running_module(*status);
  families.push_back(one(Kind::Gauge, "nrd_onload_loaded", "1 while the onload module is loaded", module != nullptr));
  Family info{.name = "nrd_onload_info", .help = "Version of the loaded onload module; the value is always 1"};
  if (module != nullptr) info.add(1, {{"version", printable_ascii(module->version, kLongestLabel)}});
  families.push_back(std::move(info));
  families.push_back(one(Kind::Gauge, "nrd_onload_device_access_open", "1 while new processes may use Onload",
                         status->device_access_open));
  add_users(families, call, module != nullptr);
  size_t allocations = call.launch->allocations.allocations()->size();
  for (const auto& [origin, count] : onload::workloads_with_onload(*call.engine.state())) allocations += count;
  families.push_back(
      one(Kind::Gauge, "nrd_onload_allocations", "Allocations and workloads that use Onload", allocations));
  add_operation(families, *status);
}

}  // namespace nrd::v1
