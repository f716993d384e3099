// Caches parsed versions. Reading a version opens each of its files, and the node is observed every few seconds, so a
// version is read again only if its manifest changed. The cache serves observation only: before the kernel loads a
// file, its hash is checked.
#pragma once

#include <map>
#include <string>

#include "hw/onload/versions.h"

namespace nrd::daemon {

class VersionCache {
 public:
  // `versions` must outlive it.
  explicit VersionCache(const onload::Versions& versions) : versions_(versions) {}

  // NotFound: no such version.
  Result<onload::Version> read(const std::string& name);

 private:
  struct Known {
    onload::Versions::Stamp stamp;
    onload::Version version;
  };
  const onload::Versions& versions_;
  std::map<std::string, Known> known_;  // bounded by the number of installed versions
};

}  // namespace nrd::daemon
