#include "hw/onload/staging.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

#include "hw/onload/tree_walk.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::staging_test {

using nrd::testing::Folder;

namespace {

NextBytes text(std::string_view bytes) {
  return [bytes](std::span<char> into) mutable -> Result<size_t> {
    const size_t count = std::min(into.size(), bytes.size());
    std::copy_n(bytes.begin(), count, into.begin());
    bytes.remove_prefix(count);
    return count;
  };
}

// A folder of versions and one version in the making.
struct StagingFolder {
  explicit StagingFolder(const TreeLimits& limits = {})
      : versions(TrustedDir::open(folder.trust(), "/").value()),
        staging(Staging::begin(versions, "9", limits).value()) {}
  Folder folder;
  TrustedDir versions;
  Staging staging;
};

std::string message_of(const Result<void>& result) { return result ? "" : result.error().message; }

}  // namespace

TEST_CASE("a tree appears complete and only when published") {
  StagingFolder place;
  REQUIRE(place.staging.add_folder("usr/lib64").has_value());
  REQUIRE(place.staging.add_file("usr/lib64/libonload.so", false, text("library")).has_value());
  REQUIRE(place.staging.add_file("sbin/onload_cp_server", true, text("server")).has_value());
  REQUIRE(place.staging.complete().has_value());
  CHECK_FALSE(place.folder.has("9"));
  REQUIRE(place.staging.publish().has_value());
  CHECK_FALSE(place.folder.has(".import-9"));
  CHECK(place.folder.get("9/usr/lib64/libonload.so") == "library");
  CHECK(place.folder.mode("9/usr/lib64/libonload.so") == 0644);
  CHECK(place.folder.mode("9/sbin/onload_cp_server") == 0755);
  CHECK(place.folder.mode("9/usr/lib64") == 0755);
  CHECK(parse_manifest(place.folder.get("9/SHA256SUMS")).value().size() == 2);
}

TEST_CASE("file modes do not depend on the umask") {
  StagingFolder place;
  ::umask(0);
  REQUIRE(place.staging.add_file("a/open", false, text("x")).has_value());
  ::umask(077);
  REQUIRE(place.staging.add_file("b/closed", true, text("x")).has_value());
  ::umask(022);
  CHECK(place.folder.mode(".import-9/a") == 0755);
  CHECK(place.folder.mode(".import-9/a/open") == 0644);
  CHECK(place.folder.mode(".import-9/b") == 0755);
  CHECK(place.folder.mode(".import-9/b/closed") == 0755);
}

TEST_CASE("an unpublished or interrupted tree leaves nothing") {
  Folder folder;
  const TrustedDir versions = TrustedDir::open(folder.trust(), "/").value();
  {
    Staging staging = Staging::begin(versions, "9").value();
    REQUIRE(staging.add_file("a/b/c", false, text("x")).has_value());
    CHECK(folder.has(".import-9/a/b/c"));
  }
  CHECK_FALSE(folder.has(".import-9"));
  folder.put(".import-9/left/over", "by a power cut");
  const Staging again = Staging::begin(versions, "9").value();
  CHECK_FALSE(folder.has(".import-9/left"));
}

TEST_CASE("an existing version is never replaced") {
  StagingFolder place;
  place.folder.put("9/file", "before");
  REQUIRE(place.staging.add_file("file", false, text("after")).has_value());
  REQUIRE(place.staging.complete().has_value());
  CHECK(message_of(place.staging.publish()) == "version 9 already exists");
  CHECK(place.folder.get("9/file") == "before");
}

TEST_CASE("nothing is written outside of the tree or twice") {
  StagingFolder place;
  REQUIRE(place.staging.add_file("a/file", false, text("x")).has_value());
  for (const char* path :
       {"", "/etc/passwd", "../out", "a/../../out", "a/./b", "a//b", "..", "a/file", "a", "a/file/b"}) {
    INFO("path \"" << path << "\"");
    CHECK(place.staging.add_file(path, false, text("x")).error().code == ErrorCode::BadRequest);
  }
  CHECK(place.staging.add_folder("a/file").error().code == ErrorCode::BadRequest);
  CHECK(place.staging.add_folder("a").has_value());  // once more is no harm
  REQUIRE(place.staging.add_link("link", "a").has_value());
  CHECK(message_of(place.staging.add_file("link/passwd", false, text("x"))) == "link occurs twice");
  CHECK(message_of(place.staging.add_link("link", "b")) == "link occurs twice");
  CHECK(list_tree(place.staging.tree()).value().size() == 2);
}

