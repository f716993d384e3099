#include "api/routing/query.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/json/writer.h"
#include "base/number.h"
#include "base/split.h"
#include "base/suggestions.h"

namespace nrd::routing {

Result<void> check_query(const Query& query, std::string_view known) {
  const std::vector<std::string_view> names = split(known, " ");
  for (const auto& [name, value] : query) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string field = "?" + name.substr(0, json::kQuoted);
    if (names.empty()) return fail_at(ErrorCode::BadRequest, field, "this path takes no parameters", "none");
    const std::string_view guess = closest(name, names);
    return fail_at(
        ErrorCode::BadRequest, field,
        fmt::format("unknown parameter {}{}", json::quoted(name, json::kQuoted), did_you_mean(guess, "\"", "\"")),
        std::string(known));
  }
  return {};
}

std::optional<std::string> text_in_query(const Query& query, const std::string& name) {
  const auto found = query.find(name);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

Result<bool> flag_in_query(const Query& query, const std::string& name) {
  const std::optional<std::string> text = text_in_query(query, name);
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  return fail_at(ErrorCode::BadRequest, "?" + name,
                 "expected true or false, found " + json::quoted(*text, json::kQuoted), "true or false");
}

Result<std::optional<uint64_t>> number_in_query(const Query& query, const std::string& name, uint64_t largest) {
  const std::optional<std::string> text = text_in_query(query, name);
  if (!text) return std::optional<uint64_t>();
  const auto number = parse_number<uint64_t>(*text);
  if (number && *number <= largest) return number;
  return fail_at(ErrorCode::BadRequest, "?" + name,
                 "expected a whole number, found " + json::quoted(*text, json::kQuoted),
                 fmt::format("0 to {}", largest));
}

Result<Wait> wait_in_query(const Query& query) {
  const auto since = TRY(number_in_query(query, "since", UINT64_MAX));
  const auto wait = TRY(number_in_query(query, "wait", kLongestWait));
  if (wait && !since) {
    return fail_at(ErrorCode::BadRequest, "?wait", "requires since, the last known revision", "both since and wait");
  }
  return Wait{.since = since, .longest = std::chrono::seconds(wait.value_or(0))};
}

}  // namespace nrd::routing
