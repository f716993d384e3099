// Finds the handler of a request in a table of routes and checks what holds for all of them: method, Content-Type,
// Accept and the names of query parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/auth/access.h"
#include "api/http/message.h"

namespace nrd::routing {

struct Call;

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/workloads/{id}"
  void (*handler)(const Call&, http::Reply);
  auth::Permission permission = auth::Permission::None;
  std::string_view query = {};  // names of the accepted parameters
  auth::Access access = auth::Access::ByMethod;
  std::string_view media = {};  // type of the representation, unless it is JSON or text
};
using RouteTable = std::span<const Route>;

// The segments of a path that match {id} and {level}.
struct Parts {
  std::string_view id;
  std::string_view level;
};

struct Match {
  const Route* route = nullptr;  // null: the path is unknown or has other methods
  Parts parts;
  std::string allow;  // "GET, HEAD, POST": the methods of the path; empty if the path is unknown
};
// HEAD matches the route for GET.
Match find(RouteTable table, std::string_view method, std::string_view path);

// ByMethod and None if there is no such route.
auth::Needs access_to(RouteTable table, std::string_view method, std::string_view path);

// Calls the handler of the request's route, or replies with an error. `call` lacks what the path and Accept say.
void dispatch(RouteTable table, Call call, http::Reply reply);

}  // namespace nrd::routing
