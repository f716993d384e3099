#include "api/v1/onload/services.h"

#include "engine/onload/controller.h"

namespace nrd::v1 {

std::shared_ptr<const UsageCache::Count> UsageCache::last(onload::Controller& controller) {
  auto last = last_.get();
  const auto now = std::chrono::steady_clock::now();
  if (last && now - last->at < kInterval) return last;
  if (is_counting_.exchange(true)) return last;
  controller.find_users([usage = shared_from_this()](const Result<onload::InUse>& found) {
    if (found) {
      usage->last_.set(std::make_shared<const Count>(Count{.at = std::chrono::steady_clock::now(),
                                                           .users = found->users.size(),
                                                           .stacks = found->stacks.size(),
                                                           .orphans = found->orphans.size()}));
    }
    usage->is_counting_ = false;
  });
  return last;
}

}  // namespace nrd::v1
