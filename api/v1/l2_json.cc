#include "api/v1/l2_json.h"

#include <limits>
#include <string>

namespace nrd::v1 {
namespace {

using json::Value;

constexpr const char* kField = "/l2";
constexpr std::string_view kExample = "an object such as {\"ways\": 4}";

Result<std::optional<uint32_t>> parse_ways(const Value& l2, std::string_view key, uint32_t least) {
  const Value* value = l2.find(key);
  if (!value) return std::optional<uint32_t>();
  const std::optional<uint64_t> ways = value->as_unsigned();
  if (ways && *ways >= least && *ways <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(*ways);
  return fail_at(ErrorCode::BadRequest, json::pointer(kField, key),
                 "expected a whole number of ways, found " + shown(*value), std::to_string(least) + " to 4294967295");
}

}  // namespace

Result<L2Wish> parse_l2(const Value& body, Null null) {
  const Value* l2 = body.find("l2");
  if (!l2) return L2Wish{};
  if (l2->is_null()) return L2Wish{.ways = {}, .code = {}, .is_taken_away = null == Null::TakesAway};
  if (const auto object = require_object(kField, *l2, kExample); !object) return Failure(object.error());
  if (const auto known = check_keys(*l2, kField, {"ways", "code"}); !known) return Failure(known.error());
  const auto ways = parse_ways(*l2, "ways", 1);
  if (!ways) return Failure(ways.error());
  const Value* given = l2->find("code");
  const auto code = given && given->is_null() ? std::optional<uint32_t>(0) : parse_ways(*l2, "code", 0);
  if (!code) return Failure(code.error());
  return L2Wish{.ways = *ways, .code = *code};
}

Result<std::optional<L2Request>> l2_request(const L2Wish& wish) {
  if (wish.ways) return std::optional(L2Request{.ways = *wish.ways, .code = wish.code.value_or(0)});
  if (!wish.code) return std::optional<L2Request>();
  return fail_at(ErrorCode::BadRequest, "/l2/ways", "is missing", "ways beside code");
}

void render(json::Writer& w, const L2Request& request) {
  w.begin_object();
  w.key("ways").number(uint64_t{request.ways});
  if (request.code > 0) w.key("code").number(uint64_t{request.code});
  w.end_object();
}

}  // namespace nrd::v1
