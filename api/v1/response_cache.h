// The body of an answer that many ask for, rendered once for each published state and not once for each request.
#pragma once

#include <memory>
#include <string>

#include "base/published.h"
#include "engine/model/node_state.h"

namespace nrd::v1 {

class ResponseCache {
 public:
  explicit ResponseCache(std::string (*render)(const NodeState&)) : render_(render) {}

  // Any thread. Two that come first after a change may both render: the texts are the same.
  struct Text {
    std::shared_ptr<const NodeState> of;  // held, so that its address cannot come again for another state
    std::string text;
    std::string tag;  // of the text: an ETag
  };
  std::shared_ptr<const Text> text(const std::shared_ptr<const NodeState>& state);

 private:
  std::string (*render_)(const NodeState&);
  Published<Text> last_;
};

}  // namespace nrd::v1
