#include "hw/onload/manifest.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <ostream>

#include "base/sha256.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::manifest_test {

using nrd::testing::Folder;

namespace {

// FIPS 180-2, appendix B, and of nothing.
const std::string kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace

TEST_CASE("the hash is SHA-256, independent of the chunks") {
  Sha256 whole;
  whole.add("abc");
  CHECK(whole.take() == kOfAbc);
  Sha256 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.add(piece);
  CHECK(pieces.take() == kOfAbc);
  CHECK(Sha256().take() == kOfNothing);
  CHECK(sha256_of("abc") == kOfAbc);
}

TEST_CASE("a file is hashed completely, and its offset is kept") {
  Folder folder;
  folder.put("abc", "abc");
  const UniqueFd file(::open(folder.path("abc").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::lseek(file.get(), 2, SEEK_SET) == 2);
  CHECK(sha256_of(file.get()).value() == kOfAbc);
  CHECK(::lseek(file.get(), 0, SEEK_CUR) == 2);
  folder.put("large", std::string(200000, 'x'));
  const UniqueFd large(::open(folder.path("large").c_str(), O_RDONLY | O_CLOEXEC));
  Sha256 expected;
  expected.add(std::string(200000, 'x'));
  CHECK(sha256_of(large.get()).value() == expected.take());
  const UniqueFd no_file(::open(folder.path("").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(sha256_of(no_file.get()).error().code == ErrorCode::Hardware);
}

TEST_CASE("a manifest has the format of sha256sum") {
  const Manifest manifest{{"sbin/onload_cp_server", kOfNothing}, {"usr/a b", kOfAbc}};
  const std::string text = kOfNothing + "  sbin/onload_cp_server\n" + kOfAbc + "  usr/a b\n";
  CHECK(manifest_text(manifest) == text);
  CHECK(parse_manifest(text).value() == manifest);
}

TEST_CASE("a damaged manifest is an error") {
  const std::string good = kOfAbc + "  a\n" + kOfNothing + "  b\n";
  REQUIRE(parse_manifest(good).has_value());
  for (size_t length = 0; length < good.size(); ++length) {
    if (length == kOfAbc.size() + 4) continue;  // a whole line
    INFO("the first " << length << " bytes");
    CHECK(parse_manifest(good.substr(0, length)).error().code == ErrorCode::Hardware);
  }
  for (const std::string& text :
       {"\n" + good, good + "\n", kOfNothing + "  b\n" + kOfAbc + "  a\n", kOfAbc + "  a\n" + kOfAbc + "  a\n",
        kOfAbc + " *a\n", kOfAbc + "  ../a\n", kOfAbc + "  /a\n", kOfAbc + "  \n", std::string(64, 'G') + "  a\n"}) {
    INFO(text);
    CHECK_FALSE(parse_manifest(text).has_value());
  }
}

}  // namespace nrd::onload::manifest_test
