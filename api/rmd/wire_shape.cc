#include "api/rmd/wire_shape.h"

#include <string_view>

namespace nrd::rmd {

using json::Value;

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
