#include "api/routing/request_counters.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nrd::routing {
namespace {

constexpr std::array kStatuses = {200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406,
                                  409, 412, 413, 415, 422, 423, 428, 429, 500, 501, 503};
constexpr size_t kColumns = kStatuses.size() + 1;  // the last one: other

size_t column_of(int status) { return static_cast<size_t>(std::ranges::find(kStatuses, status) - kStatuses.begin()); }

}  // namespace

// The last row counts requests without a route.
RequestCounters::RequestCounters(RouteTable table) : table_(table), answers_((table.size() + 1) * kColumns) {}

void RequestCounters::count(std::string_view method, std::string_view path, int status) {
  const Route* route = find(table_, method, path).route;
  const size_t row = route ? static_cast<size_t>(route - table_.data()) : table_.size();
  answers_[row * kColumns + column_of(status)].fetch_add(1, std::memory_order_relaxed);
}

std::vector<RequestCounters::Count> RequestCounters::counts() const {
  std::vector<Count> counts;
  for (size_t i = 0; i < answers_.size(); ++i) {
    const uint64_t answers = answers_[i].load(std::memory_order_relaxed);
    if (answers == 0) continue;
    const size_t row = i / kColumns;
    const size_t column = i % kColumns;
    const bool has_route = row < table_.size();
    counts.push_back({.method = std::string(has_route ? table_[row].method : "other"),
                      .route = std::string(has_route ? table_[row].pattern : "none"),
                      .status = column < kStatuses.size() ? std::to_string(kStatuses[column]) : "other",
                      .answers = answers});
  }
  return counts;
}

http::Handler counted(std::shared_ptr<RequestCounters> counters, http::Handler inside) {
  return [counters = std::move(counters), inside = std::move(inside)](http::Request request, http::Reply reply) {
    http::Reply counting([counters, reply, method = request.method, path = request.path](http::Response response) {
      counters->count(method, path, response.status);
      reply.send(std::move(response));
    });
    inside(std::move(request), std::move(counting));
  };
}

}  // namespace nrd::routing
