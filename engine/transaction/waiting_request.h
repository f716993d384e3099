// A request in the engine's queue. Engine thread.
#pragma once

#include <chrono>
#include <variant>
#include <vector>

#include "engine/transaction/engine.h"

namespace nrd {

struct DryRun {
  Command command;
};

using Request = std::variant<Command, DryRun, IdempotencyKey>;

struct Waiting {
  Request request;  // a key: find what was created with it
  Callback<Done> done;
  std::chrono::steady_clock::time_point begin_by;
};

// Answers those that have waited too long, or whose client has gone.
inline void withdraw_late(std::vector<Waiting>& batch, std::chrono::steady_clock::time_point now) {
  std::erase_if(batch, [now](const Waiting& waiting) {
    const bool is_late = waiting.begin_by < now;
    if (!is_late && !waiting.done.client().is_gone()) return false;
    waiting.done(fail(ErrorCode::Busy, is_late ? "the change waited too long and was withdrawn; try again"
                                               : "the client disconnected; the change was withdrawn"));
    return true;
  });
}

}  // namespace nrd
