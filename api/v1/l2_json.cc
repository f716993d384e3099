#include "api/v1/l2_json.h"

#include <string>

namespace nrd::v1 {
namespace {

using json::Value;

constexpr const char* kField = "/l2";
constexpr std::string_view kExample = "an object such as {\"ways\": 4}";

}  // namespace

Result<L2Fields> parse_l2(const Value& body, Null null) {
  const Value* l2 = body.find("l2");
  if (!l2) return L2Fields{};
  if (l2->is_null()) return L2Fields{.ways = {}, .code = {}, .is_removed = null == Null::Removes};
  TRY(require_object(kField, *l2, kExample));
  TRY(check_keys(*l2, kField, {"ways", "code"}));
  const auto ways = TRY(parse_ways(*l2, kField, "ways", 1));
  const auto code = TRY(parse_code_ways(*l2, kField));
  return L2Fields{.ways = ways, .code = code};
}

Result<std::optional<L2Request>> l2_request(const L2Fields& fields) {
  if (fields.ways) return std::optional(L2Request{.ways = *fields.ways, .code = fields.code.value_or(0)});
  if (!fields.code) return std::optional<L2Request>();
  return fail_at(ErrorCode::BadRequest, "/l2/ways", "is required with code", "both ways and code");
}

void render(json::Writer& w, const L2Request& request) {
  w.begin_object();
  w.key("ways").number(uint64_t{request.ways});
  if (request.code > 0) w.key("code").number(uint64_t{request.code});
  w.end_object();
}

}  // namespace nrd::v1
