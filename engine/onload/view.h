// What the keeper knows at one moment, and questions about it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/onload/conditions.h"
#include "engine/onload/desired.h"
#include "engine/onload/target.h"
#include "store/onload_records.h"

namespace nrd::onload {

struct View {
  uint64_t revision = 0;                // grows with each publication, since start
  std::vector<Generation> generations;  // ordered by number
  std::vector<Operation> operations;    // ordered by id
  Freeze freeze;
  std::vector<InterfaceWish> interfaces;  // what is wanted of single ones
  bool drained = false;                   // the door is kept shut
  Seen seen;                              // as of the last look
  std::string problem;                    // why that look failed; empty if it did not
  std::string drift;                      // what is not as the last verified generation wants it; empty: nothing
  std::optional<Target> target;  // of the generation in force, as of the last look; nullopt: none, or not to be had
  std::vector<Condition> conditions;
  bool door_open = false;  // new users may come: Onload is loaded and verified, and no operation is under way
  friend bool operator==(const View&, const View&) = default;
};

// But for what grows by itself: the revision, and how old processes are.
bool shows_same(const View& one, const View& other);

// The generation that the node is kept at: the last one that was verified. Null: none was.
const Generation* effective(const View& view);
const Generation* find_generation(const View& view, uint64_t number);
const Operation* running(const View& view);
bool last_failed(const View& view);          // of those that have to do with what is loaded
bool is_cancelled(const View& view);         // the one that runs is to turn back
bool is_draining(const View& view);          // and not yet drained
uint64_t last_generation(const View& view);  // 0: there is none
uint64_t next_operation(const View& view);

// The wish of generation `to`, or of the last verified one before the effective one.
Result<Desired> desired_before(const View& view, std::optional<uint64_t> to);
// Why a version cannot be removed: nullopt if nothing needs it.
std::optional<std::string> need_of(const View& view, const std::string& version);

// Adds to `change` that all but the newest `kept` - 1 generations and operations go, but for the effective one.
void forget_oldest(const View& view, size_t kept, store::OnloadChange& change);
void drop(View& view, const store::OnloadChange& change);

}  // namespace nrd::onload
