#include "api/v1/workload_list.h"

#include "api/v1/workload_json.h"

namespace nrd::v1 {

std::shared_ptr<const std::string> WorkloadList::text(const std::shared_ptr<const NodeState>& state) {
  const std::shared_ptr<const Rendered> last = rendered_.get();
  if (last && last->of == state) return last->text;
  const auto text = std::make_shared<const std::string>(render_workloads(*state));
  rendered_.set(std::make_shared<const Rendered>(Rendered{state, text}));
  return text;
}

}  // namespace nrd::v1
