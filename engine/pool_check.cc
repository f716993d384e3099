#include "engine/pool_check.h"

#include <utility>

namespace nrd {

PoolCheck::PoolCheck(Find find) : find_(std::move(find)), thread_([this] { queue_.run(); }) {}

PoolCheck::~PoolCheck() {
  queue_.stop();
  thread_.join();
}

void PoolCheck::run(const cpuset::CheckQuery& query, Callback<Disturbances> done) {
  queue_.change(std::move(done), [this, query]() -> Result<Disturbances> { return find_(query); });
}

}  // namespace nrd
