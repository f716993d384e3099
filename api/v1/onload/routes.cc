#include "api/v1/launch.h"
#include "api/v1/onload/onload.h"

namespace nrd::v1 {
namespace {

using auth::Access;
using auth::Permission;

// Each line is also in docs/openapi.yaml and docs/api.md.
constexpr routing::Route kRoutes[] = {
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
};

}  // namespace

routing::RouteTable launch_routes() { return kRoutes; }

}  // namespace nrd::v1
