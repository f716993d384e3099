// Query parameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::routing {

using Query = std::map<std::string, std::string>;

// BadRequest for a parameter that is not among `known`, which is separated by blanks.
Result<void> check_query(const Query& query, std::string_view known);

// nullopt if absent.
std::optional<std::string> text_in_query(const Query& query, const std::string& name);
// "true" or "false"; false if absent.
Result<bool> flag_in_query(const Query& query, const std::string& name);
// nullopt if absent.
Result<std::optional<uint64_t>> number_in_query(const Query& query, const std::string& name, uint64_t largest);

constexpr uint64_t kLongestWait = 60;  // seconds of a long poll

// ?since=REVISION&wait=SECONDS: answer when the revision is no longer `since`, or after `wait`; 0: at once.
struct Wait {
  std::optional<uint64_t> since{};
  std::chrono::seconds longest{};
};
Result<Wait> wait_in_query(const Query& query);

}  // namespace nrd::routing
