#include "api/v1/flag_json.h"

#include <optional>

#include "base/json/validation.h"

namespace nrd::v1 {

using json::Value;

Result<bool> parse_flag(const Value& body, std::string_view key, bool otherwise) {
  const Value* value = body.find(key);
  if (value == nullptr) return otherwise;
  if (const std::optional<bool> flag = value->as_bool()) return *flag;
  return wrong_type(json::pointer("", key), *value, "true or false");
}

}  // namespace nrd::v1
