#include "api/tree/tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace nrd::tree {

Failure at_line(const std::string& name, size_t line, const std::string& problem) {
  return fail(ErrorCode::BadRequest, fmt::format("{}:{}: {}", name, line, problem));
}

bool add_member(std::vector<json::Member>& members, std::string_view key, json::Value value, KeyCase keys) {
  std::string name = keys == KeyCase::Lower ? lower_case(key) : std::string(key);
  const bool is_new = std::ranges::none_of(members, [&name](const json::Member& member) { return member.key == name; });
  if (is_new) members.push_back({std::move(name), std::move(value)});
  return is_new;
}

}  // namespace nrd::tree
