#include "api/tree/tree.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace nrd::tree {

Failure at_line(const std::string& name, size_t line, const std::string& problem) {
  return fail(ErrorCode::BadRequest, name + ":" + std::to_string(line) + ": " + problem);
}

bool add_member(std::vector<json::Member>& members, std::string_view key, json::Value value) {
  std::string lower = lower_case(key);
  const bool is_new =
      std::ranges::none_of(members, [&lower](const json::Member& member) { return member.key == lower; });
  if (is_new) members.push_back({std::move(lower), std::move(value)});
  return is_new;
}

}  // namespace nrd::tree
