// What a client can discover without documents: the paths of the service, and their description in OpenAPI.
#pragma once

#include <string_view>

#include "api/http/message.h"
#include "api/routing/call.h"

namespace nrd::routing {

constexpr std::string_view kYaml = "application/yaml";  // RFC 9512

void show_root(const Call& call, http::Reply reply);
// Links to each path below /v1 that can be read without an id.
void show_version(const Call& call, http::Reply reply);
// docs/openapi.yaml, as compiled in.
void show_description(const Call& call, http::Reply reply);

}  // namespace nrd::routing
