#include "api/routing/index.h"

#include <string>
#include <utility>

#include "api/routing/answer.h"
#include "api/routing/description.h"
#include "api/routing/etag.h"
#include "api/routing/routes.h"
#include "base/json/object.h"

namespace nrd::routing {
namespace {

constexpr std::string_view kVersion = "/v1";

// Writes `links` between the name and version of the service and the end of the object.
template <typename Links>
http::Response index(const Call& call, Links links) {
  const auto write_links = [&links](json::Writer& w) {
    w.begin_object();
    links(w);
    w.end_object();
  };
  return json_answer(200,
                     json::document({{"service", "nrd"}, {"version", call.service.version}, {"links", write_links}}));
}

}  // namespace

void show_root(const Call& call, http::Reply reply) {
  reply.send(index(call, [](json::Writer& w) {
    w.key("v1").string(kVersion);
    w.key("openapi").string("/v1/openapi.yaml");
    w.key("health").string("/v1/health");
    w.key("metrics").string("/metrics");
  }));
}

void show_version(const Call& call, http::Reply reply) {
  reply.send(index(call, [](json::Writer& w) {
    for (const Route& route : route_table()) {
      const bool is_below = route.pattern.starts_with(kVersion) && route.pattern.size() > kVersion.size();
      if (route.method != "GET" || !is_below || route.pattern.find('{') != route.pattern.npos) continue;
      w.key(route.pattern.substr(kVersion.size() + 1)).string(route.pattern);
    }
  }));
}

void show_description(const Call& call, http::Reply reply) {
  constexpr int kNotModified = 304;
  http::Response response{.headers = {{"ETag", kDescriptionTag}}};
  if (has_already(call.request.if_none_match, kDescriptionTag)) {
    response.status = kNotModified;
  } else {
    response.content_type = kYaml;
    response.body = kDescription;
  }
  reply.send(std::move(response));
}

}  // namespace nrd::routing
