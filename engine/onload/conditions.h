// Status conditions, one per question an operator or program asks: Loaded, VersionMatch, ...
//
// Computed from one Status; only the time of the last transition is carried over. docs/onload.md has the list. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onload/spec.h"

namespace nrd::onload {

struct Status;

struct Condition {
  enum class Status { True, False, Unknown };
  std::string_view type;
  Status status = Status::Unknown;
  std::string reason;   // machine-readable: "OtherModule"
  std::string message;  // for people; may be empty
  Time last_transition;
  friend bool operator==(const Condition&, const Condition&) = default;
};

// `before`: the previous conditions, for unchanged transition times.
std::vector<Condition> conditions_of(const Status& status, const std::vector<Condition>& before, Time now);

// What is wrong with the device nodes; empty: nothing. `open`: their owner and mode, nullopt: any.
std::string wrong_device(const std::vector<DeviceNode>& devices, const std::optional<Access>& open = {});
// Likewise, while device access should be open.
std::string wrong_device(const Status& status);

}  // namespace nrd::onload
