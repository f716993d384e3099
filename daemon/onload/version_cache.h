// Versions of Onload as they were read last. To read one is to look into each of its files, and the node is looked at
// every few seconds; so a version is read again only if its manifest is another one. What a look asks about is not
// trusted for more than that: a file is opened with its hash checked before the kernel gets it.
#pragma once

#include <map>
#include <string>

#include "hw/onload/versions.h"

namespace nrd::daemon {

class VersionCache {
 public:
  // `versions` must outlive it.
  explicit VersionCache(const onload::Versions& versions) : versions_(versions) {}

  // NotFound: there is no such version.
  Result<onload::Version> read(const std::string& name);

 private:
  struct Known {
    onload::Versions::Stamp stamp;
    onload::Version version;
  };
  const onload::Versions& versions_;
  std::map<std::string, Known> known_;  // as many as are installed, at most
};

}  // namespace nrd::daemon
