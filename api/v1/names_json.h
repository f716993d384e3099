// What identifies a workload in a request: id, uuid, name and labels, which clients choose, and the names that it
// refers to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/value.h"
#include "base/result.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// A member that is a text.
struct TextMember {
  std::string_view key;
  std::string_view allowed;
  bool (*is_valid)(const std::string&);
  const char* complaint;
};
extern const TextMember kUuid, kGivenId, kUnit, kCgroup, kPolicy;
// Empty if the body has none, null or "".
Result<std::string> parse_text(const json::Value& body, const TextMember& member);
// BadRequest at /id.
Result<void> check_given_id(const std::string& id);

// nullopt: not given; empty: null or "".
Result<std::optional<std::string>> parse_name(const json::Value& body);
// nullopt: not given; an inner nullopt: null. A label that is null is removed.
Result<Change<std::map<std::string, std::optional<std::string>>>> parse_labels(const json::Value& body);

}  // namespace nrd::v1
