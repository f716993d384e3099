#include "api/routing/routes.h"

#include <memory>

#include "api/rmd/views/cache.h"
#include "api/rmd/views/hospitality.h"
#include "api/rmd/views/mba.h"
#include "api/rmd/views/pstate.h"
#include "api/routing/index.h"
#include "api/v1/config.h"
#include "api/v1/cpus.h"
#include "api/v1/health.h"
#include "api/v1/metrics.h"
#include "api/v1/monitoring.h"
#include "api/v1/node.h"
#include "api/v1/onload/onload.h"
#include "api/v1/policy.h"
#include "api/v1/pstate.h"
#include "api/v1/response_cache.h"
#include "api/v1/workload_json.h"
#include "api/v1/workloads.h"

namespace nrd::routing {
namespace {

using auth::Access;
using auth::Permission;
using namespace v1;

// The whole service. Each line is also in docs/openapi.yaml and docs/api.md.
constexpr Route kRoutes[] = {
    {"GET", "/v1/workloads", list_workloads, Permission::Workloads, "uuid origin name label since wait"},
    {"POST", "/v1/workloads", create_workload, Permission::Workloads, "dry_run", Access::Own},
    {"GET", "/v1/workloads/{id}", show_workload, Permission::Workloads, {}, Access::Own},
    {"PUT", "/v1/workloads/{id}", put_workload, Permission::Workloads, "dry_run force", Access::Own},
    {"PATCH", "/v1/workloads/{id}", patch_workload, Permission::Workloads, "dry_run force", Access::Own},
    {"DELETE", "/v1/workloads/{id}", delete_workload, Permission::Workloads, "force", Access::Own},
    {"GET", "/v1/workloads/{id}/monitoring", show_monitoring, Permission::Workloads},
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
    {"GET", "/v1/onload", show_onload, Permission::OnloadRead, "since wait"},
    {"PUT", "/v1/onload", put_onload, Permission::None, "dryRun"},
    {"DELETE", "/v1/onload", delete_onload},
    {"POST", "/v1/onload/preflight", preflight_onload, Permission::OnloadRead, {}, Access::Reading},
    {"POST", "/v1/onload/rollback", roll_back_onload},
    {"POST", "/v1/onload/drain", drain_onload},
    {"POST", "/v1/onload/undrain", undrain_onload},
    {"PUT", "/v1/onload/freeze", freeze_onload},
    {"GET", "/v1/onload/modules", list_onload_modules, Permission::OnloadRead},
    {"GET", "/v1/onload/modules/{id}", show_onload_module, Permission::OnloadRead},
    {"PATCH", "/v1/onload/modules/{id}/parameters", patch_onload_parameters, Permission::None, "reload"},
    {"GET", "/v1/onload/controlplane", show_control_plane, Permission::OnloadRead},
    {"PATCH", "/v1/onload/controlplane", patch_control_plane, Permission::None, "reload"},
    {"POST", "/v1/onload/controlplane/restart", restart_control_plane},
    {"GET", "/v1/onload/users", list_onload_users, Permission::OnloadRead},
    {"GET", "/v1/onload/stacks", list_onload_stacks, Permission::OnloadRead, "kind"},
    {"GET", "/v1/onload/interfaces", list_onload_interfaces, Permission::OnloadRead, {}, Access::Launch},
    {"PUT", "/v1/onload/interfaces/{id}/acceleration", accelerate_onload_interface},
    {"PUT", "/v1/onload/interfaces/{id}/afxdp", register_onload_interface},
    {"POST", "/v1/onload/verify", verify_onload},
    {"GET", "/v1/onload/versions", list_onload_versions, Permission::OnloadRead},
    {"POST", "/v1/onload/versions", import_onload_version},
    {"DELETE", "/v1/onload/versions/{id}", delete_onload_version},
    {"GET", "/v1/onload/generations", list_onload_generations, Permission::OnloadRead},
    {"GET", "/v1/onload/generations/{id}", show_onload_generation, Permission::OnloadRead},
    {"GET", "/v1/onload/operations", list_onload_operations, Permission::OnloadRead},
    {"GET", "/v1/onload/operations/{id}", show_onload_operation, Permission::OnloadRead, "since wait"},
    {"POST", "/v1/onload/operations/{id}/cancel", cancel_onload_operation},
    {"GET", "/v1/onload/profiles", list_profiles, Permission::OnloadRead, {}, Access::Launch},
    {"GET", "/v1/onload/profiles/{id}", show_profile, Permission::OnloadRead, {}, Access::Launch},
    {"PUT", "/v1/onload/profiles/{id}", put_profile},
    {"DELETE", "/v1/onload/profiles/{id}", delete_profile},
    {"POST", "/v1/onload/render", render_profiles},
    {"GET", "/v1/onload/allocations", list_allocations, Permission::OnloadAllocations, {}, Access::Own},
    {"POST", "/v1/onload/allocations", create_allocation, Permission::OnloadAllocations, {}, Access::Own},
    {"DELETE", "/v1/onload/allocations/{id}", delete_allocation, Permission::OnloadAllocations, {}, Access::Own},
    {"GET", "/v1/config", show_config, Permission::None, {}, Access::Admin},
    {"POST", "/v1/config/reload", reload_config, Permission::None, {}, Access::Admin},
    {"GET", "/v1/health", show_health, Permission::Node},
    {"GET", "/metrics", show_metrics, Permission::Node},
    {"GET", "/", show_root, Permission::None, {}, Access::EveryRole},
    {"GET", "/v1", show_version, Permission::None, {}, Access::EveryRole},
    {"GET", "/v1/openapi.yaml", show_description, Permission::None, {}, Access::EveryRole, kYaml},
};

}  // namespace

RouteTable route_table() { return kRoutes; }

http::Handler routes(Services services, ServiceInfo info) {
  const auto bodies = std::make_shared<Bodies>(render_workloads, rmd::render_cache_level);
  return [services, info = std::move(info), bodies](const http::Request& request, http::Reply reply) {
    dispatch(kRoutes, {services, info, *bodies, request, {}, {}, {}}, std::move(reply));
  };
}

}  // namespace nrd::routing
