// What identifies a workload in a request: id, uuid, name and labels, which clients choose.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json/value.h"
#include "base/result.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// Empty if the body has none.
Result<std::string> parse_uuid(const json::Value& body);
Result<std::string> parse_given_id(const json::Value& body);
Result<std::string> parse_unit(const json::Value& body);
Result<std::string> parse_cgroup(const json::Value& body);
// BadRequest at /id.
Result<void> check_given_id(const std::string& id);

// nullopt: not given; empty: null or "".
Result<std::optional<std::string>> parse_name(const json::Value& body);
// nullopt: not given; an inner nullopt: null. A label that is null is removed.
Result<Change<std::map<std::string, std::optional<std::string>>>> parse_labels(const json::Value& body);

}  // namespace nrd::v1
