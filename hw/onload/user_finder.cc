#include "hw/onload/user_finder.h"

#include <fmt/core.h>
#include <pthread.h>

#include <system_error>
#include <thread>
#include <utility>

namespace nrd::onload {
namespace {

InUse ended_early(std::string why) { return {.unknown = {std::move(why)}, .ended_early = true}; }

}  // namespace

bool UserFinder::start(Walk walk) {
  walk_ = std::move(walk);
  std::packaged_task<InUse()> search([root = root_, walk = walk_] {
    ::pthread_setname_np(::pthread_self(), "nrd-users");
    return find_users(root, SystemClock(), walk);
  });
  search_ = search.get_future();
  try {
    std::thread(std::move(search)).detach();
  } catch (const std::system_error&) {  // the host has no process or memory left for a thread
    search_ = {};
  }
  return search_.valid();
}

bool UserFinder::wait() {
  for (;;) {
    const pid_t before = *walk_.at;
    if (search_.wait_for(timeout_) == std::future_status::ready) return true;
    if (*walk_.at == before) return false;
  }
}

InUse UserFinder::find(Walk walk) {
  // What an earlier search finds in the end is too old.
  const bool is_left = search_.valid() && !wait();
  if (!is_left && !start(std::move(walk))) return ended_early("cannot start a thread that inspects processes");
  if (is_left || !wait()) return ended_early(fmt::format("process {} cannot be inspected", walk_.at->load()));
  return search_.get();
}

}  // namespace nrd::onload
