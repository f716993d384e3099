#include "engine/memory_worker.h"

#include <pthread.h>

#include <thread>
#include <utility>

#include "base/invariant.h"

namespace nrd {

MemoryWorker::MemoryWorker(ChangeMemory change, std::function<void()> ended) : shared_(std::make_shared<Shared>()) {
  shared_->change = std::move(change);
  shared_->ended = std::move(ended);
}

void MemoryWorker::start(const cpuset::MemoryChange& change) {
  INVARIANT(!is_busy_);
  is_busy_ = true;
  std::thread([shared = shared_, change] {
    ::pthread_setname_np(::pthread_self(), "nrd-memory");
    Result<void> result = shared->change(change);
    const std::lock_guard hold(shared->lock);
    shared->result = std::move(result);
    shared->has_ended.notify_all();
    if (shared->ended) shared->ended();
  }).detach();
}

bool MemoryWorker::has_ended() const {
  const std::lock_guard hold(shared_->lock);
  return shared_->result.has_value();
}

std::optional<Result<void>> MemoryWorker::take() {
  const std::lock_guard hold(shared_->lock);
  if (shared_->result) is_busy_ = false;
  return std::exchange(shared_->result, std::nullopt);
}

void MemoryWorker::wait(std::chrono::steady_clock::time_point until) {
  std::unique_lock hold(shared_->lock);
  shared_->has_ended.wait_until(hold, until, [this] { return shared_->result.has_value(); });
}

void MemoryWorker::abandon() {
  const std::lock_guard hold(shared_->lock);
  shared_->ended = nullptr;
}

}  // namespace nrd
