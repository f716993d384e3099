// A response body rendered once per published state instead of once per request.
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
  explicit ResponseCache(std::string (*render)(const NodeState&)) : render_(render) {}

  // Any thread. Concurrent first calls after a change may both render; the texts are equal.
  struct Text {
    std::shared_ptr<const NodeState> of;  // kept alive, so that no other state can get the same address
    std::string text;
    std::string tag;  // ETag of the text
  };
  std::shared_ptr<const Text> text(const std::shared_ptr<const NodeState>& state);

 private:
  std::string (*render_)(const NodeState&);
  Published<Text> last_;
};

// What handlers keep between requests.
struct Bodies {
  using Render = std::string (*)(const NodeState&);
  Bodies(Render render_workloads, Render render_caches) : workloads(render_workloads), caches(render_caches) {}
  ResponseCache workloads;
  ResponseCache caches;
};

}  // namespace nrd::v1
