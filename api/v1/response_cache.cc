#include "api/v1/response_cache.h"

#include <utility>

#include "api/routing/etag.h"
#include "api/v1/onload/usage_cache.h"

namespace nrd::v1 {

Bodies::Bodies(Render render_workloads, Render render_caches)
    : workloads(render_workloads), caches(render_caches), usage(std::make_shared<UsageCache>()) {}

std::shared_ptr<const ResponseCache::Text> ResponseCache::text(const std::shared_ptr<const NodeState>& state) {
  std::shared_ptr<const Text> last = last_.get();
  if (last && last->of == state) return last;
  std::string text = render_(*state);
  std::string tag = routing::etag_of(text);
  const auto fresh = std::make_shared<const Text>(Text{state, std::move(text), std::move(tag)});
  last_.set(fresh);
  return fresh;
}

}  // namespace nrd::v1
