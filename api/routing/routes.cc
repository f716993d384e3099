#include "api/routing/routes.h"

#include <memory>
#include <vector>

#include "api/rmd/views/cache.h"
#include "api/rmd/views/handlers.h"
#include "api/routing/index.h"
#include "api/v1/config.h"
#include "api/v1/handlers.h"
#include "api/v1/launch.h"
#include "api/v1/response_cache.h"
#include "api/v1/workload_json.h"

namespace nrd::routing {
namespace {

using auth::Access;
using auth::Permission;
using namespace v1;

// Each line is also in docs/openapi.yaml and docs/api.md, as are those of launch_routes().
constexpr Route kResourceRoutes[] = {
    {"GET", "/v1/workloads", list_workloads, Permission::Workloads, "uuid origin name label since wait"},
    {"POST", "/v1/workloads", create_workload, Permission::Workloads, "dry_run", Access::Own},
    {"GET", "/v1/workloads/{id}", show_workload, Permission::Workloads, {}, Access::Own},
    {"PUT", "/v1/workloads/{id}", put_workload, Permission::Workloads, "dry_run force", Access::Own},
    {"PATCH", "/v1/workloads/{id}", patch_workload, Permission::Workloads, "dry_run force", Access::Own},
    {"DELETE", "/v1/workloads/{id}", delete_workload, Permission::Workloads, "force", Access::Own},
    {"GET", "/v1/workloads/{id}/monitoring", show_monitoring, Permission::Workloads},
    {"GET", "/v1/operations", list_operations, Permission::Workloads},
    {"GET", "/v1/operations/{id}", show_operation, Permission::Workloads, "wait", Access::Own},
    {"GET", "/v1/cache", rmd::show_caches, Permission::Node},
    {"GET", "/v1/cache/{level}", rmd::show_cache_level, Permission::Node},
    {"GET", "/v1/cache/{level}/{id}", rmd::show_cache, Permission::Node},
    {"GET", "/v1/policy", list_policies, Permission::Node},
    {"GET", "/v1/mba", rmd::show_mba, Permission::Node},
    {"POST", "/v1/hospitality", rmd::show_hospitality, Permission::Node, {}, Access::Reading},
    {"GET", "/v1/node", show_node, Permission::Node, "since wait"},
    {"GET", "/v1/cpus", show_cpus, Permission::Node},
    {"GET", "/v1/cpus/pools", list_cpu_pools, Permission::Node},
    {"GET", "/v1/cpus/pools/{id}", show_cpu_pool, Permission::Node},
    {"GET", "/v1/cpus/pools/{id}/check", check_cpu_pool, Permission::Node},
    {"GET", "/v1/pstate", rmd::list_pstates, Permission::Node, "view"},
    {"GET", "/v1/pstate/{id}", show_pstate, Permission::Node},
};

// Served after the routes of launch.h.
constexpr Route kServiceRoutes[] = {
    {"GET", "/v1/config", show_config, Permission::None, {}, Access::Admin},
    {"POST", "/v1/config/reload", reload_config, Permission::None, {}, Access::Admin},
    {"GET", "/v1/health", show_health, Permission::Node},
    {"GET", "/metrics", show_metrics, Permission::Node},
    {"GET", "/", show_root, Permission::None, {}, Access::EveryRole},
    {"GET", "/v1", show_version, Permission::None, {}, Access::EveryRole},
    {"GET", "/v1/openapi.yaml", show_description, Permission::None, {}, Access::EveryRole, kYaml},
};

std::vector<Route> all_routes() {
  std::vector<Route> routes;
  for (const RouteTable table : {RouteTable(kResourceRoutes), launch_routes(), RouteTable(kServiceRoutes)})
    routes.insert(routes.end(), table.begin(), table.end());
  return routes;
}

}  // namespace

RouteTable route_table() {
  static const std::vector<Route> kRoutes = all_routes();
  return kRoutes;
}

http::Handler routes(Services services, ServiceInfo info) {
  const auto bodies = std::make_shared<Bodies>(workloads_json, rmd::cache_level_json);
  return [services, info = std::move(info), bodies](const http::Request& request, http::Reply reply) {
    dispatch(route_table(), {services, info, *bodies, request, {}, {}, {}}, std::move(reply));
  };
}

}  // namespace nrd::routing
