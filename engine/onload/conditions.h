// What is so and what is not, one line for each question an operator or a program asks: Loaded, VersionMatch, ...
//
// All of it follows from what the controller knows at one moment; nothing is remembered but since when it is so, as far
// as nrd has been looking. docs/onload.md has the list. Pure.
#pragma once

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
  std::string reason;   // one word for programs: "OtherModule"
  std::string message;  // for people; empty: there is nothing to say
  Time last_transition;
  friend bool operator==(const Condition&, const Condition&) = default;
};

// `before`: those of the moment before, for what has not changed since.
std::vector<Condition> conditions_of(const Status& status, const std::vector<Condition>& before, Time now);

// What is wrong with the devices while the device_access should be open; empty: nothing.
std::string wrong_device(const Status& status);

}  // namespace nrd::onload
