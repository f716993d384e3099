#include "daemon/onload/version_cache.h"

#include <doctest/doctest.h>

#include "daemon/onload/preflight_checks.h"
#include "tests/unit/hw_onload_modules/folder.h"
#include "tests/unit/hw_onload_modules/ko.h"

namespace nrd::daemon::version_cache_test {

using nrd::testing::a_module;
using nrd::testing::Folder;

namespace {

constexpr const char* kKernel = "6.1.0-56-amd64";
constexpr const char* kModule = "/lib/modules/6.1.0-56-amd64/extra/onload.ko";

void put_release(Folder& folder, const std::string& at, const std::string& version) {
  folder.put(at + kModule, a_module("onload", kKernel).is("version", version).bytes());
}

std::string release_of(VersionCache& known) {
  const Result<onload::Version> version = known.read("9.0");
  return version ? version->kernels.at(kKernel).front().file.version : version.error().message;
}

std::vector<std::string> refused(const std::vector<onload::Check>& checks) {
  std::vector<std::string> names;
  for (const onload::Check& check : checks) {
    if (check.refusal) names.push_back(check.name);
  }
  return names;
}

}  // namespace

TEST_CASE("a version is read once, and again after its tree was replaced") {
  Folder folder;
  put_release(folder, "srv/old", "9.0.1");
  put_release(folder, "srv/new", "9.0.2");
  const onload::Versions versions(folder.trust(), "/opt/onload");
  VersionCache known(versions);
  CHECK(release_of(known) == "version 9.0 not found");
  REQUIRE(versions.import("9.0", "/srv/old"));
  CHECK(release_of(known) == "9.0.1");
  // What lies in a tree is not looked at again, as long as the tree is the same.
  put_release(folder, "opt/onload/versions/9.0", "9.0.7");
  CHECK(release_of(known) == "9.0.1");
  REQUIRE(versions.remove("9.0"));
  CHECK(release_of(known) == "version 9.0 not found");
  REQUIRE(versions.import("9.0", "/srv/new"));
  CHECK(release_of(known) == "9.0.2");
}

TEST_CASE("preflight distinguishes versions that are missing, for another kernel, or modified") {
  Folder folder;
  put_release(folder, "srv/old", "9.0.1");
  const onload::Versions versions(folder.trust(), "/opt/onload");
  CHECK(refused(examine_version(versions, "9.0", kKernel)) == std::vector<std::string>{"installed"});
  REQUIRE(versions.import("9.0", "/srv/old"));
  CHECK(refused(examine_version(versions, "9.0", kKernel)).empty());
  CHECK(refused(examine_version(versions, "9.0", "6.12.1")) == std::vector<std::string>{"kernel"});
  put_release(folder, "opt/onload/versions/9.0", "9.0.7");
  CHECK(refused(examine_version(versions, "9.0", kKernel)) == std::vector<std::string>{"files"});
}

}  // namespace nrd::daemon::version_cache_test
