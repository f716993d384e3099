// The controller's knowledge at one moment, its conditions, and queries on it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/onload/documents.h"
#include "engine/onload/spec.h"
#include "engine/onload/target.h"

namespace nrd::onload {

// One question that an operator or program asks: Loaded, VersionMatch, ... Computed from one Status; only the time of
// the last transition is carried over. docs/onload.md has the list.
struct Condition {
  enum class Status { True, False, Unknown };
  std::string_view type;
  Status status = Status::Unknown;
  std::string reason;   // machine-readable: "OtherModule"
  std::string message;  // for people; may be empty
  Time last_transition;
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct Status {
  uint64_t revision = 0;                // incremented with each publication since start
  std::vector<Generation> generations;  // ordered by number
  std::vector<Operation> operations;    // ordered by id
  Freeze freeze;
  std::vector<InterfaceSpec> interfaces;  // requested settings of single interfaces
  bool drained = false;                   // device access stays closed
  ObservedState observed;                 // from the last observation
  std::string problem;                    // why the last observation failed; empty if it succeeded
  std::string drift;                      // difference from the last verified generation; empty: none
  std::optional<Target> target;           // of the effective generation; nullopt: none, or not available
  std::vector<Condition> conditions;
  bool device_access_open = false;  // Onload is loaded and verified, and no operation runs
  friend bool operator==(const Status&, const Status&) = default;
};

// Equal except for the revision and process ages.
bool shows_same(const Status& one, const Status& other);

// `before`: the previous conditions, for unchanged transition times.
std::vector<Condition> conditions_of(const Status& status, const std::vector<Condition>& before, Time now);

// What is wrong with the device nodes; empty: nothing. `open`: their owner and mode, nullopt: any.
std::string wrong_device(const std::vector<DeviceNode>& devices, const std::optional<Access>& open = {});
// Likewise, while device access should be open.
std::string wrong_device(const Status& status);

// The effective generation: the last verified one. Null: none.
const Generation* effective(const Status& status);
const Generation* find_generation(const Status& status, uint64_t number);
const Operation* running(const Status& status);
const Operation* last_change(const Status& status);  // or restart of the control plane; drains do not count. Null: none
bool last_failed(const Status& status);              // the last change
bool is_cancelled(const Status& status);             // the running operation is to be rolled back
bool is_draining(const Status& status);              // a drain is running
uint64_t last_generation(const Status& status);      // 0: none
uint64_t next_operation(const Status& status);

// The spec of generation `to`, or of the last verified generation before the effective one.
Result<Spec> spec_before(const Status& status, std::optional<uint64_t> to);
// Why a version cannot be removed; nullopt: it is unused.
std::optional<std::string> need_of(const Status& status, const std::string& version);

// Adds deletions to `change` so that with what it adds `kept` generations and operations remain; keeps the effective
// generation.
void forget_oldest(const Status& status, size_t kept, Change& change);
// Of a stored `change`: adds its generations and operations, which are new, removes those that it deletes, and takes
// over what is drained.
void take_over(Status& status, const Change& change);

}  // namespace nrd::onload
