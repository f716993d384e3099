#include "api/rmd/case_insensitive_keys.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/json/writer.h"

namespace nrd::rmd {
namespace {

using json::Value;

Failure occurs_twice(const std::string& here, const std::string& key) {
  return fail_at(ErrorCode::BadRequest, json::pointer(here, key.substr(0, json::kQuoted)),
                 "the key " + json::quoted(lower_case(key), json::kQuoted) + " occurs twice, differing only in case",
                 "each key once");
}

// The reader bounds the depth. A sorted set, not a hash table, because clients choose the keys.
Result<Value> folded(const Value& value, const std::string& here) {
  if (!value.is_object()) return value;
  std::set<std::string> seen;
  std::vector<json::Member> members;
  members.reserve(value.members().size());
  for (const json::Member& member : value.members()) {
    std::string key = lower_case(member.key);
    if (!seen.insert(key).second) return occurs_twice(here, member.key);
    const bool stays = key == "plugins" || key == "onload" || key == "labels" || !member.value.is_object();
    Result<Value> inner =
        stays ? member.value : folded(member.value, json::pointer(here, member.key.substr(0, json::kQuoted)));
    if (!inner) return inner;
    members.push_back({std::move(key), *std::move(inner)});
  }
  return Value::object(std::move(members));
}

}  // namespace

Result<Value> with_canonical_keys(const Value& body) { return folded(body, ""); }

}  // namespace nrd::rmd
