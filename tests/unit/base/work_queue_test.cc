#include "base/work_queue.h"

#include <doctest/doctest.h>

namespace nrd::work_queue_test {

namespace {

// The message to a change that is refused at once; empty: it is queued.
std::string refusal_of_change(WorkQueue& queue) {
  std::string refusal;
  queue.change<int>(
      Callback<int>([&](const Result<int>& result) { refusal = result.error().message; }, Client{.client_key = "a"}),
      [] { return Result<int>(1); });
  return refusal;
}

}  // namespace

TEST_CASE("a refusal says whether to try again") {
  WorkQueue queue("operations", {.most = 1, .reserve = 0, .share = 1});
  CHECK(refusal_of_change(queue).empty());
  CHECK(refusal_of_change(queue) == "too many pending operations; try again");
  queue.stop();
  CHECK(refusal_of_change(queue) == "nrd is stopping");
}

}  // namespace nrd::work_queue_test
