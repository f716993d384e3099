// A response body written once per published state instead of once per request.
#pragma once

#include <memory>
#include <string>

#include "base/published.h"

namespace nrd {
struct NodeState;
}

namespace nrd::v1 {

class ResponseCache {
 public:
  explicit ResponseCache(std::string (*write)(const NodeState&)) : write_(write) {}

  // Any thread. Concurrent first calls after a change may both write; the texts are equal.
  struct Text {
    std::shared_ptr<const NodeState> of;  // kept alive, so that no other state can get the same address
    std::string text;
    std::string tag;  // ETag of the text
  };
  std::shared_ptr<const Text> text(const std::shared_ptr<const NodeState>& state);

 private:
  std::string (*write_)(const NodeState&);
  Published<Text> last_;
};

// What handlers keep between requests.
struct Bodies {
  using Write = std::string (*)(const NodeState&);
  Bodies(Write write_workloads, Write write_caches) : workloads(write_workloads), caches(write_caches) {}
  ResponseCache workloads;
  ResponseCache caches;
};

}  // namespace nrd::v1
