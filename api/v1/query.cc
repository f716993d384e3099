#include "api/v1/query.h"

#include <algorithm>
#include <charconv>

#include "api/v1/expect.h"
#include "base/joined.h"

namespace nrd::v1 {

Result<void> check_query(const http::Request& request, const std::vector<std::string>& known) {
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return fail_at(ErrorCode::BadRequest, "?" + name.substr(0, kQuoted), "is not known here", joined(known, ", "));
  }
  return {};
}

Result<std::optional<uint64_t>> number_in_query(const http::Request& request, const std::string& name, uint64_t most) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::optional<uint64_t>();
  const std::string& text = found->second;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number <= most) return std::optional(number);
  return fail_at(ErrorCode::BadRequest, "?" + name, "\"" + text.substr(0, kQuoted) + "\" is no such number",
                 "0 to " + std::to_string(most));
}

Result<bool> flag_in_query(const http::Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  if (found == request.query.end() || found->second == "false") return false;
  if (found->second == "true") return true;
  return fail_at(ErrorCode::BadRequest, "?" + name, "\"" + found->second.substr(0, kQuoted) + "\" is neither",
                 "true or false");
}

}  // namespace nrd::v1
