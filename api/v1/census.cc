#include "api/v1/census.h"

namespace nrd::v1 {

std::shared_ptr<const Census::Count> Census::last(onload::Controller& controller) {
  auto last = last_.get();
  const auto now = std::chrono::steady_clock::now();
  if (last && now - last->at < kInterval) return last;
  if (is_counting_.exchange(true)) return last;
  controller.find_users([census = shared_from_this()](const Result<onload::InUse>& found) {
    if (found) {
      census->last_.set(std::make_shared<const Count>(Count{.at = std::chrono::steady_clock::now(),
                                                            .users = found->users.size(),
                                                            .stacks = found->stacks.size(),
                                                            .orphans = found->orphans.size()}));
    }
    census->is_counting_ = false;
  });
  return last;
}

}  // namespace nrd::v1
