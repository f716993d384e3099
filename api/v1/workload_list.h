// The body of GET /v1/workloads, rendered once for each published state and not once for each request.
#pragma once

#include <memory>
#include <string>

#include "base/guarded.h"
#include "engine/node_state.h"

namespace nrd::v1 {

class WorkloadList {
 public:
  // Any thread. Two that come first after a change may both render: the texts are the same.
  std::shared_ptr<const std::string> text(const std::shared_ptr<const NodeState>& state);

 private:
  struct Rendered {
    std::shared_ptr<const NodeState> of;  // held, so that its address cannot come again for another state
    std::shared_ptr<const std::string> text;
  };
  Published<Rendered> rendered_;
};

}  // namespace nrd::v1