TEST_CASE("a link within the tree becomes a copy of its target") {
  StagingFolder place;
  REQUIRE(place.staging.add_link("usr/lib64/libx.so", "libx.so.1").has_value());
  REQUIRE(place.staging.add_link("usr/lib64/libx.so.1", "./libx.so.1.2").has_value());
  REQUIRE(place.staging.add_file("usr/lib64/libx.so.1.2", true, text("library")).has_value());
  REQUIRE(place.staging.add_link("usr/bin/x", "../lib64//libx.so").has_value());
  REQUIRE(place.staging.add_hard_link("usr/bin/y", "usr/lib64/libx.so.1.2").has_value());
  REQUIRE(place.staging.complete().has_value());
  REQUIRE(place.staging.publish().has_value());
  for (const char* path : {"9/usr/lib64/libx.so", "9/usr/lib64/libx.so.1", "9/usr/bin/x", "9/usr/bin/y"}) {
    CHECK(place.folder.get(path) == "library");
    CHECK(place.folder.mode(path) == 0755);  // its own: 0777 would be that of a link
  }
  CHECK(parse_manifest(place.folder.get("9/SHA256SUMS")).value().size() == 5);
}

TEST_CASE("a link that leads elsewhere is refused") {
  for (const char* target : {"/etc/passwd", "/", "../../etc/passwd", "../../../x", ""}) {
    StagingFolder place;
    INFO("to \"" << target << "\"");
    CHECK(message_of(place.staging.add_link("usr/link", target)) ==
          "usr/link is a symbolic link that points out of the tree");
  }
  for (const char* target : {"gone", ".", "..", "folder", "link", "../usr/other"}) {
    StagingFolder place;
    INFO("to \"" << target << "\"");
    REQUIRE(place.staging.add_folder("usr/folder").has_value());
    REQUIRE(place.staging.add_link("usr/link", target).has_value());
    REQUIRE(place.staging.add_link("usr/other", "link").has_value());
    CHECK(place.staging.complete().error().message.ends_with(
        "is a symbolic link that does not point to a file in the tree"));
  }
  StagingFolder place;
  CHECK(message_of(place.staging.add_hard_link("a", "b")) == "a is a hard link to a file that is not in the tree");
  CHECK(message_of(place.staging.add_hard_link("a", "../etc/passwd")) ==
        "a is a hard link to a file that is not in the tree");
}

TEST_CASE("file and tree sizes are limited to the byte") {
  StagingFolder place({.file = 5, .tree = 8});
  CHECK(message_of(place.staging.add_file("a/b", false, text("123456"))) == "b is larger than 5 bytes");
  StagingFolder other({.file = 5, .tree = 8});
  REQUIRE(other.staging.add_file("a", false, text("12345")).has_value());
  REQUIRE(other.staging.add_file("b", false, text("123")).has_value());
  REQUIRE(other.staging.add_file("empty", false, text("")).has_value());
  CHECK(message_of(other.staging.add_file("c", false, text("1"))) == "the tree is larger than 8 bytes");
}

TEST_CASE("copies made for links count as well") {
  StagingFolder place({.file = 5, .tree = 8});
  REQUIRE(place.staging.add_file("a", false, text("12345")).has_value());
  REQUIRE(place.staging.add_link("b", "a").has_value());
  CHECK(message_of(place.staging.complete()) == "the tree is larger than 8 bytes");
}

TEST_CASE("the number of entries is limited") {
  StagingFolder place({.entries = 3});
  REQUIRE(place.staging.add_file("folder/file", false, text("x")).has_value());
  REQUIRE(place.staging.add_link("link", "x").has_value());
  const std::string too_many = "the tree has more than 3 entries";
  CHECK(message_of(place.staging.add_file("one-more", false, text("x"))) == too_many);
  CHECK(message_of(place.staging.add_folder("one-more")) == too_many);
  CHECK(message_of(place.staging.add_link("one-more", "x")) == too_many);
  CHECK(message_of(place.staging.add_file("a/b", false, text("x"))) == too_many);
}

TEST_CASE("a source that cannot be read completely creates no version") {
  StagingFolder place;
  const Result<void> added = place.staging.add_file(
      "file", false, [](std::span<char>) -> Result<size_t> { return fail(ErrorCode::Hardware, "gone"); });
  CHECK(message_of(added) == "gone");
}

TEST_CASE("an old manifest is not imported") {
  StagingFolder place;
  REQUIRE(place.staging.add_file("SHA256SUMS", false, text("old")).has_value());
  REQUIRE(place.staging.add_link("SHA256SUMS", "/etc/passwd").has_value());
  REQUIRE(place.staging.add_file("a", false, text("")).has_value());
  REQUIRE(place.staging.complete().has_value());
  REQUIRE(place.staging.publish().has_value());
  CHECK(parse_manifest(place.folder.get("9/SHA256SUMS")).value().size() == 1);
}

}  // namespace nrd::onload::staging_test
