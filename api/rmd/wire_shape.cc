#include "api/rmd/wire_shape.h"

#include <fmt/core.h>

#include <set>
#include <string_view>
#include <utility>

#include "api/rmd/texts.h"
#include "base/ascii.h"
#include "base/json/validation.h"
#include "base/json/writer.h"

namespace nrd::rmd {
namespace {

using json::Value;

Failure occurs_twice(const std::string& here, const std::string& key) {
  return fail_at(
      ErrorCode::BadRequest, json::pointer(here, key.substr(0, json::kQuoted)),
      fmt::format("the key {} occurs twice, differing only in case", json::quoted(lower_case(key), json::kQuoted)),
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

void add(std::vector<Part>& places, std::string pointer, const Value* value) {
  if (value) places.push_back({std::move(pointer), value});
}

const Value* within(const Value& outer, std::string_view key) { return outer.is_null() ? &outer : outer.find(key); }

Result<void> check_rdt(const Value& rdt) {
  if (rdt.is_null()) return {};
  TRY(require_object("/rdt", rdt, "an object such as {\"cache\": {\"max\": 2, \"min\": 2}}"));
  return check_keys(rdt, "/rdt", {"cache", "mba"});
}

Result<void> check_plugins(const Value& plugins) {
  if (is_absent(plugins) && !plugins.is_object()) return {};
  TRY(require_object("/plugins", plugins, "an object such as {\"pstate\": {\"max_ratio\": 30}}"));
  for (const json::Member& member : plugins.members()) {
    if (member.key == "pstate" || is_absent(member.value)) continue;
    return no_such_plugin(json::pointer("/plugins", member.key.substr(0, json::kQuoted)));
  }
  return {};
}

}  // namespace

Result<Value> with_canonical_keys(const Value& body) { return folded(body, ""); }

Result<Parts> parts_of(const Value& body) {
  Parts parts;
  if (const Value* rdt = body.find("rdt")) {
    TRY(check_rdt(*rdt));
    add(parts.cache, "/rdt/cache", within(*rdt, "cache"));
    add(parts.mba, "/rdt/mba", within(*rdt, "mba"));
  }
  if (const Value* plugins = body.find("plugins")) {
    TRY(check_plugins(*plugins));
    add(parts.pstate, "/plugins/pstate", within(*plugins, "pstate"));
  }
  add(parts.cache, "/cache", body.find("cache"));
  add(parts.pstate, "/pstate", body.find("pstate"));
  return parts;
}

std::string ratio_literal(const Value& body) {
  const auto in = [](const Value* object, std::string_view key) { return object ? object->find(key) : nullptr; };
  for (const Value* pstate : {in(body.find("plugins"), "pstate"), body.find("pstate")}) {
    const Value* ratio = in(pstate, "ratio");
    if (ratio && ratio->literal() && !is_absent(*ratio)) return *ratio->literal();
  }
  return {};
}

Shape shape_of(const Value& body) {
  const auto is_nested = [&body](std::string_view key, std::string_view parent) {
    const Value* outer = body.find(parent);
    return !body.find(key) && outer && outer->find(key);
  };
  return {.has_nested_cache = is_nested("cache", "rdt"), .has_nested_pstate = is_nested("pstate", "plugins")};
}

Error pointing_into(Shape shape, Error error) {
  if (shape.has_nested_cache && error.field.starts_with("/cache")) error.field.insert(0, "/rdt");
  if (shape.has_nested_pstate && error.field.starts_with("/pstate")) error.field.insert(0, "/plugins");
  return error;
}

}  // namespace nrd::rmd
