#include "engine/pool_check.h"

#include <optional>
#include <utility>

namespace nrd {

PoolCheck::PoolCheck(Find find) : find_(std::move(find)), thread_([this] { work(); }) {}

PoolCheck::~PoolCheck() {
  {
    const std::lock_guard hold(lock_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  while (const std::optional<Waiting> waiting = queue_.pop()) waiting->done(fail(ErrorCode::Busy, "nrd is stopping"));
}

void PoolCheck::run(const cpuset::CheckQuery& query, Callback<Disturbances> done) {
  {
    const std::lock_guard hold(lock_);
    if (queue_.has_room_for(done.client())) {
      const Client client = done.client();
      queue_.push(client, {query, std::move(done)});
      wake_.notify_one();
      return;
    }
  }
  done(fail(ErrorCode::Busy, "too many checks of CPU pools are waiting; try again"));
}

void PoolCheck::work() noexcept {
  std::unique_lock hold(lock_);
  for (;;) {
    wake_.wait(hold, [this] { return is_stopping_ || !queue_.empty(); });
    if (is_stopping_) return;
    const std::optional<Waiting> next = queue_.pop();
    hold.unlock();
    if (next->done.client().is_gone()) {
      next->done(fail(ErrorCode::Busy, "the client disconnected"));
    } else {
      next->done(find_(next->query));
    }
    hold.lock();
  }
}

}  // namespace nrd
