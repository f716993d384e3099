#include "api/v1/response_cache.h"

#include <utility>

#include "api/routing/etag.h"

namespace nrd::v1 {

std::shared_ptr<const ResponseCache::Text> ResponseCache::text(const std::shared_ptr<const NodeState>& state) {
  std::shared_ptr<const Text> last = last_.get();
  if (last && last->of == state) return last;
  std::string text = write_(*state);
  std::string tag = routing::etag_of(text);
  const auto fresh = std::make_shared<const Text>(Text{state, std::move(text), std::move(tag)});
  last_.set(fresh);
  return fresh;
}

}  // namespace nrd::v1
