#include "hw/onload/user_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "base/unique_fd.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::user_files_test {
namespace {

constexpr const char* kChecksum = "1ac1b5fc5ab22fb1b31feed7e4b62c6a";

bool holds(const std::string& content) {
  nrd::testing::Folder folder;
  folder.put("lib", content);
  const UniqueFd file(::open(folder.path("lib").c_str(), O_RDONLY | O_CLOEXEC));
  const Result<bool> found = contains_text(file.get(), kChecksum);
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("a checksum is found anywhere in a library") {
  for (const size_t before : {0U, 1U, 65535U, 65536U, 65520U, 131060U, 200000U}) {
    CHECK(holds(std::string(before, 'x') + kChecksum + "more"));
    CHECK(holds(std::string(before, '\0') + kChecksum));
  }
}

TEST_CASE("another, partial or missing checksum does not match") {
  CHECK_FALSE(holds(""));
  CHECK_FALSE(holds(std::string(kChecksum).substr(1)));
  CHECK_FALSE(holds(std::string(65520, 'x') + std::string(kChecksum, 31)));
  CHECK_FALSE(holds(std::string(kChecksum, 16) + std::string(65536, 'x') + (kChecksum + 16)));
}

TEST_CASE("an unreadable file is an error") { CHECK_FALSE(contains_text(-1, kChecksum)); }

}  // namespace nrd::onload::user_files_test
