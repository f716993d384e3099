// What the controller knows at one moment, and questions about it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/onload/conditions.h"
#include "engine/onload/spec.h"
#include "engine/onload/target.h"
#include "store/onload/records.h"

namespace nrd::onload {

struct Status {
  uint64_t revision = 0;                // grows with each publication, since start
  std::vector<Generation> generations;  // ordered by number
  std::vector<Operation> operations;    // ordered by id
  Freeze freeze;
  std::vector<InterfaceSpec> interfaces;  // what is wanted of single ones
  bool drained = false;                   // the device_access is kept shut
  Seen seen;                              // as of the last look
  std::string problem;                    // why that look failed; empty if it did not
  std::string drift;                      // what is not as the last verified generation wants it; empty: nothing
  std::optional<Target> target;  // of the generation in force, as of the last look; nullopt: none, or not to be had
  std::vector<Condition> conditions;
  bool door_open = false;  // new users may come: Onload is loaded and verified, and no operation is under plan
  friend bool operator==(const Status&, const Status&) = default;
};

// But for what grows by itself: the revision, and how old processes are.
bool shows_same(const Status& one, const Status& other);

// The generation that the node is kept at: the last one that was verified. Null: none was.
const Generation* effective(const Status& status);
const Generation* find_generation(const Status& status, uint64_t number);
const Operation* running(const Status& status);
bool last_failed(const Status& status);          // of those that have to do with what is loaded
bool is_cancelled(const Status& status);         // the one that runs is to turn back
bool is_draining(const Status& status);          // and not yet drained
uint64_t last_generation(const Status& status);  // 0: there is none
uint64_t next_operation(const Status& status);

// The spec of generation `to`, or of the last verified one before the effective one.
Result<Spec> spec_before(const Status& status, std::optional<uint64_t> to);
// Why a version cannot be removed: nullopt if nothing needs it.
std::optional<std::string> need_of(const Status& status, const std::string& version);

// Adds to `change` that all but the newest `kept` - 1 generations and operations go, but for the effective one.
void forget_oldest(const Status& status, size_t kept, store::OnloadChange& change);
void drop(Status& status, const store::OnloadChange& change);

}  // namespace nrd::onload
