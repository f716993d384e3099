#include "api/v1/routes.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "api/auth/access.h"
#include "api/rmd/texts.h"
#include "api/v1/cache.h"
#include "api/v1/call.h"
#include "api/v1/health.h"
#include "api/v1/hospitality.h"
#include "api/v1/mba.h"
#include "api/v1/metrics.h"
#include "api/v1/monitoring.h"
#include "api/v1/node.h"
#include "api/v1/onload/allocations.h"
#include "api/v1/onload/onload.h"
#include "api/v1/onload/profiles.h"
#include "api/v1/onload/verbs.h"
#include "api/v1/onload/versions.h"
#include "api/v1/policy.h"
#include "api/v1/problem.h"
#include "api/v1/pstate.h"
#include "api/v1/query.h"
#include "api/v1/workload_json.h"
#include "api/v1/workloads.h"

namespace nrd::v1 {
namespace {

struct Route {
  std::string_view method;
  std::string_view pattern;
  void (*handler)(const Call&, http::Reply);
  bool only_reads = false;      // a POST that changes nothing
  std::string_view query = {};  // names of the accepted parameters
};

// The whole service. Each line is also in docs/openapi.yaml and docs/api.md.
constexpr Route kRoutes[] = {
    {"GET", "/v1/workloads", list_workloads, false, "uuid origin since wait"},
    {"POST", "/v1/workloads", create_workload, false, "dry_run"},
    {"GET", "/v1/workloads/{id}", show_workload},
    {"PATCH", "/v1/workloads/{id}", patch_workload, false, "dry_run"},
    {"DELETE", "/v1/workloads/{id}", delete_workload},
    {"GET", "/v1/workloads/{id}/monitoring", show_monitoring},
    {"GET", "/v1/cache", show_caches},
    {"GET", "/v1/cache/{level}", show_cache_level},
    {"GET", "/v1/cache/{level}/{id}", show_cache},
    {"GET", "/v1/policy", list_policies},
    {"GET", "/v1/mba", show_mba},
    {"POST", "/v1/hospitality", show_hospitality, true},
    {"GET", "/v1/node", show_node},
    {"GET", "/v1/pstate", list_pstates, false, "view"},
    {"GET", "/v1/pstate/{id}", show_pstate},
    {"GET", "/v1/onload", show_onload, false, "since wait"},
    {"PUT", "/v1/onload", put_onload, false, "dryRun"},
    {"DELETE", "/v1/onload", delete_onload},
    {"POST", "/v1/onload/preflight", preflight_onload, true},
    {"POST", "/v1/onload/rollback", roll_back_onload},
    {"POST", "/v1/onload/drain", drain_onload},
    {"POST", "/v1/onload/undrain", undrain_onload},
    {"PUT", "/v1/onload/freeze", freeze_onload},
    {"GET", "/v1/onload/modules", list_onload_modules},
    {"GET", "/v1/onload/modules/{id}", show_onload_module},
    {"PATCH", "/v1/onload/modules/{id}/parameters", patch_onload_parameters, false, "reload"},
    {"GET", "/v1/onload/controlplane", show_control_plane},
    {"PATCH", "/v1/onload/controlplane", patch_control_plane, false, "reload"},
    {"POST", "/v1/onload/controlplane/restart", restart_control_plane},
    {"GET", "/v1/onload/users", list_onload_users},
    {"GET", "/v1/onload/stacks", list_onload_stacks, false, "kind"},
    {"POST", "/v1/onload/stacks/orphans/kill", kill_orphans},
    {"GET", "/v1/onload/interfaces", list_onload_interfaces},
    {"PUT", "/v1/onload/interfaces/{id}/acceleration", accelerate_onload_interface},
    {"PUT", "/v1/onload/interfaces/{id}/afxdp", register_onload_interface},
    {"POST", "/v1/onload/verify", verify_onload},
    {"GET", "/v1/onload/versions", list_onload_versions},
    {"POST", "/v1/onload/versions", import_onload_version},
    {"DELETE", "/v1/onload/versions/{id}", delete_onload_version},
    {"GET", "/v1/onload/generations", list_onload_generations},
    {"GET", "/v1/onload/generations/{id}", show_onload_generation},
    {"GET", "/v1/onload/operations", list_onload_operations},
    {"GET", "/v1/onload/operations/{id}", show_onload_operation, false, "since wait"},
    {"POST", "/v1/onload/operations/{id}/cancel", cancel_onload_operation},
    {"GET", "/v1/onload/profiles", list_profiles},
    {"GET", "/v1/onload/profiles/{id}", show_profile},
    {"PUT", "/v1/onload/profiles/{id}", put_profile},
    {"DELETE", "/v1/onload/profiles/{id}", delete_profile},
    {"POST", "/v1/onload/render", render_profiles},
    {"GET", "/v1/onload/allocations", list_allocations},
    {"POST", "/v1/onload/allocations", create_allocation},
    {"DELETE", "/v1/onload/allocations/{id}", delete_allocation},
    {"GET", "/v1/health", show_health},
    {"GET", "/metrics", show_metrics},
};

// The segments of the path that match {id} and {level}.
struct Parts {
  std::string_view id;
  std::string_view level;
};

// Takes "/part" from the front of `rest`.
std::string_view next_part(std::string_view& rest) {
  const std::string_view part = rest.substr(1, rest.find('/', 1) - 1);
  rest.remove_prefix(part.size() + 1);
  return part;
}

std::optional<Parts> match(std::string_view pattern, std::string_view path) {
  // Fast path, ten times faster than comparing segments: most patterns differ before the first placeholder.
  if (!path.starts_with(pattern.substr(0, pattern.find('{')))) return std::nullopt;
  Parts parts;
  while (!pattern.empty() && path.starts_with('/')) {
    const std::string_view wanted = next_part(pattern);
    const std::string_view given = next_part(path);
    const bool is_named = wanted == "{id}" || wanted == "{level}";
    if (is_named ? given.empty() : wanted != given) return std::nullopt;
    if (is_named) (wanted == "{id}" ? parts.id : parts.level) = given;
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parts;
}

// The route for a path and method.
struct Match {
  const Route* route = nullptr;
  Parts parts;
  std::string allow;  // "GET, POST": the methods of the path; empty if the path is unknown
};

Match find(std::string_view method, std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  Match found;
  for (const Route& route : kRoutes) {
    const std::optional<Parts> parts = match(route.pattern, path);
    if (!parts) continue;
    found.allow += (found.allow.empty() ? "" : ", ") + std::string(route.method);
    if (route.method != method) continue;
    found.route = &route;
    found.parts = *parts;
  }
  return found;
}

http::Response refuse(int status, const char* code, std::string_view line, const char* detail, ErrorStyle style) {
  return render(
      {.status = status, .code = code, .line = std::string(line), .detail = detail, .field = {}, .allowed = {}}, style);
}

// A body needs Content-Type: application/json. Without a body the header may be absent; RMD's clients send it on DELETE
// too.
bool is_content_type_accepted(const http::Request& request) {
  const bool has_body = request.method == "POST" || request.method == "PATCH" || request.method == "PUT";
  return is_json(request.content_type) || (!has_body && request.content_type.empty());
}

// Checks in RMD's order: path, method, Content-Type, Accept.
void dispatch(const Services& services, const Service& service, Bodies& bodies, const http::Request& request,
              http::Reply reply) {
  const std::optional<ErrorStyle> accepted = error_style(request.accept);
  const ErrorStyle style = accepted.value_or(ErrorStyle::Text);
  const Match found = find(request.method, request.path);
  if (found.allow.empty()) {
    return reply.send(refuse(404, "NoSuchPath", rmd::kPageNotFound, "no such path", style));
  }
  if (!found.route) {
    http::Response response =
        refuse(405, "WrongMethod", rmd::kMethodNotAllowed, "method not allowed for this path", style);
    response.headers.emplace_back("Allow", found.allow);
    return reply.send(std::move(response));
  }
  if (!is_content_type_accepted(request)) {
    return reply.send(
        refuse(415, "WrongContentType", rmd::kUnsupportedMediaType, "Content-Type must be application/json", style));
  }
  if (!accepted) {
    return reply.send(refuse(406, "NotAcceptable", rmd::kNotAcceptable,
                             "no acceptable representation; available: application/json, text/plain, "
                             "application/problem+json",
                             style));
  }
  if (const Result<void> checked = check_query(request.query, found.route->query); !checked) {
    return reply.send(render(problem_of_request(checked.error()), style));
  }
  found.route->handler({request, found.parts.id, found.parts.level, style, services.engine, services.owners,
                        services.onload, services.allocations, services.watchers, service, bodies},
                       std::move(reply));
}

}  // namespace

bool only_reads(std::string_view method, std::string_view path) {
  const Route* route = find(method, path).route;
  return auth::is_reading(method) || (route && route->only_reads);
}

size_t route_count() { return std::size(kRoutes); }

RouteName route_name(size_t number) { return {kRoutes[number].method, kRoutes[number].pattern}; }

std::optional<size_t> route_number(std::string_view method, std::string_view path) {
  const Route* route = find(method, path).route;
  return route ? std::optional(static_cast<size_t>(route - kRoutes)) : std::nullopt;
}

http::Handler routes(Services services, Service service) {
  const auto bodies = std::make_shared<Bodies>(render_workloads, render_cache_level);
  return [services, service = std::move(service), bodies](const http::Request& request, http::Reply reply) {
    dispatch(services, service, *bodies, request, std::move(reply));
  };
}

}  // namespace nrd::v1
