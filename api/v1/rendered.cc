#include "api/v1/rendered.h"

namespace nrd::v1 {

std::shared_ptr<const std::string> Rendered::text(const std::shared_ptr<const NodeState>& state) {
  const std::shared_ptr<const Text> last = last_.get();
  if (last && last->of == state) return last->text;
  const auto text = std::make_shared<const std::string>(render_(*state));
  last_.set(std::make_shared<const Text>(Text{state, text}));
  return text;
}

}  // namespace nrd::v1
