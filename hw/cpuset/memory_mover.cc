#include "hw/cpuset/memory_mover.h"

#include <chrono>

namespace nrd::cpuset {
namespace {

// systemd does nothing else while the kernel moves pages: 100 GB at a low rate.
constexpr std::chrono::minutes kPatienceToMove{10};

}  // namespace

Result<void> MemoryMover::apply(const MemoryChange& change) {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatienceToMove;
  switch (change.kind) {
    case MemoryChange::Kind::Move: return memory_.move(change.target, change.nodes, deadline);
    case MemoryChange::Kind::Release: return memory_.release(change.target, change.nodes, deadline);
  }
  return {};
}

}  // namespace nrd::cpuset
