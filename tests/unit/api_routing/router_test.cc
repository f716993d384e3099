#include "api/routing/router.h"

#include <doctest/doctest.h>

#include <utility>

#include "api/routing/routes.h"

namespace nrd::router_test {

using auth::Access;

namespace {

Access access(std::string_view method, std::string_view path) {
  return routing::access_to(routing::route_table(), method, path).access;
}

}  // namespace

TEST_CASE("the run role may create, read, change and delete a workload, and nothing else") {
  for (const char* method : {"GET", "HEAD", "PUT", "PATCH", "DELETE"})
    CHECK(access(method, "/v1/workloads/7") == Access::Own);
  CHECK(access("POST", "/v1/workloads") == Access::Own);
  for (const auto& [method, path] :
       {std::pair{"GET", "/v1/workloads"}, std::pair{"GET", "/v1/workloads/7/monitoring"}, std::pair{"GET", "/v1/node"},
        std::pair{"PUT", "/v1/onload/freeze"}, std::pair{"GET", "/v1/nowhere"}}) {
    CAPTURE(path);
    CHECK(access(method, path) == Access::ByMethod);
  }
}

TEST_CASE("a trailing slash does not turn the list of workloads into a workload of the run role") {
  CHECK(access("GET", "/v1/workloads/") == Access::ByMethod);
  CHECK(access("POST", "/v1/workloads/") == Access::Own);
}

TEST_CASE("no list of permissions contains a change of Onload itself or of the configuration") {
  const auto permission = [](const routing::Route& route) {
    return routing::access_to(routing::route_table(), route.method, route.pattern).permission;
  };
  for (const routing::Route& route : routing::route_table()) {
    CAPTURE(route.pattern);
    const bool is_onload =
        route.pattern.starts_with("/v1/onload") && route.pattern.find("/allocations") == route.pattern.npos;
    const bool is_change = !auth::only_reads(route.method, route.access);
    if (is_onload && is_change) CHECK(permission(route) == auth::Permission::None);
    if (is_onload && !is_change) CHECK(permission(route) == auth::Permission::OnloadRead);
    if (route.pattern.starts_with("/v1/config")) CHECK(permission(route) == auth::Permission::None);
    if (permission(route) == auth::Permission::Node) CHECK_FALSE(is_change);
  }
}

TEST_CASE("the user role may make the POSTs that change nothing") {
  CHECK(access("POST", "/v1/hospitality") == Access::Reading);
  CHECK(access("POST", "/v1/onload/preflight") == Access::Reading);
  CHECK(access("POST", "/v1/onload/verify") == Access::ByMethod);
}

TEST_CASE("every role may read the links and the description of the API") {
  for (const char* path : {"/", "/v1", "/v1/", "/v1/openapi.yaml"}) {
    CAPTURE(path);
    CHECK(access("GET", path) == Access::EveryRole);
    CHECK(access("HEAD", path) == Access::EveryRole);
    CHECK(access("POST", path) == Access::ByMethod);
  }
}

}  // namespace nrd::router_test
