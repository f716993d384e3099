#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "api/v1/onload/answer.h"
#include "api/v1/onload/onload.h"
#include "api/v1/onload/services.h"
#include "api/v1/workload_json.h"
#include "base/joined.h"
#include "engine/model/node_state.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

using namespace onload;

http::Response imported(const Version& version) {
  http::Response response = json_response(version);
  response.status = 201;
  response.headers.emplace_back("Location", "/v1/onload/versions/" + version.name);
  return response;
}

// Processes with allocations of this version, which may open its files at any time. Empty: none. No new ones can appear
// meanwhile: allocations use the effective version, which the controller does not remove.
std::string holders_of(const routing::Call& call, const std::string& version) {
  constexpr size_t kMost = 3;
  std::vector<std::string> holders;
  const auto allocations = call.launch->allocations.allocations();
  for (const Allocation& allocation : *allocations) {
    if (allocation.version != version) continue;
    holders.push_back(fmt::format("allocation {} (pid {})", allocation.id, allocation.owner.pid));
  }
  const auto state = call.engine.state();
  for (const auto& [id, workload] : state->workloads) {
    if (workload.spec.onload && workload.spec.onload->version == version) {
      holders.push_back("workload " + id_text(workload));
    }
  }
  return joined_first(kMost, holders);
}

}  // namespace

void list_onload_versions(const routing::Call& call, http::Reply reply) {
  call.launch->controller.list_versions(
      answer_with<std::vector<Version>>(call, std::move(reply), listed<std::vector<Version>>));
}

void import_onload_version(const routing::Call& call, http::Reply reply) {
  std::optional<Import> import = accept_body(call, reply, parse_import);
  if (!import) return;
  call.launch->controller.import(std::move(import->name), std::move(import->source),
                                 answer_with<Version>(call, std::move(reply), imported));
}

void delete_onload_version(const routing::Call& call, http::Reply reply) {
  if (!is_version(call.id)) return reply.send(not_found(call, "version"));
  if (const std::string holders = holders_of(call, std::string(call.id)); !holders.empty()) {
    const std::string message = fmt::format("files of version {} are in use by {}", call.id, holders);
    return reply.send(refuse(fail(ErrorCode::Conflict, message), call.error_style));
  }
  call.launch->controller.remove_version(std::string(call.id), answer_when_done(call, std::move(reply)));
}

}  // namespace nrd::v1
