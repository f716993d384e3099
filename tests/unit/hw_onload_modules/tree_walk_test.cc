#include "hw/onload/tree_walk.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::tree_walk_test {

using nrd::testing::Folder;

namespace {

Result<std::vector<TreeEntry>> list(const Folder& folder) {
  return list_tree(TrustedDir::open(folder.trust(), "/").value());
}

}  // namespace

TEST_CASE("a tree is listed completely, directories before their content") {
  Folder folder;
  folder.put("b/c/deep", "x");
  folder.put("b/run", "x");
  folder.mode("b/run", 0755);
  folder.put("a", "x");
  folder.mode("a", 0611);  // executable for others only
  folder.link("z", "../anywhere");
  using Kind = TreeEntry::Kind;
  const std::vector<TreeEntry> expected{{.path = "a", .kind = Kind::File},
                                        {.path = "b", .kind = Kind::Folder},
                                        {.path = "z", .kind = Kind::Link, .target = "../anywhere"},
                                        {.path = "b/c", .kind = Kind::Folder},
                                        {.path = "b/run", .kind = Kind::File, .executable = true},
                                        {.path = "b/c/deep", .kind = Kind::File}};
  CHECK(list(folder).value() == expected);
  Folder empty;
  CHECK(list(empty).value().empty());
}

TEST_CASE("links are listed and never followed") {
  Folder folder;
  folder.put("real/file", "x");
  folder.link("loop", ".");
  folder.link("etc", "/etc");
  CHECK(list(folder).value().size() == 4);
}

TEST_CASE("a tree with other file types or untrusted directories is refused") {
  Folder folder;
  folder.folder("a/b");
  REQUIRE(::mkfifo(folder.path("a/b/fifo").c_str(), 0600) == 0);
  CHECK(list(folder).error().message == "a/b/fifo is not a file, directory or link");
  folder.remove("a/b/fifo");
  folder.mode("a/b", 0777);
  CHECK(list(folder).error().message == "a/b: a file or directory is writable by users other than root");
}

TEST_CASE("a tree that is too deep or too large is refused") {
  Folder deep;
  std::string path = "d";
  for (size_t i = 0; i < kDepthLimit; ++i) path += "/d";
  deep.folder(path);
  CHECK(list(deep).error().code == ErrorCode::BadRequest);
  Folder large;
  for (size_t i = 0; i <= kTreeLimit; ++i) large.link(std::to_string(i), "x");
  CHECK(list(large).error().code == ErrorCode::BadRequest);
}

TEST_CASE("a vanished directory is empty or missing") {
  Folder folder;
  folder.folder("opt");
  const TrustedDir opt = TrustedDir::open(folder.trust(), "/opt").value();
  folder.remove("opt");
  CHECK(list_tree(opt).value().empty());
  CHECK(opt.dir("below").error().code == ErrorCode::NotFound);
}

}  // namespace nrd::onload::tree_walk_test
