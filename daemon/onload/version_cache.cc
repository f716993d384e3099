#include "daemon/onload/version_cache.h"

namespace nrd::daemon {

Result<onload::Version> VersionCache::read(const std::string& name) {
  const Result<onload::Versions::Stamp> stamp = versions_.stamp(name);
  const auto known = known_.find(name);
  if (stamp && known != known_.end() && known->second.stamp == *stamp) return known->second.version;
  known_.erase(name);
  // Without a manifest, changes cannot be detected, so do not cache.
  Result<onload::Version> version = versions_.read(name);
  if (version && stamp) known_[name] = {*stamp, *version};
  return version;
}

}  // namespace nrd::daemon
