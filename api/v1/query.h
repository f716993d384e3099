// Query parameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::v1 {

using Query = std::map<std::string, std::string>;

// BadRequest for a parameter that is not among `known`, which is separated by blanks.
Result<void> check_query(const Query& query, std::string_view known);

// "true" or "false"; false if absent.
Result<bool> flag_in_query(const Query& query, const std::string& name);
// nullopt if absent.
Result<std::optional<uint64_t>> number_in_query(const Query& query, const std::string& name, uint64_t largest);

// The query of GET /v1/workloads.
struct ListQuery {
  std::optional<std::string> uuid;
  std::optional<std::string> origin;
  std::optional<uint64_t> since;  // a revision
  std::chrono::seconds wait{};    // how long to wait while the revision equals `since`; 0: no wait
  bool is_whole() const { return !uuid && !origin; }
};
constexpr uint64_t kLongestWait = 60;  // seconds
Result<ListQuery> parse_list_query(const Query& query);

}  // namespace nrd::v1
