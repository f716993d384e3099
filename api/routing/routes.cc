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
#include "api/v1/operations.h"
#include "api/v1/policy.h"
#include "api/v1/pstate.h"
#include "api/v1/response_cache.h"
#include "api/v1/workload_json.h"
#include "api/v1/workloads.h"

namespace nrd::routing {
namespace {

using auth::Access;
using namespace v1;

// The whole service. Each line is also in docs/openapi.yaml and docs/api.md.
constexpr Route kRoutes[] = {
    {"GET", "/v1/workloads", list_workloads, "uuid origin name label since wait"},
    {"POST", "/v1/workloads", create_workload, "dry_run", Access::Own},
    {"GET", "/v1/workloads/{id}", show_workload, {}, Access::Own},
    {"PUT", "/v1/workloads/{id}", put_workload, "dry_run force", Access::Own},
    {"PATCH", "/v1/workloads/{id}", patch_workload, "dry_run force", Access::Own},
    {"DELETE", "/v1/workloads/{id}", delete_workload, "force", Access::Own},
    {"GET", "/v1/workloads/{id}/monitoring", show_monitoring},
    {"GET", "/v1/operations", list_operations},
    {"GET", "/v1/operations/{id}", show_operation, "wait", Access::Own},
    {"GET", "/v1/cache", rmd::show_caches},
    {"GET", "/v1/cache/{level}", rmd::show_cache_level},
    {"GET", "/v1/cache/{level}/{id}", rmd::show_cache},
    {"GET", "/v1/policy", list_policies},
    {"GET", "/v1/mba", rmd::show_mba},
    {"POST", "/v1/hospitality", rmd::show_hospitality, {}, Access::Reading},
    {"GET", "/v1/node", show_node},
    {"GET", "/v1/cpus", show_cpus},
    {"GET", "/v1/cpus/pools", list_cpu_pools},
    {"GET", "/v1/cpus/pools/{id}", show_cpu_pool},
    {"GET", "/v1/cpus/pools/{id}/check", check_cpu_pool},
    {"GET", "/v1/pstate", rmd::list_pstates, "view"},
    {"GET", "/v1/pstate/{id}", show_pstate},
    {"GET", "/v1/onload", show_onload, "since wait"},
    {"PUT", "/v1/onload", put_onload, "dryRun"},
    {"DELETE", "/v1/onload", delete_onload},
    {"POST", "/v1/onload/preflight", preflight_onload, {}, Access::Reading},
    {"POST", "/v1/onload/rollback", roll_back_onload},
    {"POST", "/v1/onload/drain", drain_onload},
    {"POST", "/v1/onload/undrain", undrain_onload},
    {"PUT", "/v1/onload/freeze", freeze_onload},
    {"GET", "/v1/onload/modules", list_onload_modules},
    {"GET", "/v1/onload/modules/{id}", show_onload_module},
    {"PATCH", "/v1/onload/modules/{id}/parameters", patch_onload_parameters, "reload"},
    {"GET", "/v1/onload/controlplane", show_control_plane},
    {"PATCH", "/v1/onload/controlplane", patch_control_plane, "reload"},
    {"POST", "/v1/onload/controlplane/restart", restart_control_plane},
    {"GET", "/v1/onload/users", list_onload_users},
    {"GET", "/v1/onload/stacks", list_onload_stacks, "kind"},
    {"GET", "/v1/onload/interfaces", list_onload_interfaces, {}, Access::Launch},
    {"PUT", "/v1/onload/interfaces/{id}/acceleration", accelerate_onload_interface},
    {"PUT", "/v1/onload/interfaces/{id}/afxdp", register_onload_interface},
    {"POST", "/v1/onload/verify", verify_onload},
    {"GET", "/v1/onload/versions", list_onload_versions},
    {"POST", "/v1/onload/versions", import_onload_version},
    {"DELETE", "/v1/onload/versions/{id}", delete_onload_version},
    {"GET", "/v1/onload/generations", list_onload_generations},
    {"GET", "/v1/onload/generations/{id}", show_onload_generation},
    {"GET", "/v1/onload/operations", list_onload_operations},
    {"GET", "/v1/onload/operations/{id}", show_onload_operation, "since wait"},
    {"POST", "/v1/onload/operations/{id}/cancel", cancel_onload_operation},
    {"GET", "/v1/onload/profiles", list_profiles, {}, Access::Launch},
    {"GET", "/v1/onload/profiles/{id}", show_profile, {}, Access::Launch},
    {"PUT", "/v1/onload/profiles/{id}", put_profile},
    {"DELETE", "/v1/onload/profiles/{id}", delete_profile},
    {"POST", "/v1/onload/render", render_profiles},
    {"GET", "/v1/onload/allocations", list_allocations, {}, Access::Own},
    {"POST", "/v1/onload/allocations", create_allocation, {}, Access::Own},
    {"DELETE", "/v1/onload/allocations/{id}", delete_allocation, {}, Access::Own},
    {"GET", "/v1/config", show_config, {}, Access::Admin},
    {"POST", "/v1/config/reload", reload_config, {}, Access::Admin},
    {"GET", "/v1/health", show_health},
    {"GET", "/metrics", show_metrics},
    {"GET", "/", show_root, {}, Access::EveryRole},
    {"GET", "/v1", show_version, {}, Access::EveryRole},
    {"GET", "/v1/openapi.yaml", show_description, {}, Access::EveryRole, kYaml},
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
