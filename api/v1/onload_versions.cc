#include "api/v1/onload_versions.h"

#include <string>
#include <utility>
#include <vector>

#include "api/json/reader.h"
#include "api/v1/onload_answer.h"

namespace nrd::v1 {
namespace {

using namespace onload;

http::Response imported(const InstalledVersion& version) {
  http::Response response = rendered(version);
  response.status = 201;
  response.headers.emplace_back("Location", "/v1/onload/versions/" + version.name);
  return response;
}

}  // namespace

void list_onload_versions(const Call& call, http::Reply reply) {
  call.onload.list_versions(
      answer_with<std::vector<InstalledVersion>>(call, std::move(reply), listed<std::vector<InstalledVersion>>));
}

void import_onload_version(const Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(problem_of_body(body.error()), call.error_style));
  Result<Import> import = parse_import(*body);
  if (!import) return reply.send(refuse(import.error(), call.error_style));
  call.onload.import(std::move(import->name), std::move(import->source),
                     answer_with<InstalledVersion>(call, std::move(reply), imported));
}

void delete_onload_version(const Call& call, http::Reply reply) {
  if (!is_version(call.id)) {
    return reply.send(refuse({ErrorCode::NotFound, {}, "there is no such version", {}, {}, {}}, call.error_style));
  }
  call.onload.remove_version(std::string(call.id), answer_when_done(call, std::move(reply)));
}

}  // namespace nrd::v1
