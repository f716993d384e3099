#include "api/v1/key_case.h"

#include <string>
#include <utility>
#include <vector>

#include "api/json/writer.h"
#include "api/v1/expect.h"
#include "base/ascii.h"

namespace nrd::v1 {
namespace {

using json::Value;

// Not deeper than the reader let it be.
Result<Value> folded(const Value& value, const std::string& here) {
  if (!value.is_object()) return value;
  std::vector<json::Member> members;
  for (const json::Member& member : value.members()) {
    std::string key = lower_case(member.key);
    const std::string field = json::pointer(here, member.key.substr(0, kQuoted));
    for (const json::Member& other : members) {
      if (other.key != key) continue;
      return fail_at(ErrorCode::BadRequest, field,
                     "the key " + json::quoted(key, kQuoted) + " occurs twice, in different case", "each key once");
    }
    Result<Value> inner = key == "plugins" || key == "onload" ? member.value : folded(member.value, field);
    if (!inner) return inner;
    members.push_back({std::move(key), *std::move(inner)});
  }
  return Value::object(std::move(members));
}

}  // namespace

Result<Value> with_folded_keys(const Value& body) { return folded(body, ""); }

}  // namespace nrd::v1
