#include "hw/onload/load_order.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace nrd::onload {
namespace {

// Of current and old releases.
constexpr std::array<std::string_view, 14> kKnownOrder{
    "virtual_bus", "sfc_driverlink", "sfc",      "sfc_ef100", "xilinx_efct",   "sfc_mtd",   "sfc_tune",
    "sfc_aoe",     "sfc_resource",   "sfc_char", "onload",    "onload_cplane", "af_onload", "sfc_affinity"};

// Unknown modules come last, sorted by name.
std::pair<size_t, std::string> rank_of(const VersionModule& module) {
  const auto* const at = std::ranges::find(kKnownOrder, module.file.name);
  return {static_cast<size_t>(at - kKnownOrder.begin()), module.file.name};
}

std::set<std::string> names_of(const std::vector<VersionModule>& modules) {
  std::set<std::string> names;
  for (const VersionModule& module : modules) names.insert(module.file.name);
  return names;
}

}  // namespace

Result<std::vector<VersionModule>> load_order(std::vector<VersionModule> modules) {
  const std::set<std::string> names = names_of(modules);
  if (names.size() != modules.size()) {
    return fail(ErrorCode::BadRequest, "the version has two modules of the same name for one kernel");
  }
  std::ranges::sort(modules, {}, [](const VersionModule& module) { return rank_of(module); });
  std::vector<VersionModule> order;
  std::set<std::string> placed;
  const auto is_ready = [&names, &placed](const VersionModule& module) {
    return !placed.contains(module.file.name) &&
           std::ranges::all_of(module.file.depends, [&names, &placed](const auto& needed) {
             return !names.contains(needed) || placed.contains(needed);
           });
  };
  while (order.size() < modules.size()) {
    const auto next = std::ranges::find_if(modules, is_ready);
    if (next == modules.end()) {
      return fail(ErrorCode::BadRequest, "the modules of the version have circular dependencies");
    }
    placed.insert(next->file.name);
    order.push_back(*next);
  }
  return order;
}

std::vector<std::string> needed_of_system(const std::vector<VersionModule>& modules) {
  const std::set<std::string> own = names_of(modules);
  std::vector<std::string> needed;
  for (const VersionModule& module : modules) {
    for (const std::string& name : module.file.depends) {
      if (own.contains(name) || std::ranges::find(needed, name) != needed.end()) continue;
      needed.push_back(name);
    }
  }
  return needed;
}

}  // namespace nrd::onload
